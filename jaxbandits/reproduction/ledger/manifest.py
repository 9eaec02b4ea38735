"""The manifest of a finished run, read and checked: what the ledger, the page and a repeated command rest on."""

import json
from pathlib import Path
from typing import Any

from jaxbandits.base.errors import InputError
from jaxbandits.base.forms import JsonObject, misfit
from jaxbandits.reproduction.ledger import rows

MANIFEST = "manifest.json"

_NUMBER = (float, None)
_REQUEST = {"seeds?": int, "seed?": int, "first seed?": int, "horizon?": int, "preset?": str, "without?": [str]}
FORM = {
    "experiment": str,
    "preset": str,
    "horizon": int,
    "presets": {str: str},
    "claims": [rows.FORM],
    "stand_ins": {str: str},
    "declared": {"horizon": int, "seeds": int, "float64?": bool},
    "request": (_REQUEST, None),
    "title": str,
    "reading?": str,
    "source": str,
    "notes": [str],
    "real_data": [str],
    "headline": (str, None),
    "method?": (str, None),
    "commit": (str, None),
    "wall_s?": _NUMBER,
    "judged before?": str,
    "panels?": dict,
    "files": [str],
    "times?": [{"panel": str, "text": str}],
    "chosen?": dict,
    "edges?": dict,
    "versions?": dict,
}


def read(path: Path, remedy: str = "run it anew", form: object = FORM) -> JsonObject:
    """Read the manifest of a finished run.

    Args:
      path: of the file.
      remedy: what an error message says to do.
      form: of what is read of it (`base.forms`).

    Raises:
      FileNotFoundError: if there is no such file.
      InputError: one line that names the file and the first field that is not as it was written; for a sweep too.
    """
    manifest = load(path, remedy)
    if is_of_a_sweep(manifest):
        raise InputError(f"{path.parent} holds a sweep, not a finished run")
    if (wrong := misfit(manifest, form)) is not None:
        raise InputError(f"{path} is no manifest of this version ({wrong}): {remedy}")
    return manifest


def load(path: Path, remedy: str = "run it anew") -> Any:
    """Read the JSON of a manifest of any kind; arguments as for `read`.

    Raises:
      FileNotFoundError: if there is no such file.
      InputError: if it is no JSON, or nested too deep to be a manifest.
    """
    try:
        return json.loads(path.read_bytes())
    except FileNotFoundError:
        raise
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror or error}") from None
    except (ValueError, RecursionError) as error:
        what = "nested too deep" if isinstance(error, RecursionError) else "not JSON"
        raise InputError(f"{path} is damaged ({what}): {remedy}") from None


def is_of_a_sweep(manifest: object) -> bool:
    """Return whether a manifest is that of a sweep, which is written with a checksum around it and says its format."""
    content = manifest.get("content") if isinstance(manifest, dict) else None
    return isinstance(content, dict) and "format" in content
