"""Fixtures and hooks of all tests: precision, keys and generators, hypothesis without a clock, slow cases.

`pytest` runs everything but `tests/float32` in 64 bits, `pytest tests/float32` the rest in 32 bits: the switch belongs
to the process, so one process has one precision, and tests of the other one are deselected. `JAX_ENABLE_X64` overrides.

Most functions that tests compile run a few times each: they are compiled fast rather than well, which saves 40 % of
the suite; passes that make loops faster are left out as well. Tests of the programs that users get (simulation,
float32) are compiled as for users if pytest is given those directories alone, as `make test` does.

`make test` runs the quick tests, `make test-slow` the slow ones. A test is slow if it takes more than a second or two,
and the test itself says so, by one of these marks:

* `slow`: the test with all its cases, or in `pytest.param(..., marks=pytest.mark.slow)` that case;
* `slow_after_first`: the first case is quick, further cases are slow;
* `quick_cases(pattern, ...)`: the cases with these ids are quick, all others are slow;
* `slow_cases(pattern, ...)`: the cases with these ids are slow, all others are quick.

The id of a case is what pytest prints between brackets; `*` in a pattern stands for any text. A pattern without a case
is an error, so that no renamed case drops out of `make test`.
"""

import collections
import gc
import os
import re
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

os.environ.setdefault("MPLBACKEND", "Agg")
os.environ.setdefault("OMP_NUM_THREADS", "1")  # the threads of BLAS would compete with the other processes of `-n auto`

import hypothesis
import jax
import numpy as np
import pytest

FLOAT32 = Path(__file__).parent / "float32"
AS_SHIPPED = (FLOAT32, *(FLOAT32.parent / room for room in ("engine", "programs", "simulation")))
PAIRED = ("tests/testing/test_contract.py", "tests/engine/test_split.py")  # whose ids end in the name of a check
FAST_COMPILE = (
    "--xla_backend_optimization_level=0 --xla_llvm_disable_expensive_passes=true --xla_disable_hlo_passes="
    "while-loop-constant-sinking,while-loop-invariant-code-motion,while-loop-simplifier,while-loop-concat-code-motion"
)

hypothesis.settings.register_profile("jaxbandits", deadline=None, derandomize=True, max_examples=25)
hypothesis.settings.load_profile("jaxbandits")


def pytest_configure(config: pytest.Config) -> None:
    """Choose precision and optimisation before any test module is imported."""
    paths = [Path(config.invocation_params.dir, arg.split("::")[0]).resolve() for arg in config.args]
    only_float32 = all(path.is_relative_to(FLOAT32) for path in paths)
    x64 = os.environ.get("JAX_ENABLE_X64", "0" if only_float32 else "1").lower() in ("1", "true", "yes", "on")
    jax.config.update("jax_enable_x64", x64)
    jax.config.update("jax_traceback_in_locations_limit", 0)  # source lines that no test reads
    if not all(any(path.is_relative_to(directory) for directory in AS_SHIPPED) for path in paths):
        os.environ["XLA_FLAGS"] = f"{os.environ.get('XLA_FLAGS', '')} {FAST_COMPILE}"  # read when JAX first compiles


def pytest_collection_finish() -> None:
    """Freeze objects that live as long as the process (tests, modules), so that garbage collection skips them."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 10, 10)


@pytest.hookimpl(trylast=True)
def pytest_runtest_teardown(item: pytest.Item, nextitem: pytest.Item | None) -> None:
    """Clear compiled programs between modules before their code has more mappings than Linux allows a process."""
    if nextitem is not None and nextitem.path != item.path and _mappings() > 30_000:  # of 65,530; then: a crash
        jax.clear_caches()
        gc.collect()


def _mappings() -> int:
    maps = Path("/proc/self/maps")
    return maps.read_bytes().count(b"\n") if maps.exists() else 0


def pytest_report_header() -> str:
    """Report precision, JAX and device."""
    precision = "float64" if jax.config.jax_enable_x64 else "float32"
    return f"jax {jax.__version__} on {jax.default_backend()}, {precision}"


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Mark the tests below `tests/float32`, and keep the tests of this process's precision."""
    below = {path: path.is_relative_to(FLOAT32) for path in {item.path for item in items}}
    for item in items:
        if below[item.path]:
            item.add_marker(pytest.mark.float32)
    kept, other = [], []
    for item in items:
        same = (item.get_closest_marker("float32") is None) == jax.config.jax_enable_x64
        (kept if same else other).append(item)
    items[:] = kept
    if other:
        config.hook.pytest_deselected(items=other)
    _mark_slow_cases(items)
    if not any("::" in arg for arg in config.args):  # every case is there
        _check_patterns(items)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Run each group in one process, the groups with the most tests first, so that the processes end together.

    Pytest-xdist 3.8 ignores its marks of groups with pytest 9.2, and every process compiles everything.
    """
    from xdist.scheduler import LoadFileScheduling

    class GroupScheduling(LoadFileScheduling):
        def _split_scope(self, nodeid: str) -> str:
            return _group(nodeid)

    return GroupScheduling(config, log)


def _group(nodeid: str) -> str:
    """Return the name of the tests that share compiled programs: a module, or the checks of one learner."""
    file = nodeid.partition("::")[0]
    return nodeid.rpartition("-")[0] if file in PAIRED and "-" in nodeid else file


def _mark_slow_cases(items: list[pytest.Item]) -> None:
    """Mark the cases that a test declares slow."""
    for item in items:
        case = getattr(item, "callspec", None)
        quick, slow = item.get_closest_marker("quick_cases"), item.get_closest_marker("slow_cases")
        is_further = item.get_closest_marker("slow_after_first") and case and any(case.indices.values())
        if is_further or (quick and not _matches(item, quick.args)) or (slow and _matches(item, slow.args)):
            item.add_marker(pytest.mark.slow)


def _matches(item: pytest.Item, patterns: tuple[str, ...]) -> bool:
    """Return whether the id of a case matches one of the patterns."""
    case = item.callspec.id
    return any(re.fullmatch(".*".join(map(re.escape, pattern.split("*"))), case) for pattern in patterns)


def _check_patterns(items: list[pytest.Item]) -> None:
    """Check that every pattern of a test matches one of its cases.

    Raises:
      pytest.UsageError: a pattern matches none.
    """
    cases = collections.defaultdict(list)
    for item in items:
        cases[item.nodeid.partition("[")[0]].append(item)
    for test, its_cases in cases.items():
        for mark in (m for name in ("quick_cases", "slow_cases") for m in its_cases[0].iter_markers(name)):
            for pattern in mark.args:
                if not any(_matches(case, (pattern,)) for case in its_cases):
                    raise pytest.UsageError(f"{test}: no case matches {pattern!r} of {mark.name}")


@pytest.fixture(autouse=True)
def _same_precision() -> Iterator[None]:
    """Restore the precision: the command line, called in this process, sets that of its own run."""
    x64 = jax.config.jax_enable_x64
    yield
    jax.config.update("jax_enable_x64", x64)


@pytest.fixture
def compile_here(monkeypatch: pytest.MonkeyPatch) -> None:
    """Compile every program in this test: a program from disk cannot be analysed."""
    from jaxbandits.programs import compilation, compilation_cache

    monkeypatch.setattr(compilation_cache, "executables_for", lambda device: None)
    compilation.clear_compiled()


def _seed(request: pytest.FixtureRequest) -> int:
    """Return the seed of a test, the same in every run; `JAXBANDITS_SEED_OFFSET` gives other draws."""
    return zlib.crc32(request.node.nodeid.encode()) + int(os.environ.get("JAXBANDITS_SEED_OFFSET", "0"))


@pytest.fixture
def rng(request: pytest.FixtureRequest) -> np.random.Generator:
    """Return a NumPy generator seeded by the name of the test."""
    return np.random.default_rng(_seed(request))


@pytest.fixture
def key(request: pytest.FixtureRequest) -> jax.Array:
    """Return a typed JAX key seeded by the name of the test."""
    return jax.random.key(_seed(request) % 2**32)
