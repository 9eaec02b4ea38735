"""The persistent compilation cache: where it lies, what switches it off, and that a second process finds programs."""

import os
import subprocess
import sys
from pathlib import Path

import jax
import pytest
from jax.experimental.compilation_cache import compilation_cache as of_jax

from jaxbandits.programs import compilation_cache
from jaxbandits.programs.compilation_cache import choose_directory, cpu_kind

ROOT = Path(__file__).parents[2]
RUN = """
import sys
import jax
compiled = []  # whoever asked for it: our programs, and operations outside them
jax.monitoring.register_event_duration_secs_listener(
    lambda event, *_, **__: "backend_compile" in event and compiled.append(event)
)
from jaxbandits.simulation import simulate
from tests.toy_problems import Noisy, Shrink
simulate(Shrink(), Noisy(), 10, 2, progress=False)
assert "tqdm" not in sys.modules and "scipy" not in sys.modules, "imported for nothing"
print(len(compiled), jax.config.jax_compilation_cache_dir)
"""


def run(**environment):
    """Return the number of programs that XLA compiled for a process, the directory of JAX's cache, and its errors."""
    inherited = {k: v for k, v in os.environ.items() if not k.startswith("JAX")}
    done = subprocess.run(
        [sys.executable, "-c", RUN], env={**inherited, **environment}, cwd=ROOT, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    built, directory = done.stdout.split()
    return int(built), directory, done.stderr


def test_the_directory_follows_the_settings(tmp_path):
    home = {"XDG_CACHE_HOME": str(tmp_path)}
    assert choose_directory(home, "zen") == tmp_path / "jaxbandits" / "programs" / "zen"
    assert choose_directory(home, "zen") != choose_directory(home, "skylake")
    assert choose_directory(home | {"JAXBANDITS_CACHE": str(tmp_path / "mine")}, "zen") == tmp_path / "mine" / "zen"
    for off in ("off", "0", "OFF"):
        assert choose_directory(home | {"JAXBANDITS_CACHE": off}, "zen") is None
    assert choose_directory({}, "zen") == Path.home() / ".cache" / "jaxbandits" / "programs" / "zen"
    assert cpu_kind() == cpu_kind()


@pytest.mark.slow
@pytest.mark.system
def test_a_second_process_finds_the_programs_of_the_first(tmp_path):
    first, directory, _ = run(JAXBANDITS_CACHE=str(tmp_path))
    assert (first, directory) == (3, "None")  # JAX's cache, which belongs to the process, stays off
    assert [path.name for path in tmp_path.iterdir()] == [cpu_kind()]
    assert run(JAXBANDITS_CACHE=str(tmp_path)) == (0, "None", "")


@pytest.mark.slow
@pytest.mark.system
def test_other_settings_are_respected(tmp_path):
    home = {"HOME": str(tmp_path), "XDG_CACHE_HOME": str(tmp_path)}
    assert run(JAXBANDITS_CACHE="off", **home)[:2] == (3, "None")
    assert list(tmp_path.iterdir()) == []
    for _ in range(2):
        assert run(JAX_COMPILATION_CACHE_DIR=str(tmp_path / "jax"), **home)[:2] == (3, str(tmp_path / "jax"))
    assert [path.name for path in tmp_path.iterdir()] == ["jax"]


def test_an_accelerator_has_the_cache_of_jax(tmp_path, monkeypatch):
    class Accelerator:
        platform = "gpu"

    settings = ("jax_compilation_cache_dir", "jax_compilation_cache_max_size", "jax_enable_compilation_cache")
    before = {name: getattr(jax.config, name) for name in settings}
    monkeypatch.setattr(compilation_cache, "cache_directory", lambda: tmp_path)
    try:
        jax.config.update("jax_compilation_cache_dir", None)
        jax.config.update("jax_enable_compilation_cache", True)
        assert compilation_cache.executables_for(jax.local_devices()[0]).directory == tmp_path
        assert compilation_cache.executables_for(Accelerator()) is None
        assert jax.config.jax_compilation_cache_dir == str(tmp_path)
        assert compilation_cache.executables_for(jax.local_devices()[0]) is None  # from now on it has its programs
    finally:
        for name, value in before.items():
            jax.config.update(name, value)
        of_jax.reset_cache()


@pytest.mark.slow
@pytest.mark.system
def test_an_unwritable_place_is_no_cache(tmp_path):
    (tmp_path / "file").write_text("")
    built, directory, errors = run(JAXBANDITS_CACHE=str(tmp_path / "file"))  # nobody can make a directory in a file
    assert (built, directory, errors) == (3, "None", "")
