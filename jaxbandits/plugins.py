"""Run a user's Python file that registers algorithms and more, as in `jaxbandits sweep my.toml --plugin my_file.py`."""

import importlib.util
import os
import sys
import threading
from pathlib import Path

from jaxbandits.base import files
from jaxbandits.base.errors import InputError

# `sys.modules` holds a module before its code has run, so other threads (of a Dask worker) must wait for its end.
_loading = threading.RLock()


def load(path: str | os.PathLike[str]) -> None:
    """Run a Python file as a module named after the file; further calls for this file do nothing.

    The file can import other modules from its directory, which is appended to `sys.path`.

    Args:
      path: path of a file that calls `register_algorithm`, `register_environment`, `register_part` or
        `register_experiment`.

    Raises:
      InputError: if the file does not exist, its name does not end in .py, is not a valid module name or is that of
        another module, or its code raises an exception.
    """
    with _loading:
        _load(path)


def _load(path: str | os.PathLike[str]) -> None:
    file = files.path_of(path, "a plugin must be the path of a Python file").resolve()
    if file.suffix != ".py":
        raise InputError(f"plugin {path} must be a Python file, whose name ends in .py")
    if not os.path.isfile(file):
        raise InputError(f"plugin {path} does not exist, or is not a file")
    name = file.stem
    if not name.isidentifier():
        raise InputError(f"plugin {path}: {name!r} is not a valid Python module name; rename the file")
    known = sys.modules.get(name)
    found = importlib.util.find_spec(name) if known is None else known.__spec__
    place = None if found is None or found.origin is None else Path(found.origin).resolve()
    if known is not None and place == file:
        return
    if known is not None or (found is not None and place != file):
        raise InputError(f"plugin {path}: there is another module named {name!r}; rename the file")
    spec = importlib.util.spec_from_file_location(name, file)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # before it runs, as `import` does: its classes are looked up there
    if str(file.parent) not in sys.path:
        sys.path.append(str(file.parent))
    try:
        spec.loader.exec_module(module)
    except (Exception, SystemExit) as error:
        del sys.modules[name]
        raise InputError(f"plugin {path}{_line(error, file)}: {_one_line(error)}") from error


def _line(error: BaseException, file: Path) -> str:
    """Return text such as ", line 3" for the line of the file that failed; "" if unknown."""
    if isinstance(error, SyntaxError):
        return f", line {error.lineno}"
    line, trace = None, error.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == str(file):
            line = trace.tb_lineno
        trace = trace.tb_next
    return "" if line is None else f", line {line}"


def _one_line(error: BaseException) -> str:
    text = " ".join(str(error).split())[:200]
    return text if isinstance(error, InputError) else f"{type(error).__name__}: {text}"
