"""Progress of a run: lines where nobody watches, a bar on a terminal."""

import io
import sys

import pytest

from jaxbandits.engine import progress
from jaxbandits.engine.progress import ProgressBar


class Terminal(io.StringIO):
    def isatty(self):
        return True


def play():
    with ProgressBar(1_000_000, "rounds", "panel (2 of 3)", True, scale=True) as bar:
        bar.print_note("resuming from here")
        bar.begin_stage("compiling 2 programs")
        bar.describe("compiling, 1 of 2 programs done")
        bar.refresh()
        bar.begin_stage("simulating A, B")
        bar.update(400_000, computed=False)
        bar.describe("A")
        bar.update(600_000)


def test_a_line_per_stage_where_nobody_watches(capsys, monkeypatch):
    moments = iter([0.0, 0.5, 1.0, 1.0, 2.0])  # the beginning, two stages, two updates; then the end
    monkeypatch.setattr(progress.time, "perf_counter", lambda: next(moments, 2.0))
    play()
    assert capsys.readouterr().err.splitlines() == [
        "panel (2 of 3): resuming from here",
        "panel (2 of 3): compiling 2 programs",
        "panel (2 of 3): simulating A, B",
        "panel (2 of 3): 1,000,000 rounds in 2.0 s, 300k rounds/s",  # those found done took no time
    ]


def test_a_line_every_half_minute_with_the_time_left(capsys, monkeypatch):
    now = 0.0
    monkeypatch.setattr(progress.time, "perf_counter", lambda: now)
    with ProgressBar(1000, "rounds", "part", True, stages=False) as bar:
        now = 20.0
        bar.begin_stage("simulating")  # compilation took 20 s, which tell nothing about the rest
        bar.update(200, computed=False)
        for now, n in ((29.0, 50), (40.0, 50), (69.0, 100), (71.0, 100), (120.0, 300), (200.0, 200)):  # noqa: B007
            bar.update(n)
    assert capsys.readouterr().err.splitlines() == [
        "part: 30 % of 1,000 rounds, 2:20 left",  # 100 of its own in 20 s, 700 to go
        "part: 50 % of 1,000 rounds, 1:25 left",
        "part: 80 % of 1,000 rounds, 0:33 left",
        "part: 1,000 rounds in 200.0 s, 4 rounds/s",
    ]


@pytest.mark.parametrize(("took", "lines"), [(29.0, 0), (90.0, 2)])
def test_a_brief_run_leaves_nothing(took, lines, capsys, monkeypatch):
    now = 0.0
    monkeypatch.setattr(progress.time, "perf_counter", lambda: now)
    with ProgressBar(100, "rounds", "race", True, brief=True) as bar:
        bar.begin_stage("simulating")
        now = took
        bar.update(50)
        bar.update(50)
    assert len(capsys.readouterr().err.splitlines()) == lines


def test_one_is_no_plural(capsys):
    with ProgressBar(1, "shards", "", True) as bar:
        bar.update(1)
    assert capsys.readouterr().err.startswith("1 shard in ")


def test_times_are_short():
    assert [progress._format_time(s) for s in (0.2, 7.4, 750, 11_100)] == ["0:00", "0:07", "12:30", "3 h 05 min"]


def test_a_line_at_the_end_only(capsys):
    """As for the parts of a sweep, of which there may be thousands."""
    with ProgressBar(3, "rounds", "part 1 of 9", True, stages=False) as bar:
        bar.begin_stage("compiling")
        bar.update(3)
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("part 1 of 9: 3 rounds in ")


def test_a_bar_that_moves_where_somebody_does(monkeypatch):
    monkeypatch.setattr(sys, "stderr", screen := Terminal())
    play()
    shown = screen.getvalue()
    assert "\r" in shown and "panel (2 of 3): resuming from here\n" in shown
    for stage in ("compiling 2 programs:", "compiling, 1 of 2 programs done:", "simulating A, B:", "A: 100%"):
        assert f"panel (2 of 3): {stage}" in shown


def test_nothing_is_said_unasked(capsys, monkeypatch):
    monkeypatch.setattr(sys, "stderr", Terminal())
    with ProgressBar(3, "rounds", "", False) as bar:
        bar.print_note("resuming")
        bar.begin_stage("compiling")
        bar.refresh()
        bar.update(3)
    assert sys.stderr.getvalue() == capsys.readouterr().err == ""


def test_a_notebook_without_widgets_gets_lines(capsys, monkeypatch):
    """A bar of text would leave a red line there at every update."""
    monkeypatch.setitem(sys.modules, "ipykernel", io)
    monkeypatch.setitem(sys.modules, "ipywidgets", None)  # not installed
    assert not progress.is_interactive()
    play()
    assert "\r" not in capsys.readouterr().err
    monkeypatch.setitem(sys.modules, "ipywidgets", io)
    monkeypatch.setattr(progress.importlib.util, "find_spec", lambda name: sys.modules[name])
    assert progress.is_interactive()
