"""PBM-UCB: upper confidence bounds for clicks in the position-based model (Lagree, Vernade & Cappe, NIPS 2016).

    U_e    = S_e / n_e + sqrt(N_e / n_e) sqrt(delta_t / (2 n_e)),   delta_t = (1 + eps) log t
    list   the m of the L items with the largest U_e, in decreasing order

The policy shows this list in round $t = 1$, 2, ... Item e was displayed $N_e$ times and clicked $S_e$ times, and $n_e$
is the sum of the examination probabilities $kappa$ of the positions in which item e was displayed. The cost per round
is $O(m L)$.
"""

from typing import Any, ClassVar, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from jaxbandits.algorithms.armed.index_policy import log_rounds
from jaxbandits.algorithms.combinatorial.set_policy import CascadePolicy
from jaxbandits.base import ranges
from jaxbandits.base.errors import InputError
from jaxbandits.base.pytree import ArrayLike, lists_to_arrays, param, pytree
from jaxbandits.estimation.items import item_sums
from jaxbandits.numerics.compensated import CompensatedSum
from jaxbandits.types import ArmObs, ListClicks, SetDecision


class DisplayState(NamedTuple):
    """Displays and clicks of each item."""

    count: jax.Array  # [L]  N_e
    examined: CompensatedSum  # [L]  n_e, expected number of times that the item was examined
    total: jax.Array  # [L]  S_e


@pytree
class PBMUCB(CascadePolicy):
    """UCB for lists whose positions are examined with known probabilities.

    Guarantee:
      If $kappa$ is known, the attraction probabilities are different and eps > 0, then the expected regret after n
      rounds is $O(log n)$.

    Deviations:
      * [reconstructed] The index is taken from two independent implementations of the paper; t is the number of the
        current round.
      * [ours] Items that were not displayed come first, in turn. Ties go to the first item.

    References:
      Paul Lagree, Claire Vernade, Olivier Cappe. Multiple-Play Bandits in the Position-Based Model. NIPS 2016,
      arXiv:1606.02448.
    """

    source: ClassVar[str] = "Lagree, Vernade & Cappe, NIPS 2016"
    feedback: ClassVar[type] = ListClicks
    environments: ClassVar[tuple[str, ...]] = ("combinatorial/position_clicks",)
    examination: ArrayLike = param(
        range="(0, 1]", doc="[m] kappa, examination probabilities of the positions, non-increasing"
    )
    eps: ArrayLike = param(0.1, "[0, inf)", "eps, exploration parameter in delta_t = (1 + eps) log t")

    def __post_init__(self) -> None:
        lists_to_arrays(self, "examination")

    @classmethod
    def theory(cls, *, n_items: int, examination: Any, **changes: Any) -> "PBMUCB":
        """Use the examination probabilities `[m]` of the environment, and the default eps."""
        examination = ranges.floats("examination", examination, "(m,)")
        return cls(**{"n_items": n_items, "list_size": len(examination), "examination": examination} | changes)

    @classmethod
    def example(cls) -> "PBMUCB":
        return cls.theory(n_items=6, examination=[0.9, 0.6, 0.3])

    def check(self) -> None:
        """Raise InputError for more positions than items, or if `examination` has the wrong length or increases."""
        super().check()
        if np.shape(self.examination)[-1:] != (self.list_size,):
            found = np.shape(self.examination)
            raise InputError(f"PBMUCB.examination must have shape [{self.list_size}], got {found}")
        if (np.diff(np.asarray(self.examination)) > 0.0).any():
            raise InputError(
                "PBMUCB.examination must not increase from one position to the next, got "
                f"{np.asarray(self.examination).tolist()}"
            )

    def init(self, key: jax.Array) -> Any:
        del key  # deterministic
        zero = jnp.zeros(self.n_items)
        return DisplayState(count=zero, examined=CompensatedSum.init(zero), total=zero)

    def index(self, key: jax.Array, t: jax.Array, state: Any) -> jax.Array:
        del key
        examined = state.examined.total
        inverse = 1.0 / jnp.where(examined > 0.0, examined, 1.0)
        level = (1.0 + self.eps) * log_rounds(t + 1)
        return inverse * (state.total + jnp.sqrt(0.5 * level * state.count))

    def update(
        self, key: jax.Array, t: jax.Array, state: Any, obs: ArmObs, decision: SetDecision, feedback: Any
    ) -> Any:
        del key, t, obs
        examination = jnp.asarray(self.examination, state.count.dtype)
        return DisplayState(
            count=state.count + item_sums(decision.items, jnp.ones(self.list_size), self.n_items),
            examined=state.examined.add(item_sums(decision.items, examination, self.n_items)),
            total=state.total + item_sums(decision.items, feedback.reward, self.n_items),
        )
