"""Loops inside CUDA graphs: when programs hold them, and the test that decides it."""

import subprocess
import types
import warnings

import jax
import numpy as np
import pytest

from jaxbandits.base.errors import InputError
from jaxbandits.programs import gpu_graphs
from jaxbandits.tracing.target import Target

GPU = types.SimpleNamespace(
    platform="gpu", id=0, device_kind="NVIDIA H100", client=types.SimpleNamespace(platform_version="cuda 13000")
)


@pytest.fixture(autouse=True)
def fresh(monkeypatch, tmp_path):
    monkeypatch.delenv("JAXBANDITS_GPU_LOOPS", raising=False)
    monkeypatch.setattr(gpu_graphs, "cache_directory", lambda: tmp_path)
    gpu_graphs._passes_test.cache_clear()
    yield tmp_path
    gpu_graphs._passes_test.cache_clear()


def ends_with(monkeypatch, code):
    """Let the process of the test end with a code, and count how often it starts."""
    started = []

    def run(command, **options):
        started.append((command, options["env"]["JAXBANDITS_GPU_LOOPS"]))
        if code is None:
            raise subprocess.TimeoutExpired(command, 1.0)
        return subprocess.CompletedProcess(command, code)

    monkeypatch.setattr(subprocess, "run", run)
    return started


def test_a_cpu_has_open_loops_and_other_accelerators_have_none(monkeypatch):
    started = ends_with(monkeypatch, 0)
    assert gpu_graphs.target_of(jax.local_devices()[0]) == Target("cpu", open_loops=True)
    assert gpu_graphs.target_of(types.SimpleNamespace(platform="tpu")) == Target("tpu", open_loops=False)
    assert started == []


def test_a_gpu_is_tested_once_and_the_answer_is_kept(monkeypatch, fresh):
    started = ends_with(monkeypatch, 0)
    assert gpu_graphs.target_of(GPU) == gpu_graphs.target_of(GPU) == Target("gpu", open_loops=True)
    assert len(started) == 1 and started[0][0][1:] == ["-m", "jaxbandits.programs.gpu_graphs", "0"]
    gpu_graphs._passes_test.cache_clear()  # as in another process
    assert gpu_graphs.runs_loops_in_graphs(GPU) and len(started) == 1
    (answer,) = fresh.iterdir()
    answer.chmod(0o666)  # others may have written it: the test runs again
    gpu_graphs._passes_test.cache_clear()
    assert gpu_graphs.runs_loops_in_graphs(GPU) and len(started) == 2


@pytest.mark.parametrize("code", [1, -11, None])
def test_where_the_test_fails_a_warning_says_so_once(monkeypatch, code):
    ends_with(monkeypatch, code)
    with pytest.warns(RuntimeWarning, match="JAXBANDITS_GPU_LOOPS=graph"):
        assert not gpu_graphs.runs_loops_in_graphs(GPU)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert not gpu_graphs.runs_loops_in_graphs(GPU)


def test_without_a_cache_directory_the_test_runs_in_every_process(monkeypatch):
    monkeypatch.setattr(gpu_graphs, "cache_directory", lambda: None)
    started = ends_with(monkeypatch, 0)
    assert gpu_graphs.runs_loops_in_graphs(GPU)
    gpu_graphs._passes_test.cache_clear()
    assert gpu_graphs.runs_loops_in_graphs(GPU) and len(started) == 2


@pytest.mark.parametrize(("setting", "expected"), [("graph", True), ("blocks", False)])
def test_a_setting_decides_without_a_test(monkeypatch, setting, expected):
    started = ends_with(monkeypatch, 1)
    monkeypatch.setenv("JAXBANDITS_GPU_LOOPS", setting)
    assert gpu_graphs.runs_loops_in_graphs(GPU) is expected and started == []


def test_another_setting_is_refused(monkeypatch):
    monkeypatch.setenv("JAXBANDITS_GPU_LOOPS", "loops")
    with pytest.raises(InputError, match="must be graph or blocks, got 'loops'"):
        gpu_graphs.target_of(GPU)


def test_the_program_of_the_test_tells_right_numbers_from_wrong_ones(monkeypatch):
    device = jax.local_devices()[0]
    assert gpu_graphs.main(device, {})

    def stuck(rounds, x):
        return x

    monkeypatch.setattr(gpu_graphs, "sum_of_steps", stuck)
    assert not gpu_graphs.main(device, {})


def test_the_program_of_the_test_has_loops_in_loops_and_branches():
    jaxpr = jax.make_jaxpr(gpu_graphs.sum_of_steps)(np.int32(3), np.ones(4, np.float32))
    assert str(jaxpr).count("while[") == 3 and str(jaxpr).count("cond[") == 1
    # XLA makes a selection of a branch without barriers: `make gpu-check` sees that this one stays a branch.
    assert str(jaxpr).partition("cond[")[2].count("optimization_barrier") >= 2
