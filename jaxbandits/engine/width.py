"""Default batch width, the number of trials that a program runs at once, by the sizes of caches and device memory.

On a CPU, 64 trials use the vector units best, as long as the arrays of a round of the batch take at most 192 KiB.
Larger trials run in batches of 16 (one AVX-512 register of float32), as long as the arrays take at most 1.75 MiB.
States count twice in this sum, but are mostly updated in place, so that such a batch takes about 1 MiB of the L2 cache.
If even 16 trials do not fit, a trial runs alone: its vectors are long enough to use the vector units, whereas the
vectors of a batch would be read from memory in every round. On accelerators the batch is as wide as the memory of the
device allows, up to 8,192, so that every multiprocessor is busy. The width depends on the sizes of one trial and on the
device, but not on the number of trials, because adding seeds must not change the bits of the other trials.
"""

import math
from typing import Any

import jax
import jax.numpy as jnp

from jaxbandits.base.pytree import PyTree
from jaxbandits.engine.loop import TracedTrial
from jaxbandits.engine.options import WIDTH_UNIT
from jaxbandits.programs.compilation import Device
from jaxbandits.tracing import target

# Widths, with the largest number of bytes of a round of such a batch (measured in benchmarks/NOTES.md).
_CPU_WIDTHS = ((64, 3 * 2**16), (16, 7 * 2**18))
_HISTORY_MOST = 2**24  # bytes of a round up to which trials with a history run side by side, so that they fit in memory
_ACCELERATOR_WIDEST = 8192
_ACCELERATOR_SHARE = 8  # a batch takes at most an eighth of the memory, since states are copied and batches overlap


def default_width(bytes_of_trial: int, device: Device) -> int:
    """Return the number of trials in a batch, 1 or a multiple of 16.

    Args:
      bytes_of_trial: bytes of the arrays that a round of one trial reads or writes.
      device: device that runs the batch.
    """
    if not target.is_accelerator(device.platform):
        return next((width for width, most in _CPU_WIDTHS if width * bytes_of_trial <= most), 1)
    memory = memory_of(device)
    fits = _ACCELERATOR_WIDEST if memory is None else memory // (_ACCELERATOR_SHARE * bytes_of_trial)
    if fits < WIDTH_UNIT:
        return 1
    # Round to a power of two, since the free memory of the device varies slightly and the width must not vary.
    return min(_ACCELERATOR_WIDEST, 2 ** int(math.log2(fits)))


def least_width(algorithm: Any, bytes_of_trial: int) -> int:
    """Return the smallest default width of an algorithm: its `min_width`, or else 16 if it has a history.

    A history of more than 16 MiB per trial would take too much memory for 16 trials, so that the least width is then 1.
    Most rows of a history (`capacity`) are not read in a round, and loops over rows are several times as fast for 16
    trials side by side as for one.

    Args:
      algorithm: the algorithm.
      bytes_of_trial: bytes of the arrays that a round of one trial reads or writes, including the whole history.
    """
    declared = getattr(algorithm, "min_width", None)
    if declared is not None:
        return declared
    has_history = getattr(algorithm, "capacity", None) is not None
    return WIDTH_UNIT if has_history and bytes_of_trial <= _HISTORY_MOST else 1


def bytes_of_round(trial: TracedTrial) -> int:
    """Return the bytes of a round of one trial: both states before and after, interaction, and delay buffer."""
    carry = trial.carry
    return 2 * bytes_of((carry.env_state, carry.alg_state)) + bytes_of((trial.interaction, carry.delay_buffer))


def bytes_of(shapes: PyTree) -> int:
    """Return the number of bytes of the arrays in a tree of shapes; a random key counts as two 32-bit words."""
    leaves = jax.tree.leaves(shapes)
    return sum(x.size * (8 if jnp.issubdtype(x.dtype, jax.dtypes.prng_key) else x.dtype.itemsize) for x in leaves)


def memory_of(device: Device) -> int | None:
    """Return the number of bytes that this process may use on a device; None if the device does not report it."""
    try:
        stats = device.memory_stats()
    except Exception:  # not every backend has memory statistics
        return None
    return stats.get("bytes_limit") if stats else None
