"""Calls by measured rate, which an interrupt waits for; values have room from the start."""

import os
import signal
import types

import numpy as np
import pytest

from jaxbandits.base.errors import InputError
from jaxbandits.engine import driver
from jaxbandits.programs.compilation import RateEstimator
from jaxbandits.simulation import compare, simulate
from tests.toy_problems import Noisy, Shrink, Slow


def test_the_first_call_is_short_and_later_ones_follow_the_measured_rate():
    rate = RateEstimator()
    assert rate.rounds_in(0.2, None) == 1
    rate.update(0.001, 1, 0.2)  # mostly cost of the call
    assert rate.rounds_in(0.2, 1) == 8  # grows step by step: early rounds may be cheap
    rate.update(0.001, 8, 0.2)
    assert rate.rounds_in(0.2, 8) == 64
    rate.update(0.2, 200_000, 0.2)
    assert rate.rounds_in(0.2, 150_000) == 200_000
    assert rate.rounds_in(0.2, None) == 200_000  # the next batch, or the next run, starts from it
    rate.update(0.001, 3, 0.2)  # the last rounds before a horizon say little about the rate
    assert rate.rounds_in(0.2, None) == 200_000
    rate.update(3.0, 150_000, 0.2)  # it became slower
    assert rate.rounds_in(0.2, 150_000) == 10_000
    rate.update(5.0, 1, 0.2)
    assert rate.rounds_in(0.2, 1) == 1


def test_the_rate_of_a_program_outlives_a_run(monkeypatch):
    seen = []
    original = RateEstimator.rounds_in
    monkeypatch.setattr(RateEstimator, "rounds_in", lambda *args: seen.append(original(*args)) or seen[-1])
    settings = {"progress": False, "width": 32, "record_points": 1, "workers": 1}
    simulate(Slow(work=7), Noisy(), 20_000, 32, **settings)
    first, seen[:] = seen[:], []
    simulate(Slow(work=7), Noisy(), 20_000, 32, **settings)
    assert first[0] == 1 and first[1] <= 8 and seen[0] > first[1]  # 8 unless the machine is busy


@pytest.mark.parametrize("seconds_per_round", [1e-4, 1.0])
def test_calls_have_as_many_rounds_as_fit_into_their_time(monkeypatch, seconds_per_round):
    """By a clock that only rounds move, and for which each takes four times as long from round 2000 on."""
    clock, calls = [0.0], []
    original = driver.play_call

    def play_call(*arguments):
        begin = arguments[5]
        carry, end = original(*arguments)
        cost = seconds_per_round * (4.0 if begin >= 2000 else 1.0)
        clock[0] += cost * (end - begin)
        calls.append((begin, end - begin))
        return carry, end

    monkeypatch.setattr(driver, "play_call", play_call)
    monkeypatch.setattr(driver, "time", types.SimpleNamespace(perf_counter=lambda: clock[0]))
    simulate(
        Slow(work=3), Noisy(), 4000, 32, progress=False, width=32, record_points=1, workers=1, seconds_per_call=0.02
    )
    for first, last, cost in ((1000, 2000, 1.0), (3000, 3900, 4.0)):
        rounds = [n for begin, n in calls if first <= begin < last]
        expected = max(1, round(0.02 / (cost * seconds_per_round)))
        assert rounds and all(abs(n - expected) <= 1 for n in rounds), rounds


def test_an_interrupt_is_answered_after_the_calls_that_run(monkeypatch):
    """No worker begins another call, except one that is just about to."""
    runs, calls = [], []
    original, init = driver.play_call, driver._Run.__init__

    def init_run(run, *arguments):
        runs.append(run)
        init(run, *arguments)

    def play_call(*arguments):
        calls.append(runs[0].stop.is_set())
        if len(calls) == 5:
            os.kill(os.getpid(), signal.SIGINT)
            assert runs[0].stop.wait(60.0)
        return original(*arguments)

    monkeypatch.setattr(driver._Run, "__init__", init_run)
    monkeypatch.setattr(driver, "play_call", play_call)
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # what runs in the background ignores it
    try:
        with pytest.raises(KeyboardInterrupt):
            simulate(Slow(work=20), Noisy(), 10**6, 64, progress=False, width=32, record_points=1, workers=2)
    finally:
        signal.signal(signal.SIGINT, before)
    assert sum(calls) <= 1


def test_the_bar_names_the_labels_that_run_and_a_resume(tmp_path, capsys):
    settings = {"width": 32, "workers": 1, "seconds_per_call": 1e-6, "checkpoint": tmp_path, "title": "panel"}
    learners = {"first": Shrink(), "second": Shrink(rate=0.25)}
    compare(learners, Noisy(), 10, 32, **settings)
    shown = capsys.readouterr().err
    assert "panel: compiling 2 programs" in shown and "panel: simulating first, second" in shown
    assert "resuming" not in shown and shown.count("\n") == 3
    again = compare(learners, Noisy(), 10, 32, **settings)
    assert f"panel: resuming from {tmp_path}" in capsys.readouterr().err
    assert again["first"].timing["rounds"] == 0 and again["first"].timing["ns_per_round"][0] > 0.0  # as it took before
    compare(learners, Noisy(), 10, 32, **settings, progress=False)
    assert capsys.readouterr().err == ""
    with pytest.raises(InputError, match="title must be text, got 3"):
        compare(learners, Noisy(), 10, 32, title=3)


def test_memory_of_block_values_is_reserved_once(monkeypatch):
    made = []
    original = np.empty
    monkeypatch.setattr(driver.np, "empty", lambda shape, *a, **k: made.append(shape) or original(shape, *a, **k))
    simulate(Shrink(), Noisy(), 300, 5, progress=False, width=32, record_points=300, seconds_per_call=1e-9)
    assert (
        len([shape for shape in made if isinstance(shape, tuple) and shape[:1] == (300,)]) == 5
    )  # loss, played, offset, newest, healthy
