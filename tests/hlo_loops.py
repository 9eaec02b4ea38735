"""Properties of the loops in the text of a compiled program: moves of axes, loops without a known length, kernels."""

import re

_MADE = re.compile(r"^\s*(?:ROOT )?(%[\w.\-]+) = \(?\w+\[([\d,]*)\](?:\{([\d,]*)\S*)?.*? ([\w\-]+)\((%[\w.\-]+)?")


def moves(text: str, width: int | None = None) -> list[str]:
    """Return the instructions inside loops of a program that transpose, or copy to another order of axes.

    Args:
      text: of the compiled program.
      width: only those before or after which axes of this length, trials, are not the contiguous ones. Others move
        whole rows of trials, which costs little more than a pass over the array. None: all.
    """

    def contiguous(shape: str, order: str) -> bool:
        lengths = shape.split(",")
        return lengths[int(order.split(",")[0])] == str(width) if order else lengths == [str(width)]

    found = []
    for computation in inside_loops(text):
        made: dict[str, tuple[str, str]] = {}
        for line in computation:
            if match := _MADE.match(line):
                result, shape, order, operation, operand = match.groups()
                made[result] = (shape, order)
                another = operation == "copy" and made.get(operand, (shape, order)) != (shape, order)
                whole = contiguous(shape, order) and contiguous(*made.get(operand, (shape, order)))
                if (operation == "transpose" or another) and (width is None or not whole):
                    found.append(line.strip())
    return found


def open_loops(text: str) -> list[str]:
    """Return the loops and branches that ask the host in every step on an accelerator: their length is not known."""
    loops = (line.strip() for line in text.splitlines() if " while(" in line or " conditional(" in line)
    return [line for line in loops if '"known_trip_count"' not in line]


_FREE = {"parameter", "constant", "tuple", "get-tuple-element", "bitcast", "iota", "partition-id", "opt-barrier"}
_TRIPS = re.compile(r'"known_trip_count":\{"n":"(\d+)"\}')


def kernels(text: str) -> int:
    """Count the kernels that one step of the outermost loop of a program starts, with those of inner loops each time.

    The outermost loop of known length, that is: the one that starts most kernels in all. What a CPU fuses is not what
    an accelerator does: counts of one device say nothing about another.
    """
    computations = _computations(text)

    def of(name: str) -> int:
        total = 0
        for line in computations[name]:
            operation = match[4] if (match := _MADE.match(line)) else _operation(line)
            called = re.search(r"(?:body|to_apply)=(%[\w.\-]+)", line)
            if operation == "while" and called:
                total += int((_TRIPS.search(line) or ["", "1"])[1]) * of(called[1])
            elif operation == "call" and called:
                total += of(called[1])
            else:
                total += operation not in _FREE
        return total

    bodies = [
        (int(trips[1]), body[1])
        for line in text.splitlines()
        if (trips := _TRIPS.search(line)) and (body := re.search(r"body=(%[\w.\-]+)", line))
    ]
    return max(((of(body) * steps, of(body)) for steps, body in bodies), default=(0, 0))[1]


def _operation(line: str) -> str:
    """Return the operation of an instruction that makes a tuple."""
    found = re.search(r" ([a-z][\w\-]*)\(", line.partition(" = ")[2])
    return found[1] if found else ""


def _computations(text: str) -> dict[str, list[str]]:
    """Return the lines of every computation by its name."""
    computations: dict[str, list[str]] = {}
    name = ""
    for line in text.splitlines():
        if line.endswith("{") and not line.startswith(" "):
            name = line.removeprefix("ENTRY ").split()[0].split("(")[0]
            computations[name] = []
        elif name and line.startswith(" "):
            computations[name].append(line)
    return computations


def inside_loops(text: str) -> list[list[str]]:
    """Return the lines of every computation that a loop runs, directly or not."""
    computations = _computations(text)
    loops = dict.fromkeys(
        body for lines in computations.values() for line in lines for body in re.findall(r"body=(%[\w.\-]+)", line)
    )
    inside = list(loops)
    for computation in inside:  # grows while it is read
        for line in computations[computation]:
            for called in re.findall(r"%[\w.\-]+", line.partition(" = ")[2]):
                if called in computations and called not in inside:
                    inside.append(called)
    return [computations[computation] for computation in inside]
