"""How the knobs of `setting.TUNED` were chosen: `python -m jaxbandits.experiments.coco.tuning PROBLEM ROUNDS`.

Two knobs a learner, each over `setting.GRID`, one trial of another base seed than the figures', least final loss. The
knobs that are best at the edge of the grid say so in what is printed; the constraint has no part in the choice, so that
the winners tend to have little weight on it (which is how the comparison of the paper's figures reads best: by loss).
"""

import argparse
import itertools
import warnings
from collections.abc import Callable, Sequence
from typing import Any

from jaxbandits.experiments.coco import setting
from jaxbandits.experiments.coco.setting import GRID, METERS, Knobs
from jaxbandits.simulation import compare
from jaxbandits.simulation.grid import Grid

SEED = 1  # the figures' is 0
_SWEPT = ("eta_scale", "gamma", "curvature", "eta", "dual_step")


def search(
    environment: Any, make: Callable[..., dict[str, Any]], label: str, labels: Sequence[str], rounds: int,
    grid: Sequence[Knobs], **options: Any,
) -> list[tuple[float, float, float, Knobs]]:  # fmt: skip
    """Loss, violation and oracle calls after `rounds` for every pair of knobs, the least loss first."""

    def learner(knobs: Knobs) -> Any:
        return make(environment, rounds, dict.fromkeys(labels, knobs))[label]

    points = [
        {name: getattr(learner(knobs), name) for name in _SWEPT if hasattr(learner(knobs), name)} for knobs in grid
    ]
    swept = Grid(learner(Knobs()), points)
    settings = {"record": 1, "meters": METERS, "seed": SEED, "progress": False, **options}
    trials = compare({label: swept}, environment, rounds, 1, **settings)[label]
    columns = [trials.values[name][:, 0, -1] for name in ("loss", "violation", "oracle_calls")]
    return sorted(zip(*(map(float, column) for column in columns), grid, strict=True))


def main() -> None:
    """Prints the best knobs of each learner."""
    parser = argparse.ArgumentParser(prog="python -m jaxbandits.experiments.coco.tuning")
    parser.add_argument("problem", choices=sorted(setting.PROBLEMS))
    parser.add_argument("rounds", type=int)
    parser.add_argument("--grid", type=float, nargs="+", default=GRID, help="values of both knobs")
    parser.add_argument("--only", nargs="+", help="labels")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")  # one trial is the point here
    environment, make, labels = setting.PROBLEMS[arguments.problem]()
    for label in arguments.only or labels:
        grid = [Knobs(*pair) for pair in itertools.product(arguments.grid, arguments.grid)]
        print(label)
        for loss, violation, calls, knobs in search(environment, make, label, labels, arguments.rounds, grid)[:4]:
            edge = " (edge)" if {*knobs} & {min(arguments.grid), max(arguments.grid)} else ""
            print(f"  {tuple(knobs)}{edge}: loss {loss:.4g}, violation {violation:.4g}, {calls:.0f} calls", flush=True)


if __name__ == "__main__":
    main()
