"""Threefry-2x32, the counter-based generator of `jax.random` (Salmon, Moraes, Dror & Shaw, SC 2011), written out.

On a CPU JAX lowers it to a loop of five steps; unrolled, a block costs half as much.
"""

from typing import Any

import numpy as np

JAX_ROUNDS = 20  # rounds of `jax.random`, for equal keys and bits

_ROTATIONS = ((13, 15, 26, 6), (17, 29, 16, 24))


def threefry(k0: Any, k1: Any, counter: Any, rounds: int = JAX_ROUNDS, high: Any = None) -> tuple[Any, Any]:
    """Return the block of key (k0, k1) at counter (high, counter): two independent uint32 words; shapes broadcast.

    All arguments must be JAX arrays, or all NumPy arrays; `high` is zero by default.
    """
    schedule = (k0, k1, k0 ^ k1 ^ np.uint32(0x1BD11BDA))
    x0, x1 = k0 if high is None else k0 + high, k1 + counter
    for i in range(rounds):
        r = _ROTATIONS[i // 4 % 2][i % 4]
        x0 = x0 + x1
        x1 = x0 ^ ((x1 << r) | (x1 >> (32 - r)))
        if i % 4 == 3:  # inject the key
            j = i // 4 + 1
            x0 = x0 + schedule[j % 3]
            x1 = x1 + schedule[(j + 1) % 3] + np.uint32(j)
    return x0, x1
