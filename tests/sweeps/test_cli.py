"""`jaxbandits sweep`, `status` and `export`: output, exit codes, one line for every mistake."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from jaxbandits.cli import main
from jaxbandits.engine import driver
from jaxbandits.sweeps import file
from jaxbandits.sweeps.load import load_sweep
from jaxbandits.sweeps.sweep import plan_sweep
from tests.results import factories
from tests.sweeps.toy_sweeps import FILE

ROOT = Path(__file__).parents[2]
SMALL = ("--set", "alg.dim=2", "--set", "env.dim=2")


@pytest.fixture
def path(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "mine.toml"
    path.write_text(FILE)
    return str(path)


@pytest.mark.slow
def test_sweep_status_export(path, capsys):
    assert main(["sweep", path, "--dry-run", "--quiet", *SMALL]) == 0
    said = capsys.readouterr().out
    assert "8 trials, 160 rounds\n1 program, 1 part" in said and "expected time" in said
    assert not Path("results").exists()
    for _ in range(2):
        assert main(["sweep", path, "--quiet", *SMALL, "--set", "part_trials=4", "--shard", "1/1"]) == 0
        assert "results/mine: 2 of 2 parts done" in capsys.readouterr().out
    assert main(["status", "results/mine"]) == 0
    assert "8 of 8 trials, 100 % of the rounds" in capsys.readouterr().out
    assert main(["status", "results/mine", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["parts"]["done"] == 2
    assert main(["export", "results/mine", "--final"]) == 0
    assert "results/mine.csv" in capsys.readouterr().out
    assert len(Path("results/mine.csv").read_text().splitlines()) == 1 + 8
    for name in ("mine.parquet", "mine.nc"):
        assert main(["export", "results/mine", "--final", "--out", name]) == 0
    assert pytest.importorskip("polars").read_parquet("mine.parquet").height == 8
    assert main(["analyse", "results/mine"]) == 0
    assert "pairs" in capsys.readouterr().out
    assert main(["sweep", path, "--quiet"]) == 2  # other dimensions: another sweep
    message = capsys.readouterr().err
    assert "holds another sweep: environments" in message or "holds another sweep: algorithms.oful.dim" in message
    assert message.count("\n") == 1 and not load_sweep("results/mine").missing


def test_export_of_the_directory_one_is_in(path, tmp_path, capsys, monkeypatch):
    assert main(["sweep", path, *SMALL, "--quiet", "--out", "made"]) == 0
    monkeypatch.chdir(tmp_path / "made")
    assert main(["export", "."]) == 0
    assert (tmp_path / "made.csv").exists()


def test_merge(path, capsys):
    for i in ("1", "2"):
        shard = ["--set", "part_trials=4", "--shard", f"{i}/2", "--out", f"of-{i}"]
        assert main(["sweep", path, "--quiet", *SMALL, *shard]) == 0
    assert main(["merge", "of-1", "-o", "all"]) == 1  # half of it
    assert main(["merge", "of-1", "of-2", "-o", "all"]) == 0
    assert "all: 2 of 2 parts done" in capsys.readouterr().out
    factories.result().save("one.npz")
    assert main(["merge", "one.npz", "one.npz", "--out", "both.npz"]) == 0
    assert "both.npz" in capsys.readouterr().out and Path("both.npz").stat().st_size
    for wrong, message in (
        (["of-1", "one.npz"], "got the directory of-1 and the file one.npz"),
        (["of-1", "of-3"], "got the directory of-1 and the path (which does not exist) of-3"),
        (["none"], "no such file"),
        (["results"], ""),
    ):
        assert main(["merge", *wrong, "-o", "there"]) == 2
        assert message in capsys.readouterr().err


def test_a_failed_part_is_exit_code_1(path, capsys, monkeypatch):
    def failing(plan, **settings):
        raise MemoryError("not enough")

    monkeypatch.setattr(driver, "run", failing)
    assert main(["sweep", path, "--quiet", *SMALL, "--out", "there"]) == 1
    said = capsys.readouterr()
    assert "1 failed" in said.out and "MemoryError('not enough')" in said.out and "Traceback" not in said.err
    assert main(["sweep", path, "--quiet", *SMALL, "--out", "there", "--retry-failed", "--fail-fast"]) == 1
    assert main(["sweep", path, "--quiet", *SMALL, "--out", "there", "--shard", "2/2"]) == 0  # of which it has no part


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["sweep", "none.toml"], "no such file"),
        (["sweep", "mine.toml", "--set", "seeds=many"], "mine.toml: seeds must be a whole number"),
        (["sweep", "mine.toml", "--workers", "0"], "workers must be a whole number"),
        (["status", "none"], "none holds no sweep"),
        (["export", "none"], "none holds no sweep"),
    ],
)
def test_mistakes(path, capsys, arguments, message):
    assert main(arguments) == 2
    said = capsys.readouterr().err
    assert message in said and said.startswith("jaxbandits: ") and said.count("\n") == 1


@pytest.mark.parametrize("shard", ["0/2", "3/2", "2", "a/b"])
def test_a_shard_is_one_of_several(path, capsys, shard):
    with pytest.raises(SystemExit):
        main(["sweep", path, "--shard", shard])
    assert "must be I/N" in capsys.readouterr().err


@pytest.mark.system
def test_status_does_not_wait_for_jax(tmp_path):
    code = (
        "import sys, jaxbandits.cli as c; assert c.main(['status', sys.argv[1]]) == 2; assert 'jax' not in sys.modules"
    )
    done = subprocess.run([sys.executable, "-c", code, str(tmp_path)], capture_output=True, text=True, cwd=ROOT)
    assert done.returncode == 0, done.stderr


@pytest.mark.quick_cases("radii")
@pytest.mark.parametrize("path", sorted((ROOT / "benchmarks").glob("**/*.toml")), ids=lambda path: path.stem)
def test_examples_are_sweeps(path):
    document = file.read(path)
    planned = plan_sweep(file.make_sweep(document._replace(content={**document.content, "precision": "float64"})))
    assert planned.parts


def test_the_file_in_the_documentation_is_a_sweep(tmp_path):
    page = (ROOT / "docs" / "sweeps.md").read_text()
    path = tmp_path / "page.toml"
    path.write_text(page.partition("```toml\n")[2].partition("```")[0])
    planned = plan_sweep(file.make_sweep(file.read(path, ["precision=float64"])))
    assert len(planned.jobs) == 2 and len(planned.label_jobs[0].whole.points) == 2 * 5 * 2
