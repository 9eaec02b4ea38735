"""No bad input is accepted in silence or answered by a traceback: generated cases (`tests/system/generated_inputs.py`).

The quick suite takes a sample of the cases, another one for each seed; the slow one all of them, more than 10,000.
"""

import os

import numpy as np
import pytest

from tests.system import generated_inputs

SAMPLE = 250
OFFSET = int(os.environ.get("JAXBANDITS_SEED_OFFSET", "0"))


def doors(directory):
    return [*generated_inputs.field_doors(), *generated_inputs.preset_doors(), *generated_inputs.run_doors(directory)]


def wrong(cases):
    return [str(found) for door, value in cases if (found := generated_inputs.answer(door, value)) is not None]


@pytest.mark.filterwarnings("ignore")
def test_a_sample_of_bad_inputs_is_told_in_a_line_that_names_the_parameter(tmp_path):
    every = [(door, value) for door in doors(tmp_path) for value in generated_inputs.VALUES]
    assert len(every) > 10_000
    rng = np.random.default_rng(OFFSET)
    assert wrong(every[i] for i in rng.choice(len(every), SAMPLE, replace=False)) == []


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_every_bad_input_is_told_in_a_line_that_names_the_parameter(tmp_path):
    assert wrong((door, value) for door in doors(tmp_path) for value in generated_inputs.VALUES) == []


@pytest.mark.filterwarnings("ignore")
def test_every_bad_table_of_data_is_told_in_a_line():
    assert wrong((door, value) for door in generated_inputs.data_doors() for value in generated_inputs.VALUES) == []


def test_the_table_finds_what_is_wrong():
    """A door that takes everything, one that raises what it likes, one that names another parameter."""

    def refuse(error):
        def call(value):
            raise error

        return call

    whole = generated_inputs.whole("[1, 3]")
    for call, answer in (
        (lambda value: value, "accepted in silence"),
        (refuse(KeyError("x")), "KeyError"),
        (refuse(generated_inputs.InputError("other must be")), "another parameter"),
        (refuse(generated_inputs.InputError("size\nmust be")), "more than a line"),
    ):
        found = generated_inputs.answer(generated_inputs.Door("f.size", call, whole, ("size",)), "fraction")
        assert found is not None and answer in found.answer
        assert (
            generated_inputs.answer(generated_inputs.Door("f.size", call, lambda value: True, ("size",)), "fraction")
            is None
        )
