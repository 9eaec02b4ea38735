"""Wrong values of an argument, and the answer of a call to each."""

import jax
import numpy as np

from jaxbandits import InputError

WRONG = {
    "text": "x",
    "None": None,
    "nan": np.nan,
    "inf": np.inf,
    "-inf": -np.inf,
    "negative": -1.5,
    "zero": 0,
    "fraction": 2.5,
    "huge": 1e308,
    "flag": True,
    "complex": 1j,
    "empty": [],
    "ragged": [[1], [1, 2]],
    "dict": {},
    "object": object(),
    "texts": np.array(["a"]),
    "shape": np.ones((2, 3, 4)),
    "class": int,
    "function": len,
    "tracer": "a traced value, made where it is used",
}
NO_NUMBERS = {"text", "complex", "object", "texts", "class", "function", "tracer"}


def outcome(call, wrong):
    """Return None if the call accepts the value, otherwise its message, which is one short line."""
    try:
        if wrong == "tracer":
            jax.eval_shape(lambda traced: call(traced), 1.0)
        else:
            call(WRONG[wrong])
    except InputError as error:
        text = str(error)
        assert "\n" not in text and len(text) < 300, text
        return text
    return None
