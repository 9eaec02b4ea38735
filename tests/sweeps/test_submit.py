"""`jaxbandits submit`: what SLURM is asked for, and jobs that are killed and queued again by submitit itself."""

import contextlib
import os
import re
import shlex
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from jaxbandits import cli
from jaxbandits.sweeps import submit as submit_lib
from jaxbandits.sweeps.directory import Directory
from jaxbandits.sweeps.submit import ShardJob
from tests.polling import wait_until
from tests.sweeps.test_run import contents
from tests.sweeps.toy_sweeps import FILE

submitit = pytest.importorskip("submitit")

ROOT = Path(__file__).parents[2]


@pytest.fixture
def path(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "mine.toml"
    path.write_text(FILE)
    return path


def _slurm(tmp_path, monkeypatch):
    """Commands with the names of SLURM's; what they are given stays in a file."""
    room = tmp_path / "bin"
    room.mkdir()
    (room / "sbatch").write_text('#!/bin/sh\ncp "$1" "${0%/*}/given"\necho Submitted batch job 12\n')
    (room / "srun").write_text("#!/bin/sh\n")
    for command in room.iterdir():
        command.chmod(0o755)
    monkeypatch.setenv("PATH", str(room), prepend=os.pathsep)
    return room / "given"


def test_slurm_gets_an_array_of_shards(path, tmp_path, monkeypatch, capsys):
    given = _slurm(tmp_path, monkeypatch)
    how = ["--jobs", "3", "--minutes", "90", "--cpus", "4", "--gpus", "1", "--memory-gb", "8", "--partition", "short"]
    assert cli.main(["submit", str(path), "--cluster", "slurm", "--set", "part_trials=4", *how]) == 0
    assert "3 jobs for 4 parts: 12_0, 12_1, 12_2" in capsys.readouterr().out
    text = given.read_text()
    for option in ("--array=0-2", "--time=90", "--cpus-per-task=4", "--gpus-per-node=1", "--mem=8GB",
                   "--partition=short", "--job-name=jaxbandits-mine", "--signal=USR2@90"):  # fmt: skip
        assert option in text, text
    copy = tmp_path / "results" / "mine" / "jobs" / "mine.toml"
    assert copy.read_bytes() == path.read_bytes()  # later changes of the file do not reach jobs that wait
    jobs = [submitit.core.utils.DelayedSubmission.load(pickled) for pickled in copy.parent.glob("*_submitted.pkl")]
    assert len(jobs) == 3 and not any(job._timeout_countdown < 100 for job in jobs)
    commands = sorted(job.function.arguments for job in jobs)
    for i, arguments in enumerate(commands, start=1):
        parsed = cli._parser().parse_args(arguments)
        assert parsed.file == copy and parsed.out == copy.parents[1] and parsed.workers == 4
        assert parsed.shard == (i, 3) and parsed.overrides == ["part_trials=4"]
    again = jobs[0].function.checkpoint()
    assert again.function == jobs[0].function  # a timeout queues the same share


def test_a_share_fails_as_its_command_does(capfd):
    assert ShardJob(lambda arguments: 0, ("sweep",))() is None
    with pytest.raises(RuntimeError, match="exit code 1"):
        ShardJob(lambda arguments: 1, ("sweep", "x.toml"))()
    assert "jaxbandits sweep x.toml" in capfd.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--cluster", "lsf"], "unknown cluster 'lsf'"),
        (["--cluster", "slurm"], "no SLURM"),
        (["--cluster", "local", "--jobs", "0"], "jobs must be a whole number"),
        (["--cluster", "local", "--cpus", "0"], "cpus must be a whole number"),
        (["--cluster", "local", "--set", "seeds=many"], "mine.toml: seeds must be a whole number"),
    ],
)
def test_mistakes(path, capsys, monkeypatch, arguments, message):
    monkeypatch.setattr(submit_lib.shutil, "which", lambda name: None)
    assert cli.main(["submit", str(path), *arguments]) == 2
    said = capsys.readouterr().err
    assert message in said and said.count("\n") == 1


def test_without_submitit(path, capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "submitit", None)
    assert cli.main(["submit", str(path), "--cluster", "local"]) == 2
    assert "pip install 'jaxbandits[cluster]'" in capsys.readouterr().err


LONG = """
horizon = 40_000
seeds = 64
record_points = 5
width = 32
part_trials = 64

[algorithms.oful]
type = "linear/oful"
dim = 2
beta_scale = { logspace = [0.01, 1.0], n = 12 }

[environments.student]
type = "linear/heavy_tailed"
dim = 2
n_arms = 5
"""


def _children(pid):
    with contextlib.suppress(OSError):
        return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    return []


def _task(job):
    """The process that plays, below submitit's controller, once it has finished a part."""
    (task,) = _children(job._process.pid)
    return task


@pytest.mark.slow
@pytest.mark.system
@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="looks for the process below submitit's in /proc")
def test_killed_and_preempted_jobs_go_on(tmp_path, monkeypatch):
    """SIGKILL, and the same command again; then the signal that a queue sends before it takes a node away."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONPATH", str(ROOT), prepend=os.pathsep)
    monkeypatch.setenv("JAX_ENABLE_X64", "0")
    path, out = tmp_path / "long.toml", tmp_path / "out"
    path.write_text(LONG)
    command = [sys.executable, "-m", "jaxbandits", "sweep", str(path), "--quiet", "--out", str(tmp_path / "whole")]
    subprocess.run(command, check=True, capture_output=True)
    whole = contents(tmp_path / "whole")
    assert len(whole) == 12

    def queue(jobs):
        settings = {"cluster": "local", "jobs": jobs, "minutes": 5, "cpus": 1, "arguments": ("--save-every", "0")}
        return submit_lib.submit(cli.main, path, out, **settings)

    def n_files():
        return len(contents(out))

    (job,) = queue(1)
    wait_until(lambda: n_files() >= 2)
    os.kill(_task(job), signal.SIGKILL)
    job.wait()
    assert 2 <= n_files() < 12 and not job.paths.result_pickle.exists()

    jobs, before = queue(2), n_files()
    wait_until(lambda: n_files() > before or any(job.done() for job in jobs))
    interrupted = next(job for job in jobs if not job.done())
    first = _task(interrupted)
    os.kill(first, signal.SIGUSR2)
    for job in jobs:
        job.wait()
        assert job.exception() is None, job.stdout()
    assert f"Requeued job {interrupted.job_id}" in interrupted.stdout()
    assert contents(out) == whole and not list((out / "working").iterdir())


_RANKED = """
import sys, jax
address, rank, file, out = sys.argv[1:]
from jaxbandits import OFUL, Grid, HeavyTailed, Sweep, run_sweep  # as docs/scaling.md has it: nothing computes yet
jax.distributed.initialize(address, 2, int(rank))
share = (jax.process_index() + 1, jax.process_count())
found = run_sweep(file, out, shard=share, progress=False)
print("share", *share, "devices", len(jax.local_devices()), len(jax.devices()))
"""


@pytest.mark.slow
@pytest.mark.system
def test_two_processes_of_jax_distributed(path, tmp_path, monkeypatch):
    """Each takes its share by its number; together they write what one process writes."""
    import socket

    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{free.getsockname()[1]}"
    monkeypatch.setenv("PYTHONPATH", str(ROOT), prepend=os.pathsep)
    monkeypatch.setenv("JAX_ENABLE_X64", "0")
    path.write_text(re.sub("seeds = 4", "seeds = 64\npart_trials = 32", FILE))
    alone = [sys.executable, "-m", "jaxbandits", "sweep", str(path), "--quiet", "--out", str(tmp_path / "whole")]
    subprocess.run(alone, check=True, capture_output=True)
    command = [sys.executable, "-c", _RANKED, address]
    both = [
        subprocess.Popen([*command, str(rank), str(path), str(tmp_path / "both")], stdout=subprocess.PIPE, text=True)
        for rank in (0, 1)
    ]
    said = [process.communicate(timeout=300)[0] for process in both]
    assert [process.returncode for process in both] == [0, 0], shlex.join(command)
    assert ["share 1 2 devices 1 2" in said[0], "share 2 2 devices 1 2" in said[1]] == [True, True], said
    whole = contents(tmp_path / "whole")
    assert len(whole) == 8 and contents(tmp_path / "both") == whole
    assert not Directory(tmp_path / "both").read_failure(next(iter(whole)).removesuffix(".npz"))
