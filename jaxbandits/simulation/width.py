"""How many trials run side by side by default: as many as fit where they are computed.

On CPU the state of a piece stays in the L2 cache; a trial of a megabyte fills it alone and gains nothing from company.
On accelerators every multiprocessor must be busy, and memory is what ends. A width depends on the sizes of one trial
and on the device, never on the number of trials: bits must not change when seeds are added.
"""

import math
from typing import Any

import jax
import jax.numpy as jnp

from jaxbandits.simulation.options import WIDTH_UNIT
from jaxbandits.simulation.program import Device

_CPU_WIDEST = 64
_CPU_BYTES = 2**21  # of a piece (performance notes in docs/performance.md)
_ALONE = 2**20  # bytes of a trial from which on it runs alone
_ACCELERATOR_WIDEST = 8192
_ACCELERATOR_PART = 8  # a piece holds at most this part of the memory: states are copied, pieces overlap


def default_width(bytes_of_trial: int, device: Device) -> int:
    """1 or a multiple of 32."""
    if device.platform == "cpu":
        if bytes_of_trial >= _ALONE:
            return 1
        return _multiple(min(_CPU_WIDEST, _CPU_BYTES // max(1, bytes_of_trial)))
    memory = _memory(device)
    fits = _ACCELERATOR_WIDEST if memory is None else memory // (_ACCELERATOR_PART * bytes_of_trial)
    if fits < WIDTH_UNIT:
        return 1
    # A power of two: what the device has free varies a little, and the width must not.
    return min(_ACCELERATOR_WIDEST, 2 ** int(math.log2(fits)))


def bytes_of(shapes: Any) -> int:
    """Bytes of a tree of shapes; random keys count as two words."""
    leaves = jax.tree.leaves(shapes)
    return sum(x.size * (8 if jnp.issubdtype(x.dtype, jax.dtypes.prng_key) else x.dtype.itemsize) for x in leaves)


def _multiple(width: int) -> int:
    return max(WIDTH_UNIT, width // WIDTH_UNIT * WIDTH_UNIT)


def _memory(device: Device) -> int | None:
    """Bytes that this process may use on a device; None where the device does not say."""
    try:
        stats = device.memory_stats()
    except Exception:  # not every backend has them
        return None
    return stats.get("bytes_limit") if stats else None
