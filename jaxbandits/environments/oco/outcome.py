"""What environments with a stated comparator charge."""

from typing import NamedTuple

import jax


class FixedComparatorOutcome(NamedTuple):
    """Of one round, at the decision x_t and at the fixed comparator u."""

    loss: jax.Array  # []  f_t(x_t)
    comparator_loss: jax.Array  # []  f_t(u)
    regret: jax.Array  # []  f_t(x_t) - f_t(u)
