"""Identity of a program: a digest of the lowered text that XLA compiles, and the host code that no digest covers.

The text spells out all operations, constants and shapes, wherever the code that made them stands. It names functions
outside the program (custom calls) without their content. Those of JAX are fixed by its version. A callback to Python
and an FFI target of a user are host code: two programs with one text may compute different numbers.
"""

import hashlib
import re
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from jaxbandits.base.digests import digest

# Names of the external functions of JAX and XLA; one with "callback" in its name is none of these.
_OF_JAX = re.compile(
    r"lapack_[sdcz][a-z]{3,6}\d?(_ffi)?|(cu|hip)_(threefry2x32|lu_pivots_to_permutation)(_ffi)?|"
    r"(cu|hip|roc)(solver|blas|sparse)_[a-z0-9_]+|__(cublas|cudnn|gpu)\$.*|(mhlo|stablehlo|chlo)\..*|"
    r"Sharding|SPMDFullToShardShape|SPMDShardToFullShape|annotate_device_placement"
)
_CALL = re.compile(r'\bcustom_call\b(?: @?"?([^\s("]+))?(.*)')  # of StableHLO; written otherwise, the name is empty
_NO_RESULT = re.compile(r"-> (\(\)|!stablehlo\.token|\((!stablehlo\.token(, )?)*\))\s*(loc\(.*)?$")


class ProgramIdentity(NamedTuple):
    """Identity of a lowered program."""

    digest: str  # of its text and of the options of its compilation
    targets: frozenset[str]  # names of the external functions that it calls
    host_code: tuple[str, ...]  # those, in words, whose content no digest covers and whose results it uses

    @property
    def calls_python(self) -> bool:
        """True where calling the program runs Python code of its process, if only to print."""
        return any(map(_is_callback, self.targets))


def identify(lowered: Any, options: Mapping[str, Any]) -> ProgramIdentity:
    """Return the identity of a lowered program.

    Args:
      lowered: `jax.stages.Lowered`.
      options: options of its compilation.
    """
    text = lowered.as_text()
    calls = list(_custom_calls(text))
    host_code = {_in_words(name) for name, has_results in calls if has_results and not _is_of_jax(name)}
    return ProgramIdentity(
        digest=digest([hashlib.sha256(text.encode()).hexdigest(), dict(options)]),
        targets=frozenset(name for name, _ in calls),
        host_code=tuple(sorted(host_code)),
    )


def _custom_calls(text: str) -> Iterator[tuple[str, bool]]:
    """Yield the name of each external function that a text calls, and whether the program uses its results."""
    for line in text.splitlines():
        if (found := _CALL.search(line)) is not None:
            yield found[1] or "", _NO_RESULT.search(found[2]) is None


def _is_callback(name: str) -> bool:
    return "callback" in name


def _is_of_jax(name: str) -> bool:
    return _OF_JAX.fullmatch(name) is not None and not _is_callback(name)


def _in_words(name: str) -> str:
    return "a callback to Python" if _is_callback(name) else f"the external function {name!r}"
