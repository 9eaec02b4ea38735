"""The tests run where pytest has no plug-ins, as on a machine on which nothing can be installed."""

import os
import subprocess
import sys

from tests.doc_blocks import ROOT


def test_options_of_the_project_need_no_plugin():
    command = [sys.executable, "-m", "pytest", "--noconftest", "--markers"]
    environment = {**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PYTHONPATH": "."}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
