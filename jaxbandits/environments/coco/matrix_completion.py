"""Online matrix completion: each round has a batch of entries of a rating matrix and one linear constraint.

    f_t(X) = 1/2 sum_{(i, j) in O_t} (X_ij - M_ij)^2        O_t: batch of observed entries in round t
    g_t(X) = <P_t, X> - b
      "figure"   P_t uniform on [-1, 1]^{m x n}, b = 0                     (of the paper)
      "budget"   P_t = (1 + U_t / 2) / sqrt(m n), U_t uniform on [-1, 1]^{m x n},
                 b = allowance mean(M) sqrt(m n)
      "none"     g_t = 0

The gradient of the loss is given as `Entries`, a sparse matrix with the entries of the batch. $P_t$ is computed from
the key of the trial and t, and is not stored.
"""

import math
from typing import Any, ClassVar, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from jaxbandits.base import trees
from jaxbandits.base.errors import InputError, unknown_name
from jaxbandits.base.pytree import ArrayLike, FieldValue, param, pytree, require_defaults, shared, static
from jaxbandits.domains.points import Entries
from jaxbandits.environments.coco import completed
from jaxbandits.environments.datasets.ratings import Ratings, low_rank_ratings
from jaxbandits.numerics import rng
from jaxbandits.tracing.batching import cond
from jaxbandits.types import Constrained, PointDecision, Recommendation

_CONSTRAINTS = ("figure", "budget", "none")
_ORDERS = ("shuffled", "fresh")
_COMPARATORS = ("none", "domain", "feasible")
_IN_HINDSIGHT = ("comparator_loss", "feasible_comparator_loss", "feasible_comparator_excess")


class Observed(NamedTuple):
    """Observed entries of a matrix; all trials share one copy."""

    rows: ArrayLike  # [N] int32
    cols: ArrayLike  # [N] int32
    values: ArrayLike  # [N]

    def __len__(self) -> int:
        """Return N, the number of observed entries."""
        return self.values.shape[0]


class MatrixCompletionState(NamedTuple):
    """State of a trial: its random key, and the order of its entries."""

    key: jax.Array  # key of the instance; round t draws from fold_in(key, t)
    order: jax.Array  # [N] int32  entries in the order of this pass; length 0 with order="fresh"
    allowed: jax.Array  # []  b


class MatrixCompletionOutcome(NamedTuple):
    """Values of loss and constraint at the decision of the round, from which regret and violation are computed."""

    loss: jax.Array  # []  f_t(X_t)
    violation: jax.Array  # []  max(g_t(X_t), 0); its sum is the cumulative constraint violation
    constraint: jax.Array  # []  g_t(X_t)
    zero_loss: jax.Array  # []  f_t(0), the loss of the zero matrix


@pytree
class MatrixCompletion:
    """Batches of ratings and a random linear constraint per round, as in the experiments of Wang, Wan & Zhang.

    Decisions are matrices `[m, n]`. `from_ratings` accepts the results of the loaders of MovieLens and FilmTrust, and
    `low_rank_ratings` generates synthetic ratings of any shape. All draws are determined by the trial's key, so that
    the order of the entries and the constraints are the same for all learners. With the order "shuffled", each pass is
    a new random permutation of the entries, cut into batches; an incomplete last batch is omitted. With "fresh", each
    round draws a new batch without replacement.

    The constraints of "figure" cannot be learned: the distribution of $P_t$ is symmetric and independent of $X_t$, so
    that in high dimension $E g_t^+(X_t)$ is about $||X_t|| / sqrt(6 pi)$, which only a smaller norm of $X_t$ reduces.
    The constraints of "budget" (ours) can be learned, because they have a nonzero mean: on average, the sum of the
    entries must be at most `allowance` times the sum of a matrix whose entries all equal the mean rating.

    Deviations:
      * [ours] The paper states neither the number of entries per round nor their order: its loss is a sum over all
        observed entries, whereas according to its text one entry is sampled. Here a round has `batch` entries.
      * [ours] The entries of $P_t$ and $U_t$ have 16 random bits: they are odd multiples of 2^-16 between -1 and 1.
      * [ours] The constraint "budget" is not in the paper.

    References:
      Yibo Wang, Yuanyu Wan, Lijun Zhang: Revisiting Projection-Free Online Learning with Time-Varying Constraints.
      AAAI 2025. Section 5 (experiments).
    """

    source: ClassVar[str] = "Wang, Wan & Zhang, AAAI 2025, Section 5: MovieLens and FilmTrust, or a stand-in"
    axes: ClassVar = {"instance": ("word",)}
    dim: tuple[int, int] = static(range="[1, inf)", doc="(m, n), number of users and of items: the shape of decisions")
    observed: Observed = shared(doc="observed entries (constructed by from_ratings)")
    batch: int = static(100, "[1, inf)", "number of entries in a round")
    constraint: str = static("figure", doc='"figure", "budget" or "none"')
    order: str = static("shuffled", doc='"shuffled" (passes over the entries) or "fresh" (independent batches)')
    radius: ArrayLike = param(1e4, "(0, inf)", "tau, trace-norm bound of the comparator matrices")
    comparator: str = static(
        "none", doc='comparators in hindsight: "none", "domain", or "feasible" (which adds the best feasible point)'
    )
    allowance: ArrayLike = param(0.2, "(0, inf)", 'b / (mean(M) sqrt(m n)), for "budget"')

    @classmethod
    def from_ratings(cls, ratings: Ratings, **settings: FieldValue) -> "MatrixCompletion":
        """Return the problem for a set of ratings; `settings` are values of other fields.

        Raises:
          InputError: if `ratings` is not `Ratings`.
        """
        if not isinstance(ratings, Ratings):
            raise InputError(
                f"ratings must be a Ratings object, which the loaders of ratings return, got {type(ratings).__name__}"
            )
        observed = Observed(ratings.users, ratings.items, ratings.ratings)
        return cls(**{"dim": ratings.shape, "observed": observed} | settings)

    @classmethod
    def stand_in(
        cls, shape: tuple[int, int] = (20, 26), n_ratings: int = 208, **settings: FieldValue
    ) -> "MatrixCompletion":
        """Return a small synthetic problem, by default 40 % of a 20 x 26 matrix of rank 3, with ten entries per round.

        The default of `radius` (tau) is 2.27 times the Frobenius norm of a full matrix of such ratings. For MovieLens,
        the paper's tau = 10^4 has the same ratio to that norm.
        """
        ratings = low_rank_ratings(shape, n_ratings)
        radius = 2.27 * math.sqrt(np.mean(ratings.ratings**2) * math.prod(shape))
        return cls.from_ratings(ratings, **{"batch": 10, "order": "fresh", "radius": radius} | settings)

    @classmethod
    def example(cls) -> "MatrixCompletion":
        return cls.stand_in((5, 7), 20, batch=4)

    def check(self) -> None:
        """Raise InputError if fields are inconsistent."""
        if not isinstance(self.dim, tuple) or len(self.dim) != 2:
            raise InputError(f"MatrixCompletion.dim must be (m, n), got {self.dim!r}")
        if not isinstance(self.observed, Observed):
            raise InputError(
                "MatrixCompletion.observed must be an Observed object, which from_ratings creates, got "
                f"{type(self.observed).__name__}"
            )
        shapes = [np.shape(part) for part in self.observed]
        if len(shapes[0]) != 1 or len(set(shapes)) > 1:
            raise InputError(
                f"MatrixCompletion.observed must have rows, cols and values of the same shape [N], got {shapes}"
            )
        if not self.batch <= len(self.observed) < 2**24:
            raise InputError(
                f"MatrixCompletion needs batch <= N < 2^24 observed entries, got batch {self.batch} and N = "
                f"{len(self.observed)}"
            )
        for name, ids, side in zip(("rows", "cols"), self.observed, self.dim, strict=False):
            if np.asarray(ids).dtype.kind not in "iu" or np.min(ids) < 0 or np.max(ids) >= side:
                raise InputError(f"MatrixCompletion.observed.{name} must be whole numbers in [0, {side})")
        if not np.isfinite(self.observed.values).all():
            raise InputError("MatrixCompletion.observed.values must be finite")
        cells = np.asarray(self.observed.rows, np.int64) * self.dim[1] + np.asarray(self.observed.cols)
        if self.comparator != "none" and len(np.unique(cells)) < len(cells):
            raise InputError("MatrixCompletion.observed must not contain an entry twice if there is a comparator")
        for name, known in (("constraint", _CONSTRAINTS), ("order", _ORDERS), ("comparator", _COMPARATORS)):
            if getattr(self, name) not in known:
                raise unknown_name(f"{name} of MatrixCompletion", getattr(self, name), known)
        if self.constraint != "budget":
            require_defaults(self, ["allowance"], f'constraint is "{self.constraint}", not "budget"')

    @property
    def rounds_of_a_pass(self) -> int:
        """Number of full batches in a pass over the observed entries."""
        return len(self.observed) // self.batch

    @property
    def lipschitz(self) -> ArrayLike:
        """G, a bound on the norms of the gradients of losses and constraints on the ball of `radius`."""
        return np.maximum(self.radius + self._largest * math.sqrt(self.batch), self.constraint_lipschitz)

    @property
    def value_bound(self) -> ArrayLike:
        """Bound on the losses on the ball of `radius`."""
        return 0.5 * (self.radius + self._largest * math.sqrt(self.batch)) ** 2

    @property
    def mean_zero_loss(self) -> jax.Array:
        """Mean loss `[]` per round of the zero matrix."""
        return 0.5 * self.batch * jnp.mean(jnp.square(self._ratings))

    @property
    def full_violation(self) -> jax.Array:
        """Approximate violation `[]` per round of a full matrix with entries like the observed ratings."""
        root, ratings = math.sqrt(math.prod(self.dim)), self._ratings
        if self.constraint == "figure":
            return root * jnp.sqrt(jnp.mean(jnp.square(ratings)) / (6.0 * math.pi))
        excess = (1.0 - self.allowance) * root * jnp.mean(ratings)
        return jnp.maximum(excess, 0.0) if self.constraint == "budget" else jnp.zeros_like(excess)

    @property
    def _ratings(self) -> jax.Array:
        return jnp.asarray(self.observed.values, float)

    @property
    def _largest(self) -> float:
        return float(np.max(np.abs(np.asarray(self.observed.values, float))))

    @property
    def constraint_lipschitz(self) -> float:
        """Bound on the norms of the gradients of the constraints."""
        return {"figure": math.sqrt(math.prod(self.dim)), "budget": 1.5, "none": 0.0}[self.constraint]

    def init(self, key: jax.Array) -> MatrixCompletionState:
        values = self._ratings
        allowed = jnp.zeros((), values.dtype)
        if self.constraint == "budget":
            allowed = self.allowance * jnp.mean(values) * math.sqrt(math.prod(self.dim))
        order = jnp.arange(len(self.observed) if self.order == "shuffled" else 0, dtype=jnp.int32)
        return MatrixCompletionState(key, order, jnp.asarray(allowed, jnp.result_type(float)))

    def observe(self, key: jax.Array, t: jax.Array, state: MatrixCompletionState) -> None:
        """Return None, because nothing is observed before the decision."""
        del key, t, state

    def step(
        self, key: jax.Array, t: jax.Array, state: MatrixCompletionState, obs: None, decision: PointDecision
    ) -> tuple[MatrixCompletionState, Constrained, MatrixCompletionOutcome]:
        del key, obs
        round_key = jax.random.fold_in(state.key, t)
        order, (rows, cols, target) = self._batch(round_key, t, state.order)
        normal = self._normal(round_key)

        def errors(x: jax.Array) -> jax.Array:
            return x[rows, cols] - target

        def constraint(x: jax.Array) -> jax.Array:
            return jnp.vdot(normal, x) - state.allowed

        def loss(errors: jax.Array) -> jax.Array:
            return 0.5 * jnp.vdot(errors, errors)

        asked = [trees.row(decision.query, k) for k in range(len(decision.query))]
        off = [errors(x) for x in asked]
        feedback = Constrained(
            loss=trees.stack(*(loss(e) for e in off)),
            grad=trees.stack(*(Entries(rows, cols, e) for e in off)),
            con=trees.stack(*(constraint(x) for x in asked)),
            con_grad=trees.stack(*[normal] * len(asked)),
        )
        signed = constraint(decision.play)
        outcome = MatrixCompletionOutcome(
            loss(errors(decision.play)), jnp.maximum(signed, 0.0), signed, loss(jnp.asarray(target))
        )
        return state._replace(order=order), feedback, outcome

    @property
    def hindsight_needs(self) -> tuple[str, ...]:
        return () if self.comparator == "none" else ("instance",)

    def at_record(self, state: MatrixCompletionState, recommendation: Recommendation) -> dict[str, jax.Array]:
        """Return `instance`, the key of the trial as 16-bit words, from which `in_hindsight` recomputes the rounds."""
        del recommendation
        if self.comparator == "none":
            return {}
        words = jax.random.key_data(state.key)
        return {"instance": jnp.concatenate([words & 0xFFFF, words >> 16])}

    def in_hindsight(self, recorded: dict[str, np.ndarray], record_points: np.ndarray) -> dict[str, np.ndarray]:
        """Return the cumulative losses of the best fixed points in hindsight, for matrices of a few thousand entries.

        Returns:
          A dict with `comparator_loss`, the smallest loss in the trace-norm ball of `radius`, up to 2e-6 times the loss
          of the zero matrix. If `comparator` is "feasible", the dict also has `feasible_comparator_loss`, the smallest
          loss of a point of the ball that satisfies the constraints of all past rounds, and
          `feasible_comparator_excess`, the largest violation of a constraint by the computed point.

        Raises:
          InputError: if `comparator` is "feasible" and the horizon is too long for the constraints of "figure".
        """
        if self.comparator == "none":
            return {}
        if (
            self.comparator == "feasible"
            and self.constraint == "figure"
            and 2 * record_points[-1] > math.prod(self.dim)
        ):
            raise InputError(
                f'MatrixCompletion: with constraint="figure", few points other than 0 satisfy {record_points[-1]} '
                f'constraints on {math.prod(self.dim)} entries, so comparator="feasible" needs a horizon of at most '
                "half the number of entries"
            )
        cells, normals, bound = self._rounds(recorded["instance"][0], int(record_points[-1]))
        target = np.zeros(self.dim)
        target[np.asarray(self.observed.rows), np.asarray(self.observed.cols)] = self.observed.values
        found: dict[str, list[float]] = {name: [] for name in _IN_HINDSIGHT}
        free = feasible = np.zeros(self.dim)
        for t in record_points:
            weight = np.bincount(cells[:t].ravel(), minlength=target.size).reshape(self.dim).astype(float)
            problem = completed.Problem(weight, target, float(self.radius))
            free = completed.best(problem, free)
            found["comparator_loss"].append(problem.loss(free))
            if self.comparator == "feasible":
                feasible = completed.best_feasible(problem, normals[:t], np.full(t, bound), feasible)
                found["feasible_comparator_loss"].append(problem.loss(feasible))
                found["feasible_comparator_excess"].append(float(np.max(normals[:t] @ feasible.ravel()) - bound))
        return {name: np.asarray(losses) for name, losses in found.items() if losses}

    def derive(self, values: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
        """Return `regret` (against the best point) and `feasible_regret` (against the best feasible point)."""
        pairs = {"regret": "comparator_loss", "feasible_regret": "feasible_comparator_loss"}
        return {name: values["loss"] - values[other] for name, other in pairs.items() if other in values}

    def _rounds(self, instance: np.ndarray, rounds: int) -> tuple[np.ndarray, np.ndarray, float]:
        """Return the flat indices `[T, B]` of the batches, and normals `[T, m n]` and bound of the constraints."""
        low, high = np.asarray(instance, np.uint32).reshape(2, -1)
        key = jax.random.wrap_key_data(jnp.asarray(low | high << 16), impl="threefry2x32")
        state = self.init(key)

        def one_round(order: jax.Array, t: jax.Array) -> tuple[jax.Array, Any]:
            round_key = jax.random.fold_in(key, t)
            order, (rows, cols, _) = self._batch(round_key, t, order)
            return order, (rows * self.dim[1] + cols, self._normal(round_key).ravel())

        _, (cells, normals) = lax.scan(one_round, state.order, jnp.arange(rounds, dtype=jnp.int32))
        return np.asarray(cells), np.asarray(normals, float), float(state.allowed)

    def _batch(self, key: jax.Array, t: jax.Array, order: jax.Array) -> tuple[jax.Array, Observed]:
        """Return the order of the current pass, and the entries of the batch of round t.

        Fresh batches use blocks 0, ..., B - 1 of the key; a new order uses the N blocks after those of `_normal`.
        """
        n, size = len(self.observed), self.batch
        if self.order == "fresh":
            picked = _distinct(n, rng.uniforms(key, size))
        else:
            turn = lax.rem(t, jnp.asarray(self.rounds_of_a_pass, t.dtype))

            def shuffle() -> jax.Array:
                return _sorting(*rng.random_words(key, size + self._panel_rows * self.dim[1] + jnp.arange(n)))

            order = cond(turn == 0, shuffle, lambda: order)
            picked = lax.dynamic_slice_in_dim(order, turn * size, size)
        rows, cols, values = (jnp.asarray(part)[picked] for part in self.observed)
        # Numbers of cells and squares of ratings may overflow in integer types of 8 or 16 bits.
        return order, Observed(rows.astype(jnp.int32), cols.astype(jnp.int32), values.astype(float))

    @property
    def _panel_rows(self) -> int:
        """Number of rows of each of the four panels of `_normal`, since a block of the generator gives four entries."""
        return -(-self.dim[0] // 4)

    def _normal(self, key: jax.Array) -> jax.Array:
        """Return the gradient P_t `[m, n]` of the constraint, from blocks B, B + 1, ... of the key.

        A block of 64 bits gives four entries of 16 bits each, in the rows i, i + h, i + 2h and i + 3h for h = m / 4
        (rounded up), so that all bits are converted in one pass over the matrix.
        """
        m, n = self.dim
        if self.constraint == "none":
            return jnp.zeros((m, n))
        high = self._panel_rows
        first, second = rng.random_words(key, self.batch + jnp.arange(high * n))
        panel = lax.broadcasted_iota(jnp.int32, (4, high, n), 0)
        words = jnp.where(panel < 2, first.reshape(1, high, n), second.reshape(1, high, n))
        bits = (words >> (16 * (panel % 2)).astype(words.dtype)) & 0xFFFF
        # int32 comes first, because every processor converts it to float in one instruction
        uniform = (bits.astype(jnp.int32).astype(jnp.result_type(float)) + 0.5) * 2.0**-15 - 1.0
        uniform = uniform.reshape(4 * high, n)[:m]
        return uniform if self.constraint == "figure" else (1.0 + 0.5 * uniform) / math.sqrt(m * n)


def _sorting(first: jax.Array, second: jax.Array) -> jax.Array:
    """Return the order `[N]` that sorts N random words of 64 bits; it is uniformly random, up to ties."""
    return lax.sort((first, second, jnp.arange(len(first), dtype=jnp.int32)), num_keys=2)[2]


def _distinct(n: int, uniforms: jax.Array) -> jax.Array:
    """Convert uniform variates `[B]` to B different numbers below n, by the first B swaps of a Fisher-Yates shuffle.

    Step k swaps the entries at the positions k and c_k >= k of the list 0, ..., n - 1. The list is not stored: the
    entry at a position is the one that the last swap moved there, or the number of the position.
    """
    steps = jnp.arange(len(uniforms), dtype=jnp.int32)
    places = steps + jnp.floor(uniforms * (n - steps).astype(uniforms.dtype)).astype(jnp.int32)

    def swap(k: jax.Array, carry: tuple[jax.Array, jax.Array]) -> tuple[jax.Array, jax.Array]:
        drawn, brought = carry  # [B]  number that each step drew, and number that it moved to position c_k

        def content(place: jax.Array) -> jax.Array:
            last = jnp.max(jnp.where((places == place) & (steps < k), steps, -1))
            there = jnp.max(jnp.where(steps == last, brought, 0))
            return jnp.where(last < 0, place, there)

        return drawn.at[k].set(content(places[k])), brought.at[k].set(content(k))

    return lax.fori_loop(0, len(uniforms), swap, (jnp.zeros_like(places), jnp.zeros_like(places)))[0]
