"""What exceeds memory is refused in one line, by arithmetic, before it is tried."""

import pytest

from jaxbandits import OFUL, Grid, HeavyTailed, Sweep, run_sweep
from jaxbandits.base import memory
from jaxbandits.base.errors import InputError
from jaxbandits.operators import with_delay
from jaxbandits.simulation import simulate
from tests.toy_problems import Noisy, Shrink

QUIET = {"progress": False}
ENV = HeavyTailed(dim=2, n_arms=3)


@pytest.fixture
def free(monkeypatch):
    monkeypatch.setattr(memory, "available_bytes", lambda: 10**8)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: simulate(OFUL(dim=2), with_delay(ENV, 10**9), 10**9, 2, width=1, workers=2, **QUIET),
            r"OFUL: 2 trials at a time with delayed feedback would take \d+ GB .* choose a shorter delay",
        ),
        (lambda: simulate(Shrink(), Noisy(), 10**9, 2, record_points=10**9, **QUIET), "1,000,000,000 record points"),
        (lambda: simulate(Shrink(), Noisy(), 10**9, 2, record_points=("log", 10**9), **QUIET), "record points would"),
        (lambda: simulate(Shrink(), Noisy(), 100, 2 * 10**9, record_points=1, **QUIET), "results of 2,000,000,000 tr"),
        (
            lambda: simulate(Shrink(), Noisy(), 10**6, 100, record_points=10**5, width=32, **QUIET),
            "the results of 100 trials of Shrink would take 400 MB of memory, but only 100 MB are free: request fewer",
        ),
    ],
    ids=["delay", "points", "log", "seeds", "metrics"],
)
def test_a_run_that_does_not_fit_is_refused(call, message, free):
    with pytest.raises(InputError, match=message) as error:
        call()
    assert "\n" not in str(error.value)


def test_a_sweep_that_does_not_fit_writes_nothing(free, tmp_path):
    learners = [Grid(OFUL(dim=2), {"ridge": [0.1, 1.0]})]
    sweep = Sweep(algorithms=learners, environment=with_delay(ENV, 10**9), horizon=10, seeds=2)
    with pytest.raises(InputError, match="choose a shorter delay"):
        run_sweep(sweep, tmp_path / "sweep", progress=False)
    assert not (tmp_path / "sweep").exists()


def test_what_is_free_is_known_and_limits_of_groups_count(tmp_path):
    assert memory.available_bytes() is None or 10**6 < memory.available_bytes() < 10**15
    assert memory._of_group(tmp_path) is None
    for name, text in {"max": "1000", "current": "800", "stat": "anon 700\ninactive_file 50\n"}.items():
        (tmp_path / f"memory.{name}").write_text(text)
    assert memory._of_group(tmp_path) == 250
    (tmp_path / "memory.max").write_text("max\n")
    assert memory._of_group(tmp_path) is None
