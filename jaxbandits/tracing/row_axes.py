"""The axis along which a product of matrices or a sort is best computed in rows, from what is done with it."""

import math
from typing import Any, NamedTuple

from jaxbandits.tracing.flat import Flat, Step, consumers
from jaxbandits.tracing.short_axes import ROW_TERMS, WRITTEN_OUT

FUSED_TERMS = 30  # products up to which one kernel makes an entry and its sum; measured: better to d = 5, worse at 8
KERNEL_TERMS = 80  # products in one kernel; a larger one falls out of the registers


class RowPlan(NamedTuple):
    """How a product of matrices is computed."""

    axis: int  # of the product: one row an entry
    apart: bool  # a kernel for every row


def row_axes(flat: Flat, entrywise: frozenset[str]) -> dict[int, RowPlan]:
    """By product that is summed afterwards, and by sort of which single entries are read: the rows that are wanted.

    A product of few terms is one kernel with its sum: rows along the axis that is summed. Of more terms each row along
    an axis that is not summed is a kernel with its own sum. Where those would be too many, the rows are again along the
    axis that is summed, each a kernel.

    Args:
      flat: the function.
      entrywise: names of primitives that work entry by entry.
    """
    readers = consumers(flat)
    returned = set(flat.outputs)
    wanted: dict[int, RowPlan] = {}
    for step in flat.steps:
        if step.eqn.primitive.name == "sort" and not returned.intersection(step.outputs):
            axis = step.eqn.params["dimension"]
            if all(is_entry(reader.eqn, axis) for name in step.outputs for reader in readers.get(name, ())):
                wanted[step.outputs[0]] = RowPlan(axis, apart=False)
        if step.eqn.primitive.name != "dot_general":
            continue
        (name,), shape = step.outputs, step.eqn.outvars[0].aval.shape
        (contracted, _), _ = step.eqn.params["dimension_numbers"]
        terms = math.prod(step.eqn.invars[0].aval.shape[k] for k in contracted)
        if len(shape) < 2 or math.prod(shape) * terms <= KERNEL_TERMS:
            continue
        kept, summed = _fate(name, list(range(len(shape))), readers, returned, entrywise)
        if summed is not None and terms * shape[summed] <= FUSED_TERMS:
            wanted[name] = RowPlan(summed, apart=False)
        elif kept is not None and math.prod(shape) * terms <= ROW_TERMS:
            wanted[name] = RowPlan(kept, apart=False)
        elif summed is not None and shape[summed] <= WRITTEN_OUT:
            wanted[name] = RowPlan(summed, apart=True)
    return wanted


def is_entry(eqn: Any, axis: int) -> bool:
    """Return whether an equation reads one entry of an axis, and all of the others."""
    if eqn.primitive.name != "slice" or eqn.params["strides"] is not None:
        return False
    (read,), (written,) = eqn.invars, eqn.outvars
    return all(
        m == (1 if k == axis else n) for k, (n, m) in enumerate(zip(read.aval.shape, written.aval.shape, strict=True))
    )


def _fate(
    name: int, axes: list[int], readers: dict[int, list[Step]], returned: set[int], entrywise: frozenset[str]
) -> tuple[int | None, int | None]:
    """An axis of a value that is kept and one that is summed by the first reduction of it.

    Args:
      name: of the value, or of what was made of it.
      axes: by axis of that: the axis of the value.
      readers: by value: the steps that read it.
      returned: values that are returned.
      entrywise: names of primitives that work entry by entry.
    """
    steps = readers.get(name, [])
    if len(steps) != 1 or name in returned:
        return None, None
    (step,) = steps
    kind: str = step.eqn.primitive.name
    params: Any = step.eqn.params
    if kind in entrywise:
        return _fate(step.outputs[0], axes, readers, returned, entrywise)
    if kind == "transpose":
        return _fate(step.outputs[0], [axes[k] for k in params["permutation"]], readers, returned, entrywise)
    if kind == "reduce_sum":
        kept = [axis for k, axis in enumerate(axes) if k not in params["axes"]]
        return (kept[0] if kept else None), axes[params["axes"][0]]
    if kind == "dot_general" and step.inputs.count(name) == 1:
        side = step.inputs.index(name)
        contracted, batch = (pair[side] for pair in params["dimension_numbers"])
        if len(batch) == 1 and len(contracted) == 1 and len(axes) == 2:
            return axes[batch[0]], axes[contracted[0]]
    return None, None
