"""Read and check the manifests of finished runs, on which the ledger, its pages and repeated commands rely."""

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


def read(path: Path, remedy: str = "run the experiment again", form: object = FORM) -> JsonObject:
    """Read the manifest of a finished run.

    Args:
      path: path of the file.
      remedy: advice at the end of error messages.
      form: expected form of the fields, as for `base.forms.misfit`.

    Raises:
      FileNotFoundError: if there is no such file.
      InputError: if the manifest belongs to a sweep, or if a field is invalid; the message is one line with the file
        and the first invalid field.
    """
    manifest = load(path, remedy)
    if is_of_a_sweep(manifest):
        raise InputError(f"{path.parent} holds a sweep, not a finished run")
    if (wrong := misfit(manifest, form)) is not None:
        raise InputError(f"{path} does not have the manifest format of this version of jaxbandits ({wrong}): {remedy}")
    return manifest


def load(path: Path, remedy: str = "run the experiment again") -> Any:
    """Read the JSON of a manifest, of a run or of a sweep, without a check of its fields; arguments as for `read`.

    Raises:
      FileNotFoundError: if there is no such file.
      InputError: if the file cannot be read, is not JSON, or is too deeply nested for a manifest.
    """
    try:
        return json.loads(path.read_bytes())
    except FileNotFoundError:
        raise
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror or error}") from None
    except (ValueError, RecursionError) as error:
        what = "nested too deeply" if isinstance(error, RecursionError) else "not JSON"
        raise InputError(f"{path} is damaged ({what}): {remedy}") from None


def is_of_a_sweep(manifest: object) -> bool:
    """Return True if a manifest belongs to a sweep, that is, if it has an entry "content" that names a format."""
    content = manifest.get("content") if isinstance(manifest, dict) else None
    return isinstance(content, dict) and "format" in content
