"""A sweep on an executor: the bytes of one process, retries, precision, and executors that cannot run JAX."""

import concurrent.futures
import dataclasses
import multiprocessing
import pickle
import sys
import types

import jax
import jax.numpy as jnp
import pytest

from jaxbandits.base.errors import InputError
from jaxbandits.bridges import JoblibExecutor, RayExecutor
from jaxbandits.simulation import Meter
from jaxbandits.sweeps import executors
from jaxbandits.sweeps.run import run_sweep
from tests.sweeps.test_run import contents
from tests.sweeps.toy_sweeps import change_sweep
from tests.toy_problems import Noisy, Shrink

SMALL = change_sweep(seeds=8, part_trials=8, width=16)  # seven parts


class LocalExecutor:
    """An executor that runs tasks at once, as they arrive after pickling; a cluster in one process."""

    def __init__(self, lose=()):
        self.tasks, self.lose = [], list(lose)

    def submit(self, function, *args):
        self.tasks.append(args[0])
        future = concurrent.futures.Future()
        if len(self.tasks) - 1 in self.lose:
            future.set_exception(concurrent.futures.BrokenExecutor("a process was lost"))
            return future
        try:
            future.set_result(pickle.loads(pickle.dumps(function))(*pickle.loads(pickle.dumps(args))))
        except Exception as error:
            future.set_exception(error)
        return future


def run(directory, sweep=SMALL, **settings):
    return run_sweep(sweep, directory, progress=False, **settings)


@pytest.fixture(scope="module")
def reference_bytes(tmp_path_factory):
    directory = tmp_path_factory.mktemp("reference") / "sweep"
    run(directory)
    return contents(directory)


@pytest.mark.slow_after_first
@pytest.mark.parametrize(("jobs", "count"), [(None, 7), (2, 2), (100, 7)])
def test_jobs_are_shards_with_the_bytes_of_one_process(jobs, count, reference_bytes, tmp_path):
    executor = LocalExecutor()
    found = run(tmp_path / "out", executor=executor, jobs=jobs)
    assert [task.shard for task in executor.tasks] == [(i, count) for i in range(1, count + 1)]
    assert contents(tmp_path / "out") == reference_bytes and not found.failures


@pytest.mark.slow
@pytest.mark.system
def test_processes_that_spawn(reference_bytes, tmp_path):
    context = multiprocessing.get_context("spawn")
    with concurrent.futures.ProcessPoolExecutor(2, mp_context=context) as pool:
        run(tmp_path / "out", executor=pool, jobs=2)
    assert contents(tmp_path / "out") == reference_bytes  # in 64 bits, which the processes do not have by default


def test_a_lost_job_is_named_and_the_same_call_runs_it(reference_bytes, tmp_path):
    with pytest.raises(
        InputError, match=r"shard 3/7 ended with BrokenExecutor: a process was lost \(and 1 more failed\); repeat"
    ):
        run(tmp_path / "out", executor=LocalExecutor(lose=[2, 4]))
    assert len(contents(tmp_path / "out")) == 5
    run(tmp_path / "out", executor=LocalExecutor())
    assert contents(tmp_path / "out") == reference_bytes


def test_a_job_may_run_twice(reference_bytes, tmp_path):
    class RepeatingExecutor(LocalExecutor):
        def submit(self, function, *args):
            super().submit(function, *args)
            return super().submit(function, *args)

    run(tmp_path / "out", executor=RepeatingExecutor(), jobs=2)
    assert contents(tmp_path / "out") == reference_bytes


def test_processes_that_fork_are_refused(tmp_path):
    pool = concurrent.futures.ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("fork"))
    with pool, pytest.raises(InputError, match=r"by fork.*get_context\('spawn'\)"):
        run(tmp_path / "out", executor=pool)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"executor": 3}, r"executor needs a method submit\(function, \*args\)"),
        ({"executor": LocalExecutor}, r"executor needs a method submit\(function, \*args\)"),
        ({"executor": LocalExecutor(), "shard": (1, 2)}, "shard and devices cannot be given"),
        ({"executor": LocalExecutor(), "devices": jax.devices()}, "shard and devices cannot be given"),
        ({"executor": LocalExecutor(), "jobs": 0}, "jobs must be"),
        ({"jobs": 2}, "jobs is the number of shards for an executor"),
    ],
)
def test_wrong_arguments(settings, message, tmp_path):
    with pytest.raises(InputError, match=message):
        run(tmp_path / "out", **settings)


def test_errors_of_input_are_raised_as_they_are(tmp_path):
    run(tmp_path / "out", executor=LocalExecutor(), jobs=1)
    with pytest.raises(InputError, match="holds another sweep"):
        run(tmp_path / "out", dataclasses.replace(SMALL, horizon=21), executor=LocalExecutor())


def test_processes_without_the_changes_of_this_one_are_refused(tmp_path, monkeypatch):
    """Other processes import code anew: a function that was replaced here is the original one there."""
    update = Shrink.update

    class ForgettingExecutor(LocalExecutor):
        def submit(self, function, *args):
            with monkeypatch.context() as patch:
                patch.setattr(Shrink, "update", update)
                return super().submit(function, *args)

    monkeypatch.setattr(Shrink, "update", lambda self, *arguments: 0.5 * update(self, *arguments))
    refused = "the processes of the executor compute another sweep: the code of swept, or a value.*import the code anew"
    with pytest.raises(InputError, match=refused) as error:
        run(tmp_path / "out", executor=ForgettingExecutor(), jobs=2)
    assert "\n" not in str(error.value) and not contents(tmp_path / "out")
    assert not run(tmp_path / "out", executor=LocalExecutor(), jobs=2).missing


def test_shards_in_threads_leave_the_precision_of_the_process(reference_bytes, tmp_path):
    x64 = jax.config.jax_enable_x64
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        with jax.enable_x64(not x64):  # of this thread alone
            run(tmp_path / "out", executor=pool, jobs=1)
        values = pool.submit(lambda: jax.config.jax_enable_x64).result()
    assert jax.config.jax_enable_x64 == values == x64 and contents(tmp_path / "out").keys() != reference_bytes.keys()


def test_other_devices_and_versions_may_have_other_programs():
    spec = {"devices": ["cpu"], "package": "a", "versions": {"jax": "1"}, "programs": {"one": "p"}}
    executors.check_same_sweep(spec, spec)
    for change in ({"devices": ["gpu"]}, {"package": "b"}, {"versions": {"jax": "2"}}):
        executors.check_same_sweep(spec, spec | change | {"programs": {"one": "q"}})
    with pytest.raises(InputError, match="another sweep: the code of one"):
        executors.check_same_sweep(spec, spec | {"programs": {"one": "q"}})


def test_code_that_cannot_be_sent_is_named(tmp_path):
    sweep = dataclasses.replace(SMALL, meters=[Meter("one", lambda r: 1.0)])
    with pytest.raises(InputError, match=r"shard 1/1 ended with \w+: .*lambda"):
        run(tmp_path / "out", sweep, executor=LocalExecutor(), jobs=1)


def test_tasks_hold_no_arrays_of_jax():
    """They would be read in 32 bits before the process has set its precision."""
    sweep = change_sweep(environment={"swept": Noisy(scale=jnp.float64(0.1)), "fixed": Noisy(scale=0.1)})
    clean = executors.without_jax_arrays(sweep)
    assert not any(isinstance(x, jax.Array) for x in jax.tree.leaves((clean.environment, clean.algorithms["fixed"])))
    assert float(clean.environment["swept"].scale) == 0.1


def test_joblib(reference_bytes, tmp_path):
    joblib = pytest.importorskip("joblib")
    run(tmp_path / "out", executor=JoblibExecutor(joblib.Parallel(n_jobs=1)), jobs=2)
    assert contents(tmp_path / "out") == reference_bytes


def test_joblib_runs_tasks_that_are_submitted_later():
    started = []

    def call_all(tasks):
        started.append(len(tasks))
        return [function(*args, **kwargs) for function, args, kwargs in tasks]

    executor = JoblibExecutor(call_all)
    first, second = executor.submit(max, 1, 2), executor.submit(max, 3, 4)
    assert (second.result(), first.result()) == (4, 2)
    assert executor.submit(max, 5, 6).result() == 6
    assert started == [2, 1]


def test_an_error_of_a_joblib_task_belongs_to_this_task():
    """joblib would end all tasks with it, and each task would then start them all again."""
    joblib = pytest.importorskip("joblib")
    called = []

    def count_down(i):
        called.append(i)
        return 6 // i

    executor = JoblibExecutor(joblib.Parallel(n_jobs=1))
    tasks = [executor.submit(count_down, i) for i in (2, 1, 0, 3)]
    assert [tasks[i].result() for i in (3, 1, 0)] == [2, 6, 3]
    with pytest.raises(ZeroDivisionError) as raised:
        tasks[2].result()
    assert "return 6 // i" in "".join(pickle.loads(pickle.dumps(raised.value)).__notes__)  # the line of the task
    assert called == [2, 1, 0, 3]


def test_ray_by_its_calls(reference_bytes, tmp_path):
    ray = types.ModuleType("ray")
    asked = []

    class Remote:
        def __init__(self, function):
            self.function = function

        def remote(self, *args):
            return lambda: self.function(*args)

    def remote(function=None, **options):
        asked.append(options)
        return Remote(function) if function is not None else Remote

    ray.remote, ray.get = remote, lambda reference: reference()
    run(tmp_path / "out", executor=RayExecutor(ray, num_cpus=2), jobs=2)
    assert contents(tmp_path / "out") == reference_bytes and asked == [{"num_cpus": 2}] * 2


@pytest.mark.slow
@pytest.mark.system
@pytest.mark.skipif(sys.platform == "win32", reason="submitit needs signals of POSIX")
def test_submitit(reference_bytes, tmp_path):
    submitit = pytest.importorskip("submitit")
    executor = submitit.AutoExecutor(tmp_path / "jobs", cluster="local")
    executor.update_parameters(timeout_min=5)
    run(tmp_path / "out", executor=executor, jobs=2)
    assert contents(tmp_path / "out") == reference_bytes
