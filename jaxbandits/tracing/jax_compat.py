"""Everything that is taken from inside JAX: `jax.core`, `jax.extend`, `jax.interpreters`, `jax.experimental`.

No other file imports these modules, so that a release of JAX which moves a name is met here. The simulator needs the
names that are imported below. Executables on disk and JAX's own cache only save time: without them there is one
warning, and programs are compiled anew.
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
    """Return a jaxpr and the values of its constants, whether JAX keeps them in one object or in two (before 0.12)."""
    return getattr(closed, "jaxpr", closed), list(getattr(closed, "consts", ()))


@functools.cache
def executables() -> Any:
    """Return the module that writes compiled programs to bytes, None where this JAX has none."""
    try:
        from jax.experimental import serialize_executable

        return serialize_executable
    except ImportError:
        _warn("serialize compiled programs: every process compiles its own")
        return None


def reset_cache() -> None:
    """Have JAX look for the directory of its compilation cache again; it does so once a process."""
    try:
        from jax.experimental.compilation_cache import compilation_cache

        compilation_cache.reset_cache()
    except (ImportError, AttributeError):
        _warn("reset the compilation cache: it may stay off")


def _warn(what: str) -> None:
    warnings.warn(f"this version of JAX cannot {what}", RuntimeWarning, stacklevel=3)
