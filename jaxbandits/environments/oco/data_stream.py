"""Online regression or classification on the rows of a table: a SEA sequence from data.

    squared:   f_t(x) = c (<a_i, x> - b_i)^2 / 2
    logistic:  f_t(x) = c ln(1 + exp(-b_i <a_i, x>)),  b_i in {-1, 1}

with the row i of round t drawn by `order`. The loaders of `environments.datasets.streams` read tables from files.
"""

import functools
import hashlib
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from jaxbandits.core import linalg, losses, rng
from jaxbandits.core.errors import InputError, unknown
from jaxbandits.core.fusion import once
from jaxbandits.core.pytree import ArrayLike, param, pytree, static
from jaxbandits.environments.oco.outcome import FixedComparatorOutcome
from jaxbandits.environments.oco.random_order import draw_without_replacement
from jaxbandits.environments.oco.sequences import point
from jaxbandits.types import FullInformation, PointDecision

_LOSSES = {"squared": losses.SquaredError, "logistic": losses.Logistic}
_ORDERS = ("shuffled", "iid", "given")


class Table:
    """Features `[n, d]` and targets `[n]`: immutable, equal to every table with the same content.

    It is a static field: part of the compiled program, one copy for all trials.

    Raises:
      InputError: shapes that do not fit, no rows, no columns, not numbers, not finite.
    """

    def __init__(self, features: Any, targets: Any):
        try:
            features, targets = np.array(features, np.float64), np.array(targets, np.float64)
        except (TypeError, ValueError):
            raise InputError("features and targets must be numbers of shapes (n, d) and (n,)") from None
        if features.ndim != 2 or targets.shape != features.shape[:1] or not features.size:
            raise InputError(
                f"features and targets must have shapes (n, d) and (n,) with n, d >= 1, got {features.shape} and "
                f"{targets.shape}"
            )
        for name, array in (("features", features), ("targets", targets)):
            if not np.isfinite(array).all():
                row = np.argwhere(~np.isfinite(array))[0][0]
                raise InputError(f"{name} must be finite, but row {row} (from 0) is not")
            array.setflags(write=False)
        self.features, self.targets = features, targets
        self._digest = hashlib.sha256(features.tobytes() + targets.tobytes()).hexdigest()[:16]

    def __len__(self) -> int:
        return len(self.targets)

    @property
    def dim(self) -> int:
        """d, the number of features."""
        return self.features.shape[1]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Table) and (self._digest, self.features.shape) == (
            other._digest,
            other.features.shape,
        )

    def __hash__(self) -> int:
        return hash((self._digest, self.features.shape))

    def __repr__(self) -> str:
        return f"Table({len(self)} x {self.dim}, sha256 {self._digest})"


@pytree
class DataStream:
    """Losses of the rows of a table, one a round, against a fixed comparator.

    The comparator is `comparator`, and without one the minimiser of the mean loss over the table (least squares of
    least norm; logistic regression by Newton's method), found once on the host in float64: after whole passes it is the
    best fixed point in hindsight.

    Orders: "shuffled" (a fresh random permutation every pass and trial), "iid" (with replacement), "given" (as in the
    table, again and again, the same in all trials).

    Recorded: `loss`, `comparator_loss` and `regret`, each summed round by round; at record points, for a learner with
    a recommendation w, `excess_risk`: the mean loss over the table at w, minus that at the comparator.
    """

    table: Any = static(doc="the rows: Table(features, targets)")
    loss: str = static("squared", doc='"squared", or "logistic" with targets in {-1, 1}')
    order: str = static("shuffled", doc='"shuffled" every pass, "iid" or "given"')
    comparator: ArrayLike | None = param(None, "(-inf, inf)", "u: [d], or U for U e_1; None: the best fit to the table")
    loss_scale: ArrayLike = param(1.0, "(0, inf)", "c multiplies the losses")

    @classmethod
    def from_arrays(cls, features: Any, targets: Any, **settings: Any) -> "DataStream":
        """A stream of the rows of `features` [n, d] with `targets` [n].

        Args:
          features: one row an example.
          targets: real numbers; for `loss="logistic"` two distinct values, of which the larger becomes 1.
          **settings: the other fields.

        Raises:
          InputError: malformed arrays or settings.
        """
        table = Table(features, targets)
        if settings.get("loss") == "logistic":
            classes = np.unique(table.targets)
            if len(classes) != 2:
                raise InputError(f"logistic targets must have two distinct values, got {len(classes)}")
            table = Table(table.features, np.where(table.targets == classes[1], 1.0, -1.0))
        return cls(table=table, **settings)

    def check(self) -> None:
        """Raises InputError on fields that do not fit each other."""
        if not isinstance(self.table, Table):
            raise InputError(f"DataStream.table must be a Table(features, targets), got {type(self.table).__name__}")
        if self.loss not in _LOSSES:
            raise unknown("loss of DataStream", self.loss, _LOSSES)
        if self.order not in _ORDERS:
            raise unknown("order of DataStream", self.order, _ORDERS)
        if self.loss == "logistic" and not np.isin(self.table.targets, (-1.0, 1.0)).all():
            raise InputError("DataStream.table must have targets -1 and 1 for logistic losses (see from_arrays)")
        if self.comparator is None:
            best_fit(self.table, self.loss)

    @property
    def dim(self) -> int:
        """d, dimension of the domain."""
        return self.table.dim

    def init(self, key: jax.Array) -> jax.Array | None:
        """`[n]` the order of this pass, where it is shuffled."""
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
            row = jnp.floor(rng.uniform(key) * n).astype(jnp.int32)
        else:
            row = lax.rem(t, jnp.asarray(n, t.dtype))
        real = jnp.zeros(()).dtype
        features, target = once(
            (jnp.asarray(self.table.features, real)[row], jnp.asarray(self.table.targets, real)[row])
        )
        loss = losses.Scaled(_LOSSES[self.loss](once(linalg.vectors(features)), target), self.loss_scale)
        values, gradients = losses.evaluate(loss, decision.query)
        charged, compared = once((loss.value(decision.play), loss.value(self._comparator)))
        outcome = FixedComparatorOutcome(charged, compared, charged - compared)
        return state, FullInformation(values, gradients, loss), outcome

    def at_record(self, state: jax.Array | None, recommendation: Any) -> dict[str, jax.Array]:
        del state
        if recommendation is None:
            return {}
        return {"excess_risk": self._risk(recommendation) - self._risk(self._comparator)}

    def gradient_variance(self, x: Any) -> Any:
        """The mean over rows of ||grad f_i(x) - grad F(x)||^2 at `x` [d], in float64: sigma_t^2 at x for "iid" rows."""
        gradients = self._row_gradients(np.asarray(x, float))
        return np.mean(np.sum((gradients - gradients.mean(axis=0)) ** 2, axis=1))

    def lipschitz(self, radius: float) -> Any:
        """G, a bound on the norm of all gradients on the ball of this radius."""
        norms = np.linalg.norm(self.table.features, axis=1)
        if self.loss == "squared":
            return self.loss_scale * np.max(norms * (radius * norms + np.abs(self.table.targets)))
        return self.loss_scale * np.max(norms)  # the slope of the logistic loss stays below 1

    @property
    def _comparator(self) -> Any:
        return point(best_fit(self.table, self.loss) if self.comparator is None else self.comparator, self.dim)

    def _risk(self, x: Any) -> jax.Array:
        real = jnp.zeros(()).dtype
        rows = _LOSSES[self.loss](jnp.asarray(self.table.features, real), jnp.asarray(self.table.targets, real))
        dense = linalg.dense(x)
        return self.loss_scale * jnp.mean(jax.vmap(lambda row: row.value(dense))(rows))

    def _row_gradients(self, x: np.ndarray) -> np.ndarray:
        return self.loss_scale * self.table.features * _slopes(self.table, self.loss, x)[:, None]


@functools.lru_cache(maxsize=64)
def best_fit(table: Table, loss: str) -> np.ndarray:
    """`[d]` the minimiser of the mean loss over the table, of least norm for squared losses.

    Raises:
      InputError: logistic losses of separable classes have no minimiser.
    """
    if loss == "squared":
        return np.linalg.lstsq(table.features, table.targets, rcond=None)[0]
    x = np.zeros(table.dim)
    for _ in range(100):
        margin = table.targets * (table.features @ x)
        gradient = table.features.T @ _slopes(table, loss, x)
        weight = 0.25 / np.cosh(np.clip(0.5 * margin, -300.0, 300.0)) ** 2
        step = -np.linalg.lstsq((table.features * weight[:, None]).T @ table.features, gradient, rcond=None)[0]
        size = 1.0
        while size > 1e-9 and _total(table, x + size * step) > _total(table, x) + 0.25 * size * (gradient @ step):
            size /= 2.0
        if np.linalg.norm(step) <= 1e-10 * (1.0 + np.linalg.norm(x)):
            return x
        x = x + size * step
    raise InputError("the classes are separable (or nearly): logistic losses have no minimiser; give a comparator")


def _total(table: Table, x: np.ndarray) -> float:
    return float(np.sum(np.logaddexp(0.0, -table.targets * (table.features @ x))))


def _slopes(table: Table, loss: str, x: np.ndarray) -> np.ndarray:
    """`[n]` the derivative of each row's loss along its features."""
    if loss == "squared":
        return table.features @ x - table.targets
    return -table.targets * np.exp(-np.logaddexp(0.0, table.targets * (table.features @ x)))
