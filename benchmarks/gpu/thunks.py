"""Count operations ("thunks") in the sequence that XLA runs on a GPU, as its dump prints it.

    000: kCommandBuffer [source | sink]
        001: kWhile        [source | sink]
    condition:
            002: kCustomKernel [source | sink] compare grid: [1, 1, 1] threads: [1, 1, 1] ...
          body:
            003: kCustomKernel ...

A kCommandBuffer is a CUDA graph: the host launches it once, whatever it contains. Outside of graphs, the host reads the
predicate of a kWhile or a kConditional, and the device waits meanwhile.
"""

import re
from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

_NODE = re.compile(r"^ *\d+: (k\w+) *(?:\[[^\]]*\])? *(.*)$")
_KERNEL = re.compile(r"(\S+) grid: \[(\d+), (\d+), (\d+)\] threads: \[(\d+), (\d+), (\d+)\]")
_LIBRARIES = ("kGemm", "kCublasLt", "kCholesky", "kTriangularSolve", "kCustomCall", "kConvolution", "kFft", "kCuDnn")


class Thunk(NamedTuple):
    """An operation, with the operations inside it by the label of their part."""

    kind: str
    kernel: str  # name, "" for other operations
    threads: int  # number of threads of the kernel, in all blocks
    parts: dict[str, list["Thunk"]]


def parse(text: str) -> list[Thunk]:
    """Return the operations of a dump."""
    root = Thunk("root", "", 0, {})
    open_thunks = [(-1, root, ["nodes"])]  # indentation, operation, label of the part that is being read
    for line in filter(str.strip, text.splitlines()):
        indent = len(line) - len(line.lstrip())
        match = _NODE.match(line)
        if match is None:
            label = line.strip().removeprefix("No thunks.").strip().rstrip(":")  # an empty part, or the next
            while label != "condition" and open_thunks[-1][0] >= indent:  # "condition" stands at the margin
                open_thunks.pop()
            open_thunks[-1][2][0] = label
            continue
        kernel = _KERNEL.match(match[2])
        threads = 1
        for n in kernel.groups()[1:] if kernel else ():
            threads *= int(n)
        thunk = Thunk(match[1], kernel[1] if kernel else "", threads if kernel else 0, {})
        while open_thunks[-1][0] >= indent:
            open_thunks.pop()
        _, parent, label = open_thunks[-1]
        parent.parts.setdefault(label[0], []).append(thunk)
        open_thunks.append((indent, thunk, ["nodes"]))
    return root.parts.get("nodes", [])


def walk(thunks: Iterable[Thunk]) -> Iterator[Thunk]:
    """Yield operations and all operations inside them."""
    for thunk in thunks:
        yield thunk
        for part in thunk.parts.values():
            yield from walk(part)


def nodes(thunks: Iterable[Thunk], branch: Callable[..., int] = max) -> int:
    """Count the nodes that run if each loop runs one step.

    Args:
      thunks: the operations.
      branch: `max` or `min`, whether the longest or the shortest branch of each conditional is taken.
    """
    total = 0
    for thunk in thunks:
        inside = {label: nodes(part, branch) for label, part in thunk.parts.items()}
        if thunk.kind == "kWhile":
            total += 1 + 2 * inside.get("condition", 0) + inside.get("body", 0)
        elif thunk.kind == "kConditional":
            total += 1 + branch(inside.values(), default=0)
        elif thunk.parts:
            total += sum(inside.values())
        else:
            total += 1
    return total


def further_steps(thunks: Iterable[Thunk]) -> list[int]:
    """Return for each loop the number of nodes of one more step."""
    return [nodes(x.parts.get("condition", [])) + nodes(x.parts.get("body", [])) for x in walk(thunks) if is_loop(x)]


def is_loop(thunk: Thunk) -> bool:
    """Return whether an operation is a loop."""
    return thunk.kind == "kWhile"


def host_predicates(thunks: Iterable[Thunk]) -> int:
    """Count loops and branches outside CUDA graphs."""
    count = 0
    for thunk in thunks:
        if thunk.kind != "kCommandBuffer":
            count += thunk.kind in ("kWhile", "kConditional")
            count += sum(host_predicates(part) for part in thunk.parts.values())
    return count


def uncomputed_predicates(thunks: Iterable[Thunk]) -> int:
    """Count loops whose predicate is not computed by an operation."""
    return sum(is_loop(thunk) and not thunk.parts.get("condition") for thunk in walk(thunks))


def launches(thunks: Iterable[Thunk]) -> int:
    """Count the launches of the host: graphs, and operations outside graphs."""
    count = 0
    for thunk in thunks:
        inside = 0 if thunk.kind == "kCommandBuffer" else sum(launches(part) for part in thunk.parts.values())
        count += inside if thunk.kind == "kSequential" else 1 + inside
    return count


def calls_of_libraries(thunks: Iterable[Thunk]) -> list[str]:
    """Return the kinds of operations that libraries of NVIDIA run."""
    return sorted({thunk.kind for thunk in walk(thunks) if thunk.kind.startswith(_LIBRARIES)})
