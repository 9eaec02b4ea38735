"""Mistakes that are easily made: one clear line each, and nothing that was computed is lost."""

import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from jaxbandits import OFUL, Grid, HeavyTailed, InputError, Sweep, compare, plugins, pytree, simulate, to_spec
from jaxbandits.base.pytree import param
from jaxbandits.cli import main
from jaxbandits.coco import OFWTVC, LinearConstraints
from jaxbandits.commands import report
from jaxbandits.domains import Box
from jaxbandits.dro import Groups, adult_like
from jaxbandits.oco import OGD
from jaxbandits.operators import with_batches, with_delay, with_noise
from jaxbandits.results.result import Result
from jaxbandits.simulation.stopping import StoppingRule
from jaxbandits.sweeps.load import load_sweep
from jaxbandits.sweeps.run import run_sweep
from jaxbandits.testing import check_algorithm
from tests.polling import wait_until
from tests.results import factories

ROOT = Path(__file__).parents[2]
ENV = HeavyTailed(dim=2, n_arms=3)
SWEEP = {"algorithms": [OFUL(dim=2)], "environment": ENV, "horizon": 5, "seeds": 2}
RESULT = factories.result()
GRID = {"x": Grid(OFUL(dim=2), {"ridge": [b"1"]})}


def learner_with_range(text):
    class Learner:
        rate: float = param(1.0, text, "a rate")

    Learner.__annotations__ = {"rate": float}
    return pytree(Learner)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: run_sweep(Sweep(**SWEEP, source=5), "x"), "source must be text, got 5"),
        (lambda: run_sweep(Sweep(**SWEEP, file=5), "x"), "file must be the content of a sweep file, got 5"),
        (lambda: RESULT.time_to("regret", 1.0, above="x"), "above must be True or False, got 'x'"),
        (lambda: RESULT.only({}), "`only` needs a mapping from labels to points, got {}"),
        (lambda: RESULT.only(None), "`only` needs a mapping from labels to points, got None"),
        (lambda: RESULT.only({"swept": [0, 0]}), "the positions in points must be different"),
        (lambda: RESULT.contrast("swept", "swept", x="rate", y="rate"), "x and y must be two fields, got 'rate' twice"),
        (lambda: compare([OFUL(dim=2)], ENV, 5, 1, until="decided"), "there must be between 2 and"),
        (lambda: compare({"a": OFUL(dim=2), "b": OFUL(dim=2)}, ENV, 5, 1, until="decided"), "seeds of a group must be"),
        (lambda: StoppingRule(margin=[0.1]), "margin must be one number"),
        (lambda: StoppingRule(metric=3), "metric must be the name of a metric, or None for the first, got 3"),
        (lambda: simulate(OFUL(dim=2), ENV, 5, 2.0), "got 2.0; write 2"),
        (lambda: simulate(OFUL(dim=2), ENV, 5.0, 2), "got 5.0; write 5"),
        (lambda: simulate(OFUL(dim=2), ENV, 5, 2, record_points=[1.5, 2.5]), "record_points must be whole numbers of"),
        (lambda: simulate(OFUL(dim=2), ENV, 5, 2, record_points=[1.0, 2.0]), "record_points must be whole numbers of"),
        (lambda: simulate(OFUL(dim=2), ENV, 5, 2, record_points=("log", True)), 'record_points=("log", n) needs'),
        (
            lambda: simulate(OFUL(dim=2), with_batches(ENV, 10**9), 5, 2, progress=False),
            "free: choose smaller batches",
        ),
        (
            lambda: simulate(OFUL(dim=2), with_delay(ENV, 10**9), 5, 2, progress=False),
            "free: choose a shorter delay",
        ),
        (lambda: simulate(OFUL(dim=2), with_batches(ENV, 2**31), 5, 2), "Batched.rounds must lie in"),
        (
            lambda: simulate(OFUL(dim=2, ridge=np.ma.masked_array([1.0, 2.0], [0, 1])), ENV, 5, 2),
            "OFUL.ridge must be a",
        ),
        (lambda: simulate(OFUL(dim=2, ridge=np.timedelta64(1, "s")), ENV, 5, 2), "OFUL.ridge must be a number"),
        (lambda: simulate(OFUL(dim=2, ridge=np.complex64(1 + 2j)), ENV, 5, 2), "OFUL.ridge must be a number"),
        (lambda: HeavyTailed.from_arms(1j * np.eye(2), np.ones(2)), "arms must be numbers of shape"),
        (lambda: Groups.from_arrays(1j * np.eye(2), [0, 1], [0, 1]), "features must be numbers of shape"),
        (lambda: Groups.from_arrays(np.eye(2), [0, 1], [0, 0]), "a table needs at least two groups, got only '0'"),
        (lambda: to_spec(1j), "a complex number, which a specification cannot hold"),
        (lambda: compare(GRID, ENV, 5, 2), "values of 'ridge' in a grid must be numbers"),
        (
            lambda: simulate(OFWTVC(dim=2, horizon=9, domain=Box(dim=3)), LinearConstraints(dim=2), 9, 2),
            "OFWTVC.domain must have dim=2, got Box(dim=3)",
        ),
        (
            lambda: simulate(OFWTVC(dim=2, horizon=9), LinearConstraints(dim=2, domain=Box(dim=3)), 9, 2),
            "LinearConstraints.domain must have dim=2, got Box(dim=3)",
        ),
        (lambda: simulate(OGD(dim=2, domain=Box(dim=3)), ENV, 9, 2), "OGD.domain must have dim=2, got Box(dim=3)"),
        (lambda: adult_like("x"), "scale must be a number in (0, 1], got 'x'"),
        (lambda: pytree(5), "@pytree must decorate a class, got 5"),
        *(
            (lambda text=text: learner_with_range(text), "the range of Learner.rate must be an interval such as")
            for text in ("(0, inf", "[1", "abc", "(2, 1)", 5, "[0; 1]", "[1, 1)")
        ),
        (
            lambda: simulate(OFUL(dim=2), HeavyTailed(dim=2, n_arms=3, noise=OFUL(dim=2)), 5, 2),
            "noise must be a noise law",
        ),
        (lambda: with_noise(ENV, 5), "noise must be a noise law such as Gaussian(), got 5"),
        (lambda: RESULT.save("x" * 300), "File name too long"),
        (lambda: RESULT.to_csv("x" * 300), "File name too long"),
        (lambda: Result.load("x" * 300), "File name too long"),
        (lambda: load_sweep("x" * 300), "xxx holds no sweep"),
        (lambda: plugins.load("x" * 300 + ".py"), "x.py does not exist, or is not a file"),
    ],
)
def test_python(call, message, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError) as error:
        call()
    assert message in str(error.value) and "\n" not in str(error.value)
    assert not list(tmp_path.iterdir())


def test_a_learner_is_checked_on_an_environment_of_another_family():
    with pytest.raises(AssertionError, match="does the environment suit the learner"):
        check_algorithm(OFUL(dim=2), LinearConstraints(dim=2))


@pytest.mark.slow_cases(".")
@pytest.mark.parametrize("label", [".", "..", "a/b", "$x_$", "a$b", "_hidden", "\x1b[2J", "x" * 300])
def test_labels_of_any_spelling_are_drawn_and_kept(label, tmp_path):
    result = compare({label: OFUL(dim=2), "b": OFUL(dim=2)}, ENV, 5, 2, progress=False)
    figure = result.plot().figure
    figure.savefig(tmp_path / "figure.png")
    (legend,) = [ax.get_legend() for ax in figure.axes]
    assert len(legend.get_texts()) == 2
    assert type(result).load(result.save(tmp_path / "result")).labels == (label, "b")
    assert label in result.to_csv(tmp_path / "result.csv").read_text()


@pytest.mark.parametrize("content", ["[]", "null", "5", '"x"'])
def test_a_manifest_that_is_none(content, tmp_path, capsys):
    (tmp_path / "manifest.json").write_text(content)
    assert main(["report", str(tmp_path)]) == 2
    assert "does not have the manifest format of this version" in capsys.readouterr().err


def test_a_report_of_a_path_that_does_not_exist(tmp_path, capsys):
    assert main(["report", str(tmp_path / "nope")]) == 2
    assert f"no such file or directory: {tmp_path / 'nope'}" in capsys.readouterr().err


def test_pages_of_a_report_below_a_file(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(InputError, match="cannot create"):
        report._write_pages([], tmp_path / "file" / "pages", {})


def test_a_type_that_is_no_name(tmp_path, capsys):
    file = tmp_path / "mine.toml"
    file.write_text(
        'horizon = 5\nseeds = 2\n[algorithms.a]\ntype = 5\n[environments.e]\ntype = "linear/heavy_tailed"\ndim = 2\n'
    )
    assert main(["sweep", str(file), "--out", str(tmp_path / "out")]) == 2
    said = capsys.readouterr().err
    assert "algorithms.a: needs a type, such as 'armed/" in said and "got 5" in said and len(said) < 200


def test_a_name_that_is_too_long(tmp_path, capsys):
    assert main(["export", str(tmp_path / ("x" * 300))]) == 2
    said = capsys.readouterr().err
    assert said.endswith("xxx: File name too long\n") and said.count("\n") == 1


def test_a_plugin_that_ends_the_process(tmp_path, capsys):
    plugin = tmp_path / "ends_it.py"
    plugin.write_text("import sys\nsys.exit(3)\n")
    assert main(["list", "--plugin", str(plugin)]) == 2
    assert "ends_it.py, line 2: SystemExit: 3" in capsys.readouterr().err


@pytest.mark.quick_cases("list experiments*")
@pytest.mark.parametrize("where", ["> /dev/full", ">&-"])
@pytest.mark.parametrize("command", ["list experiments", "--help", "--version", "list --help"])
def test_output_that_cannot_be_written(command, where):
    if "/dev/full" in where and not Path("/dev/full").exists():
        pytest.skip("no /dev/full here")
    command = f"{sys.executable} -m jaxbandits.cli {command} {where}"
    done = subprocess.run(["sh", "-c", command], cwd=ROOT, capture_output=True, text=True)
    assert "Traceback" not in done.stderr and done.stderr.count("\n") == (1 if "/dev/full" in where else 0)
    assert done.returncode == (2 if "/dev/full" in where else 0), done.stderr


_COMPILES = """
import os, signal, threading
from jaxbandits import simulate
from jaxbandits.engine import driver
from tests.toy_problems import Noisy, Shrink

ended = threading.Event()

def compile_long(*arguments):
    threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT)).start()
    threading.Event().wait(30.0)
    ended.set()

driver.compile_job = compile_long
try:
    simulate(Shrink(), Noisy(), 10, 2, progress=False)
except KeyboardInterrupt:
    assert not ended.is_set()
    os._exit(7)
"""


def test_an_interrupt_while_programs_are_compiled_is_answered_at_once():
    done = subprocess.run([sys.executable, "-c", _COMPILES], cwd=ROOT, capture_output=True, text=True, timeout=60)
    assert done.returncode == 7, done.stderr


def test_a_run_that_is_terminated_says_how_to_resume(tmp_path):
    """A scheduler sends SIGTERM: the run saves its state, says that it resumes, and ends with 128 + 15."""
    words = ["reproduce", "linear/fig1", "--include", "OFUL", "--seeds", "64", "--horizon", "100000000"]
    command = [sys.executable, "-m", "jaxbandits", *words, "--out", str(tmp_path / "out"), "--save-every", "0.1"]
    run = subprocess.Popen(command, cwd=ROOT, stderr=subprocess.PIPE, text=True)
    assert run.stderr is not None
    try:
        wait_until(lambda: any((tmp_path / "out").rglob("batch-*.npz")))
        run.send_signal(signal.SIGTERM)
        said = run.stderr.read()
        assert run.wait(60) == 128 + signal.SIGTERM
    finally:
        run.kill()
        run.stderr.close()
    assert "stopped; the same command resumes the run from" in said and said.rstrip().endswith("jaxbandits: terminated")
    assert "Traceback" not in said


def test_a_command_that_is_interrupted_ends_at_once():
    """`process` does not wait for threads that compile: this one never ends."""
    code = (
        "import sys, threading\nfrom jaxbandits import cli\n"
        "threading.Thread(target=threading.Event().wait).start()\n"
        "cli.main = lambda: 130\nsys.exit(cli.process())"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, timeout=60)
    assert done.returncode == 128 + signal.SIGINT
