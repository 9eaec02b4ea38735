"""Fixtures and hooks of all tests: precision, keys and generators, hypothesis without a clock, slow tests.

`pytest` runs everything but `tests/float32` in 64 bits, `pytest tests/float32` the rest in 32 bits: the switch belongs
to the process, so one process has one precision, and tests of the other one are deselected. `JAX_ENABLE_X64` overrides.

Most functions that tests compile run a few times each: they are compiled fast rather than well, which saves 40 % of
the suite; passes that make loops faster are left out as well. Tests of the programs that users get (simulation,
float32) are compiled as for users if pytest is given those directories alone, as `make test` does.
"""

import collections
import gc
import json
import os
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

os.environ.setdefault("MPLBACKEND", "Agg")

import hypothesis
import jax
import numpy as np
import pytest

FLOAT32 = Path(__file__).parent / "float32"
AS_SHIPPED = (FLOAT32, *(FLOAT32.parent / room for room in ("engine", "programs", "simulation")))
DURATIONS = FLOAT32.parent / "durations.json"  # CPU seconds from 1 on, by file and test; null: slow, not measured
QUICK_SECONDS = 1.5  # up to which `make test` runs a test
USUAL_SECONDS, UNMEASURED_SECONDS = 0.1, 30.0  # of a test that DURATIONS lacks, and of a null
PAIRED = ("tests/testing/test_contract.py", "tests/engine/test_split.py")  # whose tests end in the name of a check
FAST_COMPILE = (
    "--xla_backend_optimization_level=0 --xla_llvm_disable_expensive_passes=true --xla_disable_hlo_passes="
    "while-loop-constant-sinking,while-loop-invariant-code-motion,while-loop-simplifier,while-loop-concat-code-motion"
)

hypothesis.settings.register_profile("jaxbandits", deadline=None, derandomize=True, max_examples=25)
hypothesis.settings.load_profile("jaxbandits")

_SECONDS, _START = pytest.StashKey[float](), pytest.StashKey[float]()
UNKNOWN_TESTS = pytest.StashKey[dict[str, list[str]]]()  # of the whole run: names in DURATIONS without a test


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option of `make durations`."""
    parser.addoption("--write-durations", action="store_true", help="write the CPU seconds of each test to a table")


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
    whole = not any("::" in arg for arg in config.args)
    config.stash[UNKNOWN_TESTS] = _mark_slow_tests(items) if whole else {}


@pytest.hookimpl(trylast=True, specname="pytest_collection_modifyitems")
def pytest_sort_items(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Put the groups that take longest first, so that parallel processes end together."""
    if hasattr(config, "workerinput"):
        seconds = collections.Counter()
        for item in items:
            seconds[_group(item.nodeid)] += item.stash[_SECONDS]
        items.sort(key=lambda item: -seconds[_group(item.nodeid)])


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Run each group in one process, in the order of collection.

    Pytest-xdist 3.8 ignores its marks of groups with pytest 9.2, and every process compiles everything.
    """
    from xdist.scheduler import LoadFileScheduling

    class GroupScheduling(LoadFileScheduling):
        def _split_scope(self, nodeid: str) -> str:
            return _group(nodeid)

    config.option.loadscopereorder = False  # by the number of tests
    return GroupScheduling(config, log)


def _group(nodeid: str) -> str:
    """Return the name of the tests that share compiled programs: a module, or the checks of one learner."""
    file = nodeid.partition("::")[0]
    return nodeid.rpartition("-")[0] if file in PAIRED and "-" in nodeid else file


def _mark_slow_tests(items: list[pytest.Item]) -> dict[str, list[str]]:
    """Mark the tests that `make test` leaves out, by the table of measured seconds; a test that it lacks is quick.

    Returns:
      By file, the tests in the table that are none of `items`, of files that have some.
    """
    table = json.loads(DURATIONS.read_text(encoding="utf-8"))
    for item in items:
        file, _, name = item.nodeid.partition("::")
        seconds = table.get(file, {}).pop(name, USUAL_SECONDS)
        item.stash[_SECONDS] = UNMEASURED_SECONDS if seconds is None else seconds
        if item.stash[_SECONDS] > QUICK_SECONDS:
            item.add_marker(pytest.mark.slow)
    files = {item.nodeid.partition("::")[0] for item in items}
    return {file: list(names) for file, names in table.items() if names and file in files}


def _cpu_seconds() -> float:
    return sum(os.times()[:4])  # of this process and of those it waited for


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Start the clock of a test."""
    item.stash[_START] = _cpu_seconds()


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> None:
    """Pass the seconds of a test that passed to the process that writes the table."""
    if call.when == "call" and call.excinfo is None:
        item.user_properties.append((item.nodeid, _cpu_seconds() - item.stash[_START]))


_measured: dict[str, float] = {}


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Collect the seconds of a test."""
    if report.when == "call":
        _measured.update(report.user_properties)


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Update the table with the measured seconds."""
    if not session.config.getoption("write_durations") or hasattr(session.config, "workerinput"):
        return
    table = json.loads(DURATIONS.read_text(encoding="utf-8"))
    for test, seconds in _measured.items():
        file, _, name = test.partition("::")
        table.setdefault(file, {}).pop(name, None)
        if seconds >= 1.0:
            table[file][name] = round(seconds, 1)
    table = {file: tests for file, tests in table.items() if tests}
    DURATIONS.write_text(json.dumps(table, indent=0, sort_keys=True) + "\n", encoding="utf-8")


@pytest.fixture(autouse=True)
def _same_precision() -> Iterator[None]:
    """Restore the precision: the command line, called in this process, sets that of its own run."""
    x64 = jax.config.jax_enable_x64
    yield
    jax.config.update("jax_enable_x64", x64)


@pytest.fixture
def compiled_here(monkeypatch: pytest.MonkeyPatch) -> None:
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
