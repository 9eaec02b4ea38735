"""Install the packages of the extra `peers` separately, and print those that cannot be installed on this Python.

python benchmarks/peers/install.py PYTHON     PYTHON: interpreter of the environment to install into
"""

import subprocess
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def main(python: str) -> None:
    pip = [python, "-m", "pip", "install", "--quiet", "--constraint", str(ROOT / "constraints.txt")]
    subprocess.run([*pip, "-e", str(ROOT), "pytest"], check=True, capture_output=True)
    extra = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]["peers"]
    for requirement in extra:
        done = subprocess.run([*pip, requirement], capture_output=True, text=True)
        if done.returncode:
            reason = [line for line in done.stderr.splitlines() if line.lower().startswith("error")]
            print(f"not installed: {requirement} ({reason[-1] if reason else 'pip failed'})", flush=True)


if __name__ == "__main__":
    main(sys.argv[1])
