"""Online regression or classification on the rows of a table, one row per round.

    squared:   f_t(x) = c (<a_i, x> - b_i)^2 / 2
    logistic:  f_t(x) = c ln(1 + exp(-b_i <a_i, x>)),  b_i in {-1, 1}

The field `order` determines the row i of round t. The rows are those of a data frame or of arrays.
"""

from collections.abc import Sequence
from typing import Any, ClassVar, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from jaxbandits.base import ranges
from jaxbandits.base.errors import InputError, unknown_name
from jaxbandits.base.frames import Columns
from jaxbandits.base.pytree import ArrayLike, FieldValue, param, pytree, shared, static
from jaxbandits.base.text import count_of
from jaxbandits.environments.oco.random_order import draw_without_replacement
from jaxbandits.environments.oco.sequences import point
from jaxbandits.environments.outcomes import FixedComparatorOutcome
from jaxbandits.numerics import losses, rng
from jaxbandits.types import FullInformation, PointDecision, Recommendation

_LOSSES = {"squared": losses.SquaredError, "logistic": losses.Logistic}
_BLOCK = 4096  # rows whose losses are evaluated together at record points
_ORDERS = ("shuffled", "iid", "given")
_LARGEST_RESIDUAL = 1e-6  # largest scaled gradient at a best fit, which is at most 1


class Table(NamedTuple):
    """Rows of a data set and their best fit; all trials share one copy."""

    features: ArrayLike  # [n, d]
    targets: ArrayLike  # [n]
    best: ArrayLike | None = None  # [d]  minimiser of the mean loss

    def __len__(self) -> int:
        return self.targets.shape[0]

    @property
    def dim(self) -> int:
        """Number d of features."""
        return self.features.shape[1]


@pytree
class DataStream:
    """Losses of the rows of a table, one row per round, and a fixed comparator.

    If no comparator is given, it is `table.best`, the minimiser of the mean loss over the table (least squares of
    minimum norm, or logistic regression by Newton's method), which `from_arrays` computes on the host in float64. After
    whole passes, `table.best` is the best fixed point in hindsight.

    With the order "shuffled", every pass of every trial is a new random permutation of the rows. With "iid", rows are
    drawn with replacement. With "given", all trials repeat the rows of the table cyclically.

    The metrics `loss`, `comparator_loss` and `regret` are summed over rounds. For a learner with a recommendation w,
    the metric `excess_risk` at record points is the mean loss over the table at w minus the mean loss at the
    comparator.
    """

    source: ClassVar[str] = "your own regression or classification rows as losses"
    table: Table = shared(doc="rows of the table (constructed by from_arrays)")
    loss: str = static("squared", doc='"squared", or "logistic" with targets in {-1, 1}')
    order: str = static("shuffled", doc='"shuffled" (in every pass), "iid" (with replacement) or "given"')
    comparator: ArrayLike | None = param(
        None, "(-inf, inf)", "comparator [d], or a number U for U e_1; None for the best fit to the table"
    )
    loss_scale: ArrayLike = param(1.0, "(0, inf)", "c, factor of the losses")

    @classmethod
    def from_arrays(cls, features: object, targets: object, **settings: FieldValue) -> "DataStream":
        """Return a stream of the rows of a table of features, with their targets.

        Args:
          features: `[n, d]` numbers, one row per example.
          targets: `[n]` numbers; for `loss="logistic"` two distinct values, which are mapped to -1 and 1 in ascending
            order.
          **settings: values of other fields.

        Raises:
          InputError: if an array or a setting is invalid, or if the classes are linearly separable, the loss is
            logistic, and no comparator is given.
        """
        features, targets = _numbers(features, targets)
        loss = settings.get("loss", "squared")
        if loss == "logistic":
            classes = np.unique(targets)
            if len(classes) != 2:
                raise InputError(f"logistic targets must have two distinct values, got {len(classes)}")
            targets = np.where(targets == classes[1], 1.0, -1.0)
        fits = loss in _LOSSES and settings.get("comparator") is None
        return cls(table=Table(features, targets, best_fit(features, targets, loss) if fits else None), **settings)

    @classmethod
    def from_frame(cls, frame: object, *, target: str, features: Sequence[str], **settings: FieldValue) -> "DataStream":
        """Return a stream of the rows of a data frame.

        Args:
          frame: a pandas, polars or pyarrow data frame, or a mapping of arrays.
          target: name of the column with the targets, which are numbers as in `from_arrays`.
          features: names of the columns with the features, which must be numbers; other columns are not used.
          **settings: values of other fields.

        Raises:
          InputError: if a column is unknown or contains text, if an entry is missing (the message names row and
            column), and for the reasons of `from_arrays`.
        """
        columns = Columns(frame)
        return cls.from_arrays(columns.matrix("features", features), columns.numbers("target", target), **settings)

    @classmethod
    def example(cls) -> "DataStream":
        return cls.from_arrays([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0], [1.0, -1.0]], [1.0, 2.0, 2.5, -1.0])

    def check(self) -> None:
        """Raise InputError if fields are inconsistent."""
        if not isinstance(self.table, Table):
            raise InputError(
                f"DataStream.table must be a Table, which from_arrays creates, got {type(self.table).__name__}"
            )
        _check_table(self.table)
        if self.loss not in _LOSSES:
            raise unknown_name("loss of DataStream", self.loss, _LOSSES)
        if self.order not in _ORDERS:
            raise unknown_name("order of DataStream", self.order, _ORDERS)
        if self.loss == "logistic" and not np.isin(self.table.targets, (-1.0, 1.0)).all():
            raise InputError("DataStream.table must have targets -1 and 1 for logistic losses (see from_arrays)")
        if self.comparator is None and self.table.best is None:
            raise InputError("DataStream needs a comparator, or a table that contains its best fit (see from_arrays)")

    def __repr__(self) -> str:
        """Return text with the sizes and the settings."""
        n, d = np.shape(self.table.features)
        comparator = "the best fit" if self.comparator is None else "given"
        sizes = f"{count_of(n, 'row')}; {count_of(d, 'feature')}"
        return f"DataStream({sizes}; {self.loss} loss; order {self.order}; comparator {comparator})"

    @property
    def dim(self) -> int:
        """Dimension d of the domain."""
        return self.table.dim

    def init(self, key: jax.Array) -> jax.Array | None:
        """Return the initial order `[n]` of the rows if `order` is "shuffled", otherwise None."""
        del key
        return jnp.arange(len(self.table), dtype=jnp.int32) if self.order == "shuffled" else None

    def observe(self, key: jax.Array, t: jax.Array, state: jax.Array | None) -> None:
        del key, t, state

    def step(
        self, key: jax.Array, t: jax.Array, state: jax.Array | None, obs: None, decision: PointDecision
    ) -> tuple[jax.Array | None, FullInformation, FixedComparatorOutcome]:
        del obs
        n = len(self.table)
        if state is not None:
            state, row, _ = draw_without_replacement(key, t, state)
        elif self.order == "iid":
            row = rng.randint(key, n)
        else:
            row = lax.rem(t, jnp.asarray(n, t.dtype))
        features, target = jnp.asarray(self.table.features)[row], jnp.asarray(self.table.targets)[row]
        loss = losses.ScaledLoss(_LOSSES[self.loss](features, target), self.loss_scale)
        values, gradients = losses.evaluate(loss, decision.query)
        charged, compared = loss.value(decision.play), loss.value(self._comparator)
        outcome = FixedComparatorOutcome(charged, compared, charged - compared)
        return state, FullInformation(values, gradients, loss), outcome

    def at_record(self, state: jax.Array | None, recommendation: Recommendation) -> dict[str, jax.Array]:
        del state
        if recommendation is None:
            return {}
        return {"excess_risk": self._risk(recommendation) - self._risk(self._comparator)}

    def gradient_variance(self, x: Any) -> ArrayLike:
        """Return the mean over rows of ||grad f_i(x) - grad F(x)||^2 at `x` [d], in float64.

        For the order "iid" this is the variance of the gradient of a round at x.
        """
        features, targets = np.asarray(self.table.features, float), np.asarray(self.table.targets, float)
        slopes = _slopes(features, targets, self.loss, np.asarray(x, float))
        gradients = self.loss_scale * features * slopes[:, None]
        return np.mean(np.sum((gradients - gradients.mean(axis=0)) ** 2, axis=1))

    def lipschitz(self, radius: float) -> ArrayLike:
        """Return G, a bound on the norms of all gradients on the ball of the given radius."""
        norms = np.linalg.norm(np.asarray(self.table.features, float), axis=1)
        if self.loss == "squared":
            return self.loss_scale * np.max(norms * (radius * norms + np.abs(np.asarray(self.table.targets, float))))
        return self.loss_scale * np.max(norms)  # the derivative of the logistic loss is at most 1 in absolute value

    @property
    def _comparator(self) -> Any:
        return point(self.table.best if self.comparator is None else self.comparator, self.dim)

    def _risk(self, x: jax.Array) -> jax.Array:
        """Return the mean loss over the table, computed block by block, so that memory for one block suffices."""
        n, block = len(self.table), min(len(self.table), _BLOCK)
        features, targets = jnp.asarray(self.table.features), jnp.asarray(self.table.targets)

        def add(i: jax.Array, total: jax.Array) -> jax.Array:
            start = jnp.minimum(i * block, n - block)
            fresh = jnp.arange(block) >= i * block - start  # the last block may overlap the one before it
            rows = _LOSSES[self.loss](
                lax.dynamic_slice_in_dim(features, start, block), lax.dynamic_slice_in_dim(targets, start, block)
            )
            return total + jnp.sum(jnp.where(fresh, jax.vmap(lambda row: row.value(x))(rows), 0.0))

        return self.loss_scale * lax.fori_loop(0, -(-n // block), add, jnp.zeros((), x.dtype)) / n


def _check_table(table: Table) -> None:
    """Raise InputError unless the table has features [n, d], targets [n], and a best fit [d] or None."""
    shapes = [np.shape(part) for part in table if part is not None]
    n, d = shapes[0] if len(shapes[0]) == 2 else (0, 0)
    if not n * d or shapes[1:] != [(n,), (d,)][: len(shapes) - 1]:
        raise InputError(
            f"DataStream.table must have features [n, d], targets [n] and best [d] with n, d >= 1, got {shapes}"
        )


def best_fit(features: np.ndarray, targets: np.ndarray, loss: str) -> np.ndarray:
    """Return the minimiser `[d]` of the mean loss over the rows, of minimum norm for squared losses.

    Raises:
      InputError: if the losses are logistic and the classes are separable, so that no minimiser exists.
    """
    if loss == "squared":
        return np.linalg.lstsq(features, targets, rcond=None)[0]

    lengths = np.linalg.norm(features, axis=0)
    lengths = np.where(lengths > 0.0, lengths, 1.0)
    x = _newton(features, targets)
    if x is None or _residual(features / lengths, targets, x * lengths) > _LARGEST_RESIDUAL:
        # The Hessian is numerically singular if the columns have very different lengths.
        x = _newton(features / lengths, targets)
        x = None if x is None else x / lengths
    if x is None:
        raise InputError(
            "the classes are linearly separable (or nearly so), so the logistic loss has no minimiser: pass a "
            "comparator"
        )
    return x


def _newton(features: np.ndarray, targets: np.ndarray) -> np.ndarray | None:
    """Return the point `[d]` at which Newton's method for the logistic loss ends; None if it does not end."""

    def total(x: np.ndarray) -> float:
        return float(np.sum(np.logaddexp(0.0, -targets * (features @ x))))

    x = np.zeros(features.shape[1])
    for _ in range(100):
        margin = targets * (features @ x)
        gradient = features.T @ _slopes(features, targets, "logistic", x)
        weight = 0.25 / np.cosh(np.clip(0.5 * margin, -300.0, 300.0)) ** 2
        step = -np.linalg.lstsq((features * weight[:, None]).T @ features, gradient, rcond=None)[0]
        size = 1.0
        while size > 1e-9 and total(x + size * step) > total(x) + 0.25 * size * (gradient @ step):
            size /= 2.0
        if np.linalg.norm(step) <= 1e-10 * (1.0 + np.linalg.norm(x)):
            return x
        x = x + size * step
    return None


def _residual(features: np.ndarray, targets: np.ndarray, x: np.ndarray) -> float:
    """Return the largest gradient of the logistic loss at x, per square root of a row, for columns of length 1."""
    gradient = features.T @ _slopes(features, targets, "logistic", x)
    return float(np.max(np.abs(gradient))) / np.sqrt(len(features))


def _slopes(features: np.ndarray, targets: np.ndarray, loss: str, x: np.ndarray) -> np.ndarray:
    """Return the derivative `[n]` of the loss of each row with respect to <a_i, x>."""
    if loss == "squared":
        return features @ x - targets
    return -targets * np.exp(-np.logaddexp(0.0, targets * (features @ x)))


def _numbers(features: object, targets: object) -> tuple[np.ndarray, np.ndarray]:
    """Return float64 arrays `[n, d]` and `[n]` of finite numbers.

    Raises:
      InputError: if shapes do not match, there are no rows or columns, or an entry is not a finite number.
    """
    features, targets = ranges.floats("features", features, "(n, d)"), ranges.floats("targets", targets, "(n,)")
    if len(targets) != len(features):
        raise InputError(
            f"features and targets must have shapes (n, d) and (n,), got {features.shape} and {targets.shape}"
        )
    return features, targets
