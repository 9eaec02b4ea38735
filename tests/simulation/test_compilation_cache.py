"""The persistent compilation cache: where it lies, what switches it off, and that a second process finds programs."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from jaxbandits.simulation.compilation_cache import choose, cpu_kind

ROOT = Path(__file__).parents[2]
RUN = """
import jax, sys
import jax.numpy as jnp
jnp.ones(3).block_until_ready()  # something is compiled before the cache is switched on
from jax import monitoring
hits = []
monitoring.register_event_listener(lambda event, **_: hits.append(event) if event.endswith("cache_hits") else None)
from jaxbandits.simulation import simulate
from tests.toys import Noisy, Shrink
simulate(Shrink(), Noisy(), 10, 2, progress=False)
print(len(hits), jax.config.jax_compilation_cache_dir)
"""


def run(**environment):
    inherited = {k: v for k, v in os.environ.items() if not k.startswith("JAX")}
    done = subprocess.run(
        [sys.executable, "-c", RUN], env={**inherited, **environment}, cwd=ROOT, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    hits, directory = done.stdout.split()
    return int(hits), directory, done.stderr


def test_the_directory_follows_the_settings(tmp_path):
    home = {"XDG_CACHE_HOME": str(tmp_path)}
    assert choose(home, "zen") == tmp_path / "jaxbandits" / "programs" / "zen"
    assert choose(home, "zen") != choose(home, "skylake")
    assert choose(home | {"JAXBANDITS_CACHE": str(tmp_path / "mine")}, "zen") == tmp_path / "mine" / "zen"
    for off in ("off", "0", "OFF"):
        assert choose(home | {"JAXBANDITS_CACHE": off}, "zen") is None
    assert choose({}, "zen") == Path.home() / ".cache" / "jaxbandits" / "programs" / "zen"
    assert cpu_kind() == cpu_kind()


@pytest.mark.system
def test_a_second_process_finds_the_programs_of_the_first(tmp_path):
    first, directory, _ = run(JAXBANDITS_CACHE=str(tmp_path))
    assert first == 0
    assert Path(directory) == tmp_path / cpu_kind()
    again, _, _ = run(JAXBANDITS_CACHE=str(tmp_path))
    assert again > 0


@pytest.mark.slow
@pytest.mark.system
def test_other_settings_are_respected(tmp_path):
    assert run(JAXBANDITS_CACHE="off")[:2] == (0, "None")
    assert run(JAX_COMPILATION_CACHE_DIR=str(tmp_path / "jax"))[1] == str(tmp_path / "jax")


@pytest.mark.system
def test_an_unwritable_place_is_no_cache(tmp_path):
    (tmp_path / "file").write_text("")
    hits, directory, errors = run(JAXBANDITS_CACHE=str(tmp_path / "file"))  # nobody can make a directory in a file
    assert (hits, directory, errors) == (0, "None", "")
