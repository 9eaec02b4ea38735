"""All names of `jax.core`, `jax.extend`, `jax.interpreters` and `jax.experimental` that this package uses.

No other file imports these modules, so that only this one changes when a release of JAX moves a name. The simulator
needs the names imported at the top. Serialised executables and JAX's compilation cache only save time: where they are
missing, there is one warning and every process compiles its programs.
"""

import functools
import warnings
from typing import Any

from jax.core import eval_jaxpr as eval_jaxpr
from jax.extend.core import Primitive as Primitive
from jax.extend.core import jaxpr_as_fun as jaxpr_as_fun
from jax.interpreters import ad as ad
from jax.interpreters import batching as batching
from jax.interpreters import mlir as mlir


def open_jaxpr(closed: Any) -> tuple[Any, list[Any]]:
    """Return a jaxpr and the values of its constants, which JAX keeps in two objects before 0.12, in one since."""
    return getattr(closed, "jaxpr", closed), list(getattr(closed, "consts", ()))


@functools.cache
def executables() -> Any:
    """Return the module that serialises compiled programs, None if this version of JAX has none."""
    try:
        from jax.experimental import serialize_executable

        return serialize_executable
    except ImportError:
        _warn("serialize compiled programs: every process compiles its own")
        return None


def reset_cache() -> None:
    """Make JAX read the directory of its compilation cache again, which it otherwise does once in a process."""
    try:
        from jax.experimental.compilation_cache import compilation_cache

        compilation_cache.reset_cache()
    except (ImportError, AttributeError):
        _warn("reset the compilation cache: it may stay off")


def _warn(what: str) -> None:
    warnings.warn(f"this version of JAX cannot {what}", RuntimeWarning, stacklevel=3)
