"""Plans for matrix products that are kept as rows (`short_axes.Rows`), and for sorts that compute only some entries.

A product that is summed afterwards, such as the quadratic forms `sum_j (X A)_kj X_kj` of all arms k, need not be stored
as an array. If its rows are separate arrays, each sum can be part of the kernel that computes its terms. The axis along
which the rows lie determines the size of these kernels.

A sort computes only the entries that later steps read: `argsort(-u)[:m]` becomes m searches for the best arm.
"""

import math
from typing import NamedTuple

from jaxbandits.tracing.flat import FlatFunction, Step, consumers
from jaxbandits.tracing.jax_compat import JaxprEqn, Params
from jaxbandits.tracing.short_axes import ROW_TERMS, WRITTEN_OUT
from jaxbandits.tracing.short_sorts import SortPlan

# Largest number of products for which one kernel computes an entry and its sum; faster up to d = 5, slower at d = 8.
FUSED_TERMS = 30
KERNEL_TERMS = 80  # largest number of products in one kernel; a larger kernel exceeds the registers
# Largest number of entries of a sort that have separate kernels; with it, a median of 11 takes half the time.
SORTED_ENTRIES = 2


class RowPlan(NamedTuple):
    """Layout of a matrix product that is kept as rows."""

    axis: int  # axis of the result along which there is one row for each index
    separate_kernels: bool  # whether each row passes a separate barrier


def row_axes(flat: FlatFunction, elementwise: frozenset[str]) -> dict[int, RowPlan | SortPlan]:
    """Return plans for matrix products that are summed afterwards, and for sorts.

    A product of few terms forms one kernel with its sum, with rows along the summed axis. With more terms, rows lie
    along an axis that is not summed, and each row is a kernel with its own sum. If there would be too many rows, they
    lie along the summed axis again, each as a separate kernel.

    Args:
      flat: the function.
      elementwise: names of elementwise primitives.

    Returns:
      A dict from the number of the (first) result of a product or a sort to its plan.
    """
    readers = consumers(flat)
    returned = set(flat.outputs)
    indices = {
        step.outputs[0]: step.eqn.params["dimension"] for step in flat.steps if step.eqn.primitive.name == "iota"
    }
    plans: dict[int, RowPlan | SortPlan] = {}
    for step in flat.steps:
        if step.eqn.primitive.name == "sort":
            plans[step.outputs[0]] = _sort_plan(step, readers, returned, indices)
        if step.eqn.primitive.name != "dot_general":
            continue
        (name,), shape = step.outputs, step.eqn.outvars[0].aval.shape
        (contracted, _), _ = step.eqn.params["dimension_numbers"]
        terms = math.prod(step.eqn.invars[0].aval.shape[k] for k in contracted)
        if len(shape) < 2 or math.prod(shape) * terms <= KERNEL_TERMS:
            continue
        kept, summed = _first_reduction(name, list(range(len(shape))), readers, returned, elementwise)
        if summed is not None and terms * shape[summed] <= FUSED_TERMS:
            plans[name] = RowPlan(summed, separate_kernels=False)
        elif kept is not None and math.prod(shape) * terms <= ROW_TERMS:
            plans[name] = RowPlan(kept, separate_kernels=False)
        elif summed is not None and shape[summed] <= WRITTEN_OUT:
            plans[name] = RowPlan(summed, separate_kernels=True)
    return plans


def _sort_plan(step: Step, readers: dict[int, list[Step]], returned: set[int], indices: dict[int, int]) -> SortPlan:
    """Return the plan of a sort.

    Args:
      step: the sort.
      readers: for each value, the steps that read it.
      returned: values that the function returns.
      indices: for each value that holds the index along an axis, this axis.
    """
    axis, n = step.eqn.params["dimension"], step.eqn.invars[0].aval.shape[step.eqn.params["dimension"]]
    spans = [_entries_read(name, axis, n, readers, returned) for name in step.outputs]
    start, stop = min(a for a, _ in spans), max(b for _, b in spans)
    start, stop = (start, stop) if start < stop else (0, n)  # no entry is read
    reading = [reader.eqn for name in step.outputs for reader in readers.get(name, ())]
    rows = returned.isdisjoint(step.outputs) and all(is_entry(eqn, axis) for eqn in reading)
    places = frozenset(k for k, name in enumerate(step.inputs) if indices.get(name) == axis)
    return SortPlan(start, stop, places, rows, stages=not rows or len(reading) > SORTED_ENTRIES)


def _entries_read(name: int, axis: int, n: int, readers: dict[int, list[Step]], returned: set[int]) -> tuple[int, int]:
    """Return start and end of the range of entries along an axis that later steps read; (n, 0) if none is read."""
    start, stop = (0, n) if name in returned else (n, 0)
    for reader in readers.get(name, ()):
        params: Params = reader.eqn.params
        first, last = 0, n
        if reader.eqn.primitive.name == "slice" and params["strides"] is None:
            first, last = params["start_indices"][axis], params["limit_indices"][axis]
        elif reader.eqn.primitive.name == "rev":
            first, last = _entries_read(reader.outputs[0], axis, n, readers, returned)
            if axis in params["dimensions"]:
                first, last = n - last, n - first
        start, stop = min(start, first), max(stop, last)
    return start, stop


def is_entry(eqn: JaxprEqn, axis: int) -> bool:
    """Return True if an equation reads one entry along an axis, and all entries along the other axes."""
    if eqn.primitive.name != "slice" or eqn.params["strides"] is not None:
        return False
    (operand,), (result,) = eqn.invars, eqn.outvars
    lengths = zip(operand.aval.shape, result.aval.shape, strict=True)
    return all(m == (1 if k == axis else n) for k, (n, m) in enumerate(lengths))


def _first_reduction(
    name: int, axes: list[int], readers: dict[int, list[Step]], returned: set[int], elementwise: frozenset[str]
) -> tuple[int | None, int | None]:
    """Return an axis of a product that its first reduction keeps, and an axis that it sums; None where there is none.

    The product is followed through elementwise steps and transposes, as long as each value has one reader.

    Args:
      name: number of the product, or of a value computed from it.
      axes: for each axis of that value, the axis of the product.
      readers: for each value, the steps that read it.
      returned: values that the function returns.
      elementwise: names of elementwise primitives.
    """
    steps = readers.get(name, [])
    if len(steps) != 1 or name in returned:
        return None, None
    (step,) = steps
    kind: str = step.eqn.primitive.name
    params: Params = step.eqn.params
    keeps_axes = len(step.eqn.outvars[0].aval.shape) == len(axes)  # a bitcast may add or remove an axis
    if (kind in elementwise and keeps_axes) or (kind == "reduce_sum" and not params["axes"]):
        return _first_reduction(step.outputs[0], axes, readers, returned, elementwise)
    if kind == "transpose":
        permuted = [axes[k] for k in params["permutation"]]
        return _first_reduction(step.outputs[0], permuted, readers, returned, elementwise)
    if kind == "reduce_sum":
        kept = [axis for k, axis in enumerate(axes) if k not in params["axes"]]
        return (kept[0] if kept else None), axes[params["axes"][0]]
    if kind == "dot_general" and step.inputs.count(name) == 1:
        side = step.inputs.index(name)
        contracted, batch = (pair[side] for pair in params["dimension_numbers"])
        if len(batch) == 1 and len(contracted) == 1 and len(axes) == 2:
            return axes[batch[0]], axes[contracted[0]]
    return None, None
