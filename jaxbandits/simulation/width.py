"""How many trials run side by side by default: as many as fit where they are computed.

On CPU what a round of a piece touches stays in the L2 cache. Where not even 32 trials fit, a trial runs alone: its
vectors are long enough to fill the machine, and side by side all of them would go through memory in every round. On
accelerators every multiprocessor must be busy, and memory is what ends. A width depends on the sizes of one trial and
on the device, never on the number of trials: bits must not change when seeds are added.
"""

import math
from typing import Any

import jax
import jax.numpy as jnp

from jaxbandits.simulation.loop import Trial
from jaxbandits.simulation.options import WIDTH_UNIT
from jaxbandits.simulation.program import Device
from jaxbandits.tracing import target

_CPU_WIDTHS = (64, 32)
_CPU_BYTES = 2**20  # of a round of a piece: the L2 cache of a core (docs/performance.md has what was measured)
_ACCELERATOR_WIDEST = 8192
_ACCELERATOR_PART = 8  # a piece holds at most this part of the memory: states are copied, pieces overlap


def default_width(bytes_of_trial: int, device: Device) -> int:
    """1 or a multiple of 32.

    Args:
      bytes_of_trial: what one trial touches in a round.
      device: where it runs.
    """
    if not target.is_accelerator(device.platform):
        return next((width for width in _CPU_WIDTHS if width * bytes_of_trial <= _CPU_BYTES), 1)
    memory = _memory(device)
    fits = _ACCELERATOR_WIDEST if memory is None else memory // (_ACCELERATOR_PART * bytes_of_trial)
    if fits < WIDTH_UNIT:
        return 1
    # A power of two: what the device has free varies a little, and the width must not.
    return min(_ACCELERATOR_WIDEST, 2 ** int(math.log2(fits)))


def bytes_of_round(trial: Trial) -> int:
    """What one trial touches in a round: its states before and after, what passes between the two sides, what waits."""
    carry = trial.carry
    return 2 * bytes_of((carry.env, carry.alg)) + bytes_of((trial.passed, carry.waiting))


def bytes_of(shapes: Any) -> int:
    """Bytes of a tree of shapes; random keys count as two words."""
    leaves = jax.tree.leaves(shapes)
    return sum(x.size * (8 if jnp.issubdtype(x.dtype, jax.dtypes.prng_key) else x.dtype.itemsize) for x in leaves)


def _memory(device: Device) -> int | None:
    """Bytes that this process may use on a device; None where the device does not say."""
    try:
        stats = device.memory_stats()
    except Exception:  # not every backend has them
        return None
    return stats.get("bytes_limit") if stats else None
