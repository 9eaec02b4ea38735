"""Chooses the knobs of the figures on matrix completion: `python -m jaxbandits.experiments.coco.tuning fig1`.

With `--data FILE` on the user's ratings, without it on the stand-in; for the paper's constraint and for the budget.
What it finds goes to `tuned.json` beside this file, where the experiments read it.

Every learner has two knobs, multipliers of constants that it would have otherwise (`setting`), and the same search on
the same seeds, which no figure uses: 9 x 9 values a factor of 10 apart, from 10^-4 to 10^4, over 30 % of the rounds;
then 3 x 3 a factor of sqrt(10) apart around the best of them, over all. (Coarser, or over fewer rounds, would do no
good: on MovieLens a step size has one decade in which a learner loses less than 0 does, and in 45 rounds none.) Where
the best one lies at the edge the grid grows there, up to three times. Best is the least final loss; of knobs that come
within 0.1 % of it, those nearest to 1. The constraint has no part in the choice.
"""

import argparse
import itertools
import json
import math
import time
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from jaxbandits.base.errors import InputError
from jaxbandits.experiments.coco import setting
from jaxbandits.experiments.coco.setting import METERS, Knobs
from jaxbandits.simulation import compare
from jaxbandits.simulation.grid import Grid

FIRST_SEED = 1_000_000  # the figures' seeds start at 0
_SWEPT = ("eta_scale", "gamma", "curvature", "eta", "eps", "dual_step")
_SAME = 1e-3  # relative; losses that close are alike
_WIDER = 3


class Stage(NamedTuple):
    """One grid of the search; powers count half decades, 10^(k/2)."""

    share: float  # of the rounds
    size: int  # values of a knob
    spacing: int  # half decades


STAGES = (Stage(0.3, 9, 2), Stage(1.0, 3, 1))
Powers = tuple[int, int]


class Tuned(NamedTuple):
    """Return the findings of the last stage."""

    knobs: Knobs
    relative_loss: float  # over that of the decision 0
    violation: float  # per round
    calls: float  # of the oracle, per round
    trials: int  # of all stages
    at_edge: bool  # of a grid that could grow no further


def value(power: int) -> float:
    """10^(power / 2), to three digits."""
    return float(f"{10.0 ** (power / 2):.3g}")


def search(
    environment: Any, make: Callable[..., dict[str, Any]], label: str, labels: Sequence[str], rounds: int,
    grid: Sequence[Knobs], seeds: int = 1, **options: Any,
) -> dict[Knobs, dict[str, float]]:  # fmt: skip
    """Means over seeds after `rounds` of loss (infinite where a trial failed), zero_loss, violation, oracle_calls."""

    def learner(knobs: Knobs) -> Any:
        return make(environment, rounds, dict.fromkeys(labels, knobs))[label]

    points = [{name: getattr(learner(knobs), name, None) for name in _SWEPT} for knobs in grid]
    points = [{name: number for name, number in point.items() if number is not None} for point in points]
    settings = {"record_points": 1, "meters": METERS, "first_seed": FIRST_SEED, "progress": False, **options}
    trials = compare({label: Grid(learner(Knobs()), points)}, environment, rounds, seeds, **settings)[label]
    means = {name: trials.final(name).mean(axis=1) for name in ("loss", "zero_loss", "violation", "oracle_calls")}
    means["loss"] = np.where(np.isfinite(means["loss"]), means["loss"], np.inf)
    return {knobs: {name: float(mean[k]) for name, mean in means.items()} for k, knobs in enumerate(grid)}


def narrowed(loss: Callable[[list[Powers]], dict[Powers, float]], centre: Powers, stage: Stage) -> tuple[Powers, bool]:
    """The best powers of a grid around `centre`, which grows where the best lies at its edge; whether it still does.

    Args:
      loss: of pairs of powers.
      centre: of the grid.
      stage: the grid.
    """
    sides = [[power + stage.spacing * (k - stage.size // 2) for k in range(stage.size)] for power in centre]
    losses: dict[Powers, float] = {}
    for wider in range(_WIDER + 1):
        new = [powers for powers in itertools.product(sides[0], sides[1]) if powers not in losses]
        losses |= loss(new)
        best = chosen(losses)
        at_edge = False
        for power, side in zip(best, sides, strict=True):
            if power in (side[0], side[-1]):
                at_edge = True
                if wider < _WIDER:
                    beyond = side[0] - stage.spacing if power == side[0] else side[-1] + stage.spacing
                    side[:] = sorted([*side, beyond])
        if not at_edge:
            break
    return best, at_edge


def chosen(losses: dict[Powers, float]) -> Powers:
    """The powers nearest to (0, 0) among those whose loss is the least one or nearly."""
    limit = min(losses.values())
    limit += _SAME * abs(limit)
    alike = [powers for powers, loss in losses.items() if loss <= limit]
    return min(alike, key=lambda powers: (math.hypot(*powers), losses[powers]))


def tune(problem: setting.Problem, label: str, rounds: int, seeds: int, **options: Any) -> Tuned:
    """All stages for one learner; options are those of `compare`."""
    best: Powers = (0, 0)
    at_edge, trials, measured = False, 0, {}
    for stage in STAGES:
        length = max(round(stage.share * rounds), 2)
        measured = {}

        def loss(grid: list[Powers], length: int = length, measured: dict = measured) -> dict[Powers, float]:
            knobs = {powers: Knobs(*map(value, powers)) for powers in grid}
            found = search(
                problem.environment, problem.make, label, problem.labels, length, list(knobs.values()), seeds, **options
            )
            measured |= {powers: found[pair] for powers, pair in knobs.items()}
            return {powers: found[pair]["loss"] for powers, pair in knobs.items()}

        best, at_edge = narrowed(loss, best, stage)
        trials += seeds * len(measured)
    final = measured[best]
    return Tuned(
        Knobs(*map(value, best)), final["loss"] / final["zero_loss"], final["violation"] / rounds,
        final["oracle_calls"] / rounds, trials, at_edge,
    )  # fmt: skip


def main() -> None:
    """Tunes every learner of a figure and writes down what was found."""
    parser = argparse.ArgumentParser(prog="python -m jaxbandits.experiments.coco.tuning")
    parser.add_argument("figure", choices=("fig1", "fig2"))
    parser.add_argument("--data", type=Path, help="the user's own copy of the ratings; without it the stand-in")
    parser.add_argument("--rounds", type=int, help="of the last stage; by default those of the figure")
    parser.add_argument("--seeds", type=int, help="that choose (default: 4, and 1 on data)")
    parser.add_argument("--only", nargs="+", help="labels")
    parser.add_argument("--constraint", choices=tuple(setting.CONSTRAINTS), nargs="+", default=setting.CONSTRAINTS)
    parser.add_argument("--dry-run", action="store_true", help="prints, and writes nothing")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")  # few trials are the point here
    seeds = arguments.seeds or (4 if arguments.data is None else 1)
    for constraint in arguments.constraint:
        name = setting.problem(arguments.figure, constraint, arguments.data is not None)
        problem = setting.problem_of(arguments.figure, constraint, arguments.data)
        rounds = arguments.rounds or problem.rounds
        for label in arguments.only or problem.labels:
            if label not in problem.labels:
                raise InputError(f"{arguments.figure} has no learner {label!r}; it has: {', '.join(problem.labels)}")
            begin = time.process_time()
            found = tune(problem, label, rounds, seeds)
            print(
                f"{name}, {label}: {tuple(found.knobs)}{' (edge)' if found.at_edge else ''}, loss "
                f"{found.relative_loss:.3f} of that of 0, violation {found.violation:.4g} a round, "
                f"{found.calls:.3g} oracle calls a round; {found.trials} trials, {time.process_time() - begin:.0f} s "
                "of CPU time",
                flush=True,
            )
            if not arguments.dry_run:
                _write(name, label, rounds, seeds, found)


def _write(name: str, label: str, rounds: int, seeds: int, found: Tuned) -> None:
    stored = json.loads(setting.STORED.read_text()) if setting.STORED.exists() else {}
    stored.setdefault(name, {})[label] = {
        "knobs": list(found.knobs),
        "at_edge": found.at_edge,
        "relative_loss": round(found.relative_loss, 4),
        "rounds": rounds,
        "seeds": seeds,
        "trials": found.trials,
    }
    part = setting.STORED.with_suffix(".part")
    part.write_text(json.dumps(stored, indent=2, sort_keys=True) + "\n")
    part.replace(setting.STORED)


if __name__ == "__main__":
    try:
        main()
    except InputError as error:
        raise SystemExit(f"error: {error}") from None
