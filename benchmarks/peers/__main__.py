"""Race this package against other installed packages: the same instances, one pinned core, one process per driver.

python -m benchmarks.peers                     all cases; prints the tables as Markdown
python -m benchmarks.peers --only ucb1 ogd     only these cases
python -m benchmarks.peers --write             also puts the tables into docs/peers.md

`make peers` installs all packages that can be installed (into `.cache/peers`) and writes the page.
"""

import argparse
import datetime
import json
import os
import platform
import re
import subprocess
import sys
from importlib import metadata
from pathlib import Path

from scipy import stats

from benchmarks.peers.drivers import DRIVERS
from benchmarks.peers.problems import CASES

PAGE = Path(__file__).resolve().parents[2] / "docs" / "peers.md"
BETWEEN = re.compile(r"(<!-- measured -->\n).*(<!-- /measured -->)", re.DOTALL)


def _measure(index: int, core: int, seconds: float) -> dict:
    """Run a driver in a process whose affinity is set before anything is imported."""
    command = [sys.executable, "-m", "benchmarks.peers.measure", str(index), "--seconds", str(seconds)]
    pin = (lambda: os.sched_setaffinity(0, {core})) if hasattr(os, "sched_setaffinity") else None
    settings = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "JAXBANDITS_CACHE": "off"}
    done = subprocess.run(command, capture_output=True, text=True, preexec_fn=pin, env={**os.environ, **settings})
    if done.returncode:
        raise SystemExit(f"{' '.join(command)} failed:\n{done.stderr[-2000:]}")
    return json.loads(done.stdout.splitlines()[-1])


def _digits(rate: float) -> str:
    return f"{rate:,.0f}" if rate < 1e6 else f"{rate / 1e6:.1f} M"


def _rows(case: str, measured: dict[int, dict]) -> list[str]:
    """Return the rows of a case: jaxbandits first, then the other packages by speed."""
    here = [(i, measured[i]) for i in measured if DRIVERS[i].case == case]
    here.sort(key=lambda item: (DRIVERS[item[0]].package != "jaxbandits", -item[1]["rate"]))
    ours = next((run for i, run in here if DRIVERS[i].package == "jaxbandits"), None)
    rows = []
    for i, run in here:
        driver = DRIVERS[i]
        half = stats.t.ppf(0.975, run["trials"] - 1) * run["error"]
        interval = f"{run['mean']:.1f} ± {half:.1f}"
        ratio = agrees = ""
        if ours is not None and run is not ours:
            ratio = f"{ours['rate'] / run['rate']:,.0f}"
            z = (run["mean"] - ours["mean"]) / (run["error"] ** 2 + ours["error"] ** 2) ** 0.5
            agrees = driver.differs or f"{'yes' if abs(z) < 3.0 else 'no'} ({z:+.1f})"
        rows.append(
            f"| {driver.package} | {_digits(run['rate'])} | {ratio} | {interval} | {run['trials']:,} | {agrees} |"
        )
    return rows


def tables(measured: dict[int, dict]) -> str:
    """Return all measurements as Markdown."""
    packages = sorted({DRIVERS[i].package for i in measured if "(" not in DRIVERS[i].package}, key=str.lower)
    versions = ", ".join(f"{name} {metadata.version(name)}" for name in [*packages, "jax", "numpy"])
    parts = [f"Measured on {datetime.date.today()} with `make peers`: Python {platform.python_version()}, {versions}."]
    for case in CASES.values():
        rows = _rows(case.name, measured)
        if rows:
            head = "| package | rounds per CPU second | speed-up of jaxbandits | mean regret, 95 % | trials | agrees |"
            parts.append(f"**{case.title}**, {case.horizon:,} rounds\n\n" + "\n".join([head, "|---" * 6 + "|", *rows]))
    starts = [_start(case.title, case.name, measured) for case in CASES.values()]
    head = (
        "| case | CPU time of the first call, compilation included | rounds of the fastest other package in this time |"
    )
    parts.append("\n".join([head, "|---" * 3 + "|", *filter(None, starts)]))
    return "\n\n".join(parts) + "\n\n"


def _start(title: str, case: str, measured: dict[int, dict]) -> str:
    """Return a row with the time of the first call, and the rounds of the fastest other package in this time."""
    here = {DRIVERS[i].package: run for i, run in measured.items() if DRIVERS[i].case == case}
    ours = here.pop("jaxbandits", None)
    if ours is None or not here:
        return ""
    name, rate = max(((name, run["rate"]) for name, run in here.items()), key=lambda item: item[1])
    return f"| {title} | {ours['first_s']:.1f} s | {name}, {ours['first_s'] * rate:,.0f} rounds |"


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.peers")
    parser.add_argument("--only", nargs="+", metavar="CASE", choices=list(CASES), default=list(CASES))
    parser.add_argument("--seconds", type=float, default=20.0, help="CPU seconds for each package and case")
    parser.add_argument("--write", action="store_true", help="write the tables to docs/peers.md")
    arguments = parser.parse_args()
    core = max(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else 0
    measured: dict[int, dict] = {}
    for i, driver in enumerate(DRIVERS):
        if driver.case not in arguments.only:
            continue
        if not driver.installed:
            print(f"{driver.case}: {driver.package} is not installed", file=sys.stderr)
            continue
        measured[i] = _measure(i, core, arguments.seconds)
        print(f"{driver.case}: {driver.package} {_digits(measured[i]['rate'])} rounds/s", file=sys.stderr, flush=True)
    text = tables(measured)
    print(text)
    if arguments.write:
        PAGE.write_text(BETWEEN.sub(lambda found: found[1] + text + found[2], PAGE.read_text()))


if __name__ == "__main__":
    main()
