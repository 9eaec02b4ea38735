"""XLA's options are those that XLA has read, whatever stands in the environment afterwards."""

import os
import subprocess
import sys

import pytest

_PROCESS = """
import os, jax
from jaxbandits.tracing.settings import settings

jax.devices()
os.environ["XLA_FLAGS"] = "--xla_cpu_enable_fast_math=true"
print(settings()["xla_options"])
"""


@pytest.mark.slow
def test_flags_count_as_read_and_files_of_flags_by_content(tmp_path):
    def options(flags):
        environment = os.environ | {"XLA_FLAGS": flags}
        command = [sys.executable, "-c", _PROCESS]
        return subprocess.run(command, capture_output=True, text=True, check=True, env=environment).stdout

    file = tmp_path / "flags"
    file.write_text("--xla_cpu_enable_fast_math=true")
    fast = options("--xla_cpu_enable_fast_math=true")
    assert options(str(file)) == fast
    file.write_text("--xla_cpu_enable_fast_math=false")
    assert options(str(file)) == options("") != fast
