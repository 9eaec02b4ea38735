"""What XLA may not repeat.

XLA:CPU fuses a cheap producer into every consumer and computes it there again, up to 15 times in a round of a bandit
algorithm. A value that several consumers share goes through `once`; what a round hands to the next one goes through it
in the loop.
"""

from typing import TypeVar

from jax import lax

T = TypeVar("T")


def once(tree: T) -> T:
    """The same values, computed once: nothing before this point is repeated behind it."""
    return lax.optimization_barrier(tree)
