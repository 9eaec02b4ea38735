"""`cluster_executor` and `jaxbandits submit --cluster ADDRESS`: the bytes of one process, also when a worker is killed.

The tests of Dask, Ray and MPI start a cluster on this machine and are skipped where the package is missing.
"""

import contextlib
import importlib.util
import os
import pickle
import shutil
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from jaxbandits import cli
from jaxbandits.base.errors import InputError
from jaxbandits.bridges import cluster_executor
from jaxbandits.commands.remote import PluginExecutor
from tests.polling import wait_until
from tests.sweeps.test_executors import LocalExecutor
from tests.sweeps.test_run import contents
from tests.sweeps.test_submit import LONG
from tests.sweeps.toy_sweeps import FILE

ROOT = Path(__file__).parents[2]
N_PARTS = 12  # of LONG


@pytest.fixture
def free_port():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()[1]


@pytest.mark.parametrize(
    ("address", "message"),
    [
        ("dask", "cluster 'dask' must have the form dask://HOST:PORT"),
        ("processes://", "cluster 'processes://' must have the form processes://N"),
        ("ray://", "cluster 'ray://' must have the form ray or ray://HOST:PORT"),
        ("mpi://4", "cluster 'mpi://4' must have the form mpi"),
        ("processes://many", "the number of processes in processes://N must be a whole number"),
        ("processes://0", "the number of processes in processes://N must be a whole number"),
        ("dusk://10.0.0.1:8786", "unknown cluster 'dusk://10.0.0.1:8786'; known: dask://HOST:PORT, mpi"),
    ],
)
def test_wrong_addresses(address, message):
    with pytest.raises(InputError, match=message), cluster_executor(address):
        pass


@pytest.mark.parametrize("module", ["distributed", "ray"])
def test_an_address_that_nobody_answers_is_named_at_once(module, monkeypatch, free_port):
    monkeypatch.setitem(sys.modules, module, type(sys)(module))  # the package is not asked
    kind = {"distributed": "dask", "ray": "ray"}[module]
    with (
        pytest.raises(InputError, match=f"at 127.0.0.1:{free_port}: .*refused"),
        cluster_executor(f"{kind}://127.0.0.1:{free_port}"),
    ):
        pass
    with (
        pytest.raises(InputError, match=r"must be HOST:PORT, got '10\.0\.0\.1'"),
        cluster_executor(f"{kind}://10.0.0.1"),
    ):
        pass


@pytest.mark.parametrize(
    ("address", "package"), [("dask://127.0.0.1:8786", "distributed"), ("ray", "ray"), ("mpi", "mpi4py")]
)
def test_a_missing_package_is_named(address, package, monkeypatch):
    monkeypatch.setitem(sys.modules, package, None)
    with (
        pytest.raises(InputError, match=f"needs the package {package}: pip install {package}"),
        cluster_executor(address),
    ):
        pass


def test_wrong_resources():
    with (
        pytest.raises(
            InputError, match="the argument gpus reserves GPUs only on Ray; for processes, set CUDA_VISIBLE_DEVICES"
        ),
        cluster_executor("processes://2", gpus=1),
    ):
        pass
    with pytest.raises(InputError, match="cpus must be"), cluster_executor("ray", cpus=0):
        pass


@pytest.fixture
def path(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONPATH", str(ROOT), prepend=os.pathsep)
    path = tmp_path / "mine.toml"
    path.write_text(FILE)
    return path


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--cluster", "lsf"], "unknown cluster 'lsf'; known: dask://HOST:PORT, local, mpi, processes://N"),
        (["--cluster", "processes://2", "--minutes", "5"], "--minutes is for --cluster slurm and local"),
        (["--cluster", "processes://2", "--memory-gb", "5"], "--memory-gb is for --cluster slurm and local"),
        (["--cluster", "processes://2", "--jobs", "0"], "jobs must be a whole number"),
        (["--cluster", "mpi://2"], "must have the form mpi"),
    ],
)
def test_mistakes_of_the_command_are_one_line(path, capsys, arguments, message):
    assert cli.main(["submit", str(path), *arguments]) == 2
    said = capsys.readouterr().err
    assert message in said and said.count("\n") == 1


def test_the_command_runs_the_sweep_on_the_executor(path, tmp_path, monkeypatch, capsys):
    executor, asked = LocalExecutor(), []

    @contextlib.contextmanager
    def connect(address, **resources):
        asked.append((address, resources))
        yield executor

    monkeypatch.setattr("jaxbandits.commands.remote.cluster_executor", connect)
    how = ["--jobs", "2", "--cpus", "3", "--set", "seeds=2", "--out", "there"]
    assert cli.main(["submit", str(path), "--cluster", "ray", *how]) == 0
    assert asked == [("ray", {"cpus": 3, "gpus": None})]
    assert [task.shard for task in executor.tasks] == [(1, 2), (2, 2)]
    assert {(task.workers, task.sweep.seeds) for task in executor.tasks} == {(3, 2)}
    assert "2 of 2 parts done" in capsys.readouterr().out
    assert cli.main(["sweep", str(path), "--set", "seeds=2", "--out", "here", "--quiet"]) == 0
    assert contents(tmp_path / "there") == contents(tmp_path / "here")


def test_plugins_are_loaded_where_a_task_runs(tmp_path, monkeypatch):
    """In another process, which knows the class of an argument by the plug-in only."""
    (tmp_path / "nobodys_own_classes.py").write_text("class Mine:\n    value = 3\n")
    code = "import pickle, sys; function, args = pickle.load(sys.stdin.buffer); print(function(*args))"

    class OtherProcess:
        def submit(self, function, *args):
            command = [sys.executable, "-c", code]
            environment = {**os.environ, "PYTHONPATH": str(ROOT)}
            sent = pickle.dumps((function, args))
            return subprocess.run(command, input=sent, capture_output=True, check=True, env=environment, cwd=ROOT)

    monkeypatch.syspath_prepend(str(tmp_path))
    mine = importlib.import_module("nobodys_own_classes").Mine()
    executor = PluginExecutor(OtherProcess(), [str(tmp_path / "nobodys_own_classes.py")])
    assert executor.submit(getattr, mine, "value").stdout == b"3\n"


# Real clusters --------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def reference_bytes(tmp_path_factory):
    folder = tmp_path_factory.mktemp("reference")
    (folder / "long.toml").write_text(LONG)
    run("sweep", folder, "--quiet", "--out", "whole")
    whole = contents(folder / "whole")
    assert len(whole) == N_PARTS
    return whole


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "long.toml").write_text(LONG)
    return tmp_path


ENVIRONMENT = {"PYTHONPATH": str(ROOT), "JAX_ENABLE_X64": "0", "RAY_AUTH_MODE": "disabled"}


def start(command, folder, *arguments, before=()):
    """Start a command on the sweep file of a folder."""
    words = [*before, *(["-m", "jaxbandits"] if before else [sys.executable, "-m", "jaxbandits"]), command, "long.toml"]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
    return subprocess.Popen([*words, *arguments], env={**os.environ, **ENVIRONMENT}, cwd=folder, **pipes)


def run(*args, **settings):
    process = start(*args, **settings)
    said = process.communicate(timeout=300)[0]
    return process.returncode, said


def submit(folder, address, **settings):
    return start("submit", folder, "--cluster", address, "--out", "out", "--save-every", "0", **settings)


def wait_for_parts(folder, process):
    wait_until(lambda: len(contents(folder / "out")) >= 2 or process.poll() is not None)
    assert process.poll() is None and len(contents(folder / "out")) < N_PARTS


def find_processes(text):
    """Return the numbers of the processes whose command line holds a text."""
    found = []
    for entry in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):
            if text in entry.read_text().replace("\0", " "):
                found.append(int(entry.parent.name))
    return found


has_proc = pytest.mark.skipif(not Path("/proc/self/cmdline").exists(), reason="looks for processes in /proc")


def needs(module):
    return pytest.mark.skipif(importlib.util.find_spec(module) is None, reason=f"{module} is not installed")


@pytest.mark.slow
@pytest.mark.system
@has_proc
def test_a_killed_process_of_a_pool_is_named_and_the_same_command_resumes(folder, reference_bytes):
    process = submit(folder, "processes://2")
    wait_for_parts(folder, process)
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
    workers = [pid for pid in children if int(pid) in find_processes("spawn_main")]
    os.kill(int(workers[0]), signal.SIGKILL)
    said = process.communicate(timeout=300)[0]
    assert process.returncode == 2 and "repeat the call to compute the missing parts" in said
    process = submit(folder, "processes://2")
    assert "12 of 12 parts done" in process.communicate(timeout=300)[0] and process.returncode == 0
    assert contents(folder / "out") == reference_bytes


@needs("distributed")
@pytest.mark.slow
@pytest.mark.system
@pytest.mark.filterwarnings("ignore")  # of Dask: forks, ports, sockets of the worker that is killed
def test_dask_goes_on_when_a_worker_is_killed(folder, reference_bytes):
    distributed = pytest.importorskip("distributed")
    settings = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": None, "processes": True}
    with distributed.LocalCluster(**settings) as cluster:
        process = submit(folder, cluster.scheduler_address.replace("tcp", "dask"))
        wait_for_parts(folder, process)
        os.kill(next(iter(cluster.workers.values())).pid, signal.SIGKILL)
        said = process.communicate(timeout=300)[0]
    assert process.returncode == 0 and "12 of 12 parts done" in said
    assert contents(folder / "out") == reference_bytes


@needs("ray")
@pytest.mark.slow
@pytest.mark.system
@has_proc
def test_ray_goes_on_when_a_worker_is_killed(folder, reference_bytes):
    process = submit(folder, "ray")
    wait_for_parts(folder, process)
    os.kill(find_processes("ray::run_shard")[0], signal.SIGKILL)
    said = process.communicate(timeout=300)[0]
    assert process.returncode == 0 and "12 of 12 parts done" in said
    assert contents(folder / "out") == reference_bytes


@needs("mpi4py")
@pytest.mark.slow
@pytest.mark.system
@has_proc
def test_mpi_ends_when_a_process_is_killed_and_the_same_command_resumes(folder, reference_bytes):
    mpiexec = shutil.which("mpiexec", path=f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
    if mpiexec is None:
        pytest.skip("there is no mpiexec")
    before = [mpiexec, "-n", "3", sys.executable, "-m", "mpi4py.futures"]
    process = submit(folder, "mpi", before=before)
    wait_for_parts(folder, process)
    ranks = [pid for pid in find_processes("mpi4py.futures -m jaxbandits") if pid != process.pid]
    os.kill(max(ranks), signal.SIGKILL)
    process.communicate(timeout=300)
    assert process.returncode != 0
    process = submit(folder, "mpi", before=before)
    assert "12 of 12 parts done" in process.communicate(timeout=300)[0] and process.returncode == 0
    assert contents(folder / "out") == reference_bytes
