"""Count the bytes that the kernels of a round read and write, from the HLO that XLA compiled."""

import math
import re
from typing import NamedTuple

_BYTES = {"pred": 1, "s8": 1, "u8": 1, "bf16": 2, "f16": 2, "s32": 4, "u32": 4, "f32": 4, "s64": 8, "u64": 8, "f64": 8}
_ARRAY = re.compile(r"\b(" + "|".join(_BYTES) + r")\[([\d,]*)\]")
_INSTRUCTION = re.compile(r"^\s+(?:ROOT )?(%[\w.\-]+) = (.*?) ([\w\-]+)\((.*)$")
_WITHOUT_COST = frozenset(
    "parameter constant tuple get-tuple-element bitcast while conditional opt-barrier after-all".split()  # noqa: SIM905
)


def bytes_of_round(hlo: str, with_loops: bool) -> int:
    """Return the bytes of the operands and results of every kernel of a round.

    An operand from which a kernel gathers is counted as a whole.

    Args:
      hlo: text of a compiled `loop.play_rounds`: a loop over record points, and inside it the loop over rounds.
      with_loops: True if each loop inside a round runs one step and the longest branches are taken; False if loops run
        no step and the shortest branches are taken.
    """
    computations = _computations(hlo)
    (outer,) = _bodies(computations["ENTRY"])[:1]
    body = max(_bodies(computations[outer]), key=lambda name: len(computations[name]))
    return _moved(computations, body, with_loops)


def _computations(hlo: str) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    lines: list[str] = []
    for line in hlo.splitlines():
        if line.endswith("{") and not line.startswith(" ") and "(" in line:
            lines = []
            found[line.removeprefix("ENTRY ").split()[0].split("(")[0]] = lines
            if line.startswith("ENTRY"):
                found["ENTRY"] = lines
        elif line.startswith(" "):
            lines.append(line)
    return found


def _bodies(lines: list[str]) -> list[str]:
    return [name for line in lines if " while(" in line for name in re.findall(r"body=(%[\w.\-]+)", line)]


def _moved(computations: dict[str, list[str]], name: str, with_loops: bool) -> int:
    instructions = _instructions(computations[name])
    sizes = {x.result: x.size for x in instructions}
    total = 0
    for x in instructions:
        if x.operation not in _WITHOUT_COST:
            read = [sizes.get(operand, 0) for operand in x.operands]
            called = re.search(r"calls=(%[\w.\-]+)", x.rest)
            if called:
                parts = _parts_read(_instructions(computations[called[1]]))
                read = [min(size, parts.get(k, size)) for k, size in enumerate(read)]
            total += x.size + sum(read)
        if with_loops:
            total += sum(_moved(computations, body, True) for body in re.findall(r"body=(%[\w.\-]+)", x.rest))
        branches = re.findall(r"branch_computations=\{(.*?)\}", x.rest)
        inside = [body.strip() for group in branches for body in group.split(",")]
        inside += re.findall(r"(?:true|false)_computation=(%[\w.\-]+)", x.rest)
        branch = max if with_loops else min
        total += branch((_moved(computations, body, with_loops) for body in inside), default=0)
    return total


class _Instruction(NamedTuple):
    result: str
    size: int  # bytes
    operation: str
    operands: list[str]
    rest: str  # rest of the line


def _instructions(lines: list[str]) -> list[_Instruction]:
    found = []
    for match in filter(None, map(_INSTRUCTION.match, lines)):
        result, shape, operation, rest = match.groups()
        arrays = [(kind, [int(n) for n in dims.split(",") if n]) for kind, dims in _ARRAY.findall(shape)]
        size = sum(_BYTES[kind] * math.prod(dims) for kind, dims in arrays)
        found.append(_Instruction(result, size, operation, re.findall(r"%[\w.\-]+", rest.split(")")[0]), rest))
    return found


def _parts_read(fused: list[_Instruction]) -> dict[int, int]:
    """Return the bytes that a kernel reads from operands of which it reads only slices, by position of the operand."""
    parts: dict[int, int] = {}
    for parameter in fused:
        if parameter.operation == "parameter":
            readers = [x for x in fused if parameter.result in x.operands]
            if readers and all(x.operation in ("slice", "dynamic-slice") for x in readers):
                parts[int(parameter.rest.split(")")[0])] = sum(x.size for x in readers)
    return parts
