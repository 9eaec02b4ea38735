"""Tunes the presets `practical` and writes the table that they read: python tools/multipliers.py linear (or glm).

Runs the sweeps of a paper in `benchmarks/sweeps` (killed, the same command goes on; once the table is written the
package is another one, which sweeps notice: `--read` takes finished ones as they are, another `--out` begins anew) and
takes for each learner the multipliers with the least mean regret over all settings and seeds; of those within 1 %, the
ones nearest to 1 (`jaxbandits.experiments.engine.tuning`). docs/verdicts.md has the protocol and what it costs.
"""

import argparse
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import jax
import numpy as np

from jaxbandits import Result, load_sweep, run_sweep
from jaxbandits.base.files import write_atomically
from jaxbandits.experiments.engine.tuning import TOLERANCE, at_edge, best
from jaxbandits.results.trials import Trials
from jaxbandits.sweeps import file as sweep_file

ROOT = Path(__file__).parent.parent
SWEEPS = {
    "linear": ("linear_tuning", "linear_tuning_slow"),
    "glm": ("glm_tuning", "glm_tuning_slow"),
}
HEADER = '''"""What multiplies the constants of the presets `practical`, by name of the learner; written, not edited.

`python tools/multipliers.py {family}` tunes all of them alike, by
{files} (docs/verdicts.md).
"""

MULTIPLIERS: dict[str, dict[str, float]] = {{
'''


class Chosen(NamedTuple):
    """What a sweep found for a learner."""

    point: dict[str, float]
    regret: float  # mean over seeds and environments
    n_points: int
    seeds: int  # of each environment
    rounds: int
    at_edge: bool


def path_of(name: str) -> Path:
    """The sweep file of a name."""
    return ROOT / "benchmarks" / "sweeps" / f"{name}.toml"


def table_of(family: str) -> Path:
    """The module that holds the table."""
    return ROOT / "jaxbandits" / "algorithms" / family / "multipliers.py"


def choose(result: Result) -> dict[str, Chosen]:
    """The best multipliers of every learner, all its environments together.

    Args:
      result: final regrets, labels `learner@environment` or `learner`; fields that end in `_scale` are multipliers,
        others settings that are averaged over.
    """
    regrets: dict[str, dict[tuple[Any, ...], list[float]]] = {}
    settings: dict[str, Trials] = {}
    for label, trials in result.trials.items():
        name = label.partition("@")[0]
        settings[name] = trials
        scores = np.where(trials.usable("regret"), trials.final("regret"), np.inf).mean(axis=1)
        for point, score in zip(trials.points, scores, strict=True):
            multipliers = tuple((field, value) for field, value in point.items() if field.endswith("_scale"))
            regrets.setdefault(name, {}).setdefault(multipliers, []).append(float(score))
    found = {}
    for name, of in regrets.items():
        points, means = [dict(key) for key in of], [float(np.mean(scores)) for scores in of.values()]
        i = best(points, means, TOLERANCE)
        point = {field: rounded(value) for field, value in points[i].items()}
        trials, edge = settings[name], at_edge(points, points[i])
        found[name] = Chosen(point, means[i], len(points), len(trials.seeds), trials.horizon, edge)
    return found


def rounded(value: float) -> float:
    """To the digits that a table has."""
    return float(f"{value:.4g}")


def module(family: str, chosen: Mapping[str, Chosen]) -> str:
    """The table as a module."""
    names = " and ".join(f"benchmarks/sweeps/{name}.toml" for name in SWEEPS[family])
    lines = [HEADER.format(family=family, files=names)]
    for name, found in sorted(chosen.items()):
        edge = " (edge)" if found.at_edge else ""
        fields = ", ".join(f'"{field}": {value!r}' for field, value in found.point.items())
        lines.append(
            f"    # mean regret {found.regret:.4g}{edge}: {found.n_points} points, {found.seeds} seeds, "
            f"{found.rounds:,} rounds\n"
            f'    "{name}": {{{fields}}},\n'
        )
    return "".join([*lines, "}\n"])


def tune(family: str, out: Path, only: Sequence[str] = (), read: bool = False) -> dict[str, Chosen]:
    """Runs the sweeps of a family, as far as they are not done, and chooses; `only` for some learners.

    Args:
      family: of the learners.
      out: where the sweeps are.
      only: names of learners; none: all.
      read: whether to take the sweeps as they are there.
    """
    found: dict[str, Chosen] = {}
    for name in SWEEPS[family]:
        document = sweep_file.read(path_of(name))
        wanted = {k: v for k, v in document.content["algorithms"].items() if not only or k in only}
        if not wanted:
            continue
        document.content["algorithms"] = wanted
        jax.config.update("jax_enable_x64", document.precision == "float64")
        directory = out / "-".join([name, *only])
        result = load_sweep(directory) if read else run_sweep(sweep_file.sweep_of(document), directory, progress=False)
        found |= choose(result.final("regret"))
    return found


def main() -> None:
    """Tunes a family and writes its table."""
    parser = argparse.ArgumentParser(prog="python tools/multipliers.py")
    parser.add_argument("family", choices=tuple(SWEEPS))
    parser.add_argument("--out", type=Path, default=ROOT / "results", help="where the sweeps go (default: results)")
    parser.add_argument("--only", nargs="+", default=(), help="learners, as the sweep files name them; writes nothing")
    parser.add_argument("--read", action="store_true", help="runs nothing: reads finished sweeps, of any version")
    parser.add_argument("--dry-run", action="store_true", help="prints the table instead of writing it")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    body = module(arguments.family, tune(arguments.family, arguments.out, arguments.only, arguments.read))
    print(body, end="")
    if not arguments.dry_run and not arguments.only:
        write_atomically(table_of(arguments.family), body.encode())


if __name__ == "__main__":
    main()
