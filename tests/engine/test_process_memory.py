"""Memory of a process between different problems."""

import ctypes

import numpy as np

from jaxbandits.engine import process_memory
from jaxbandits.programs import compilation
from jaxbandits.simulation import simulate
from tests.toy_problems import Noisy, Shrink


def test_a_released_process_has_no_programs_and_plays_the_same(monkeypatch):
    def play():
        return simulate(Shrink(), Noisy(), 20, 4, progress=False).final("loss")

    first = play()
    assert compilation.compiled_count() > 0
    process_memory.release()
    assert compilation.compiled_count() == 0
    np.testing.assert_array_equal(play(), first)
    monkeypatch.setattr(ctypes, "CDLL", lambda name: object())  # a C library without `malloc_trim`
    process_memory.release()
    assert compilation.compiled_count() == 0
