"""Identity of a program: a digest of its lowered text, and a description of the host code that no digest covers.

The text contains all operations, constants and shapes, wherever their source code is. Functions outside the program
(custom calls) appear by name only. The version of JAX determines the custom calls of JAX itself. Callbacks to Python
and FFI targets of a user are host code: two programs with the same text may compute different numbers with them.
"""

import hashlib
import re
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from jaxbandits.base.digests import digest

# Names of the external functions of JAX and XLA, except those with "callback" in their name.
_OF_JAX = re.compile(
    r"lapack_[sdcz][a-z]{3,6}\d?(_ffi)?|(cu|hip)_(threefry2x32|lu_pivots_to_permutation)(_ffi)?|"
    r"(cu|hip|roc)(solver|blas|sparse)_[a-z0-9_]+|__(cublas|cudnn|gpu)\$.*|(mhlo|stablehlo|chlo)\..*|"
    r"Sharding|SPMDFullToShardShape|SPMDShardToFullShape|annotate_device_placement"
)
# StableHLO syntax; the name is empty in any other syntax.
_CALL = re.compile(r'\bcustom_call\b(?: @?"?([^\s("]+))?(.*)')
_NO_RESULT = re.compile(r"-> (\(\)|!stablehlo\.token|\((!stablehlo\.token(, )?)*\))\s*(loc\(.*)?$")


class ProgramIdentity(NamedTuple):
    """Identity of a lowered program."""

    digest: str  # digest of its text and its compilation options
    targets: frozenset[str]  # names of the external functions that it calls
    host_code: tuple[str, ...]  # descriptions of functions whose results it uses and whose content no digest covers

    @property
    def calls_python(self) -> bool:
        """True if calling the program runs Python code of its process, for example to print."""
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
