"""Figure 2: online matrix completion with bandit feedback, on FilmTrust or a stand-in."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from jaxbandits.environments.coco.matrix_completion import MatrixCompletion
from jaxbandits.environments.datasets.filmtrust import load_filmtrust
from jaxbandits.experiments.claim import Claim
from jaxbandits.experiments.coco import setting
from jaxbandits.experiments.coco.setting import METERS, PAPER, PRESETS, TUNED
from jaxbandits.experiments.declare import Experiment, Panel
from jaxbandits.experiments.drawings import Curves
from jaxbandits.experiments.statistic import mean_difference


def _learners(preset: str, horizon: int, panel: Panel) -> Mapping[str, Any]:
    environment = panel.environment
    if preset == "theory":
        return setting.bandit_theory(environment, horizon)
    return setting.bandit(environment, horizon, TUNED[setting.problem("fig2", environment)])


def _panels(environments: Mapping[str, MatrixCompletion]) -> Mapping[str, Panel]:
    return {name: Panel(setting.TITLES[name], environment) for name, environment in environments.items()}


def _from_file(path: Path) -> Mapping[str, Any]:
    ratings = load_filmtrust(path)
    environments = {name: MatrixCompletion.from_ratings(ratings, batch=8, constraint=name) for name in setting.TITLES}
    return {
        "title": "online matrix completion, bandit feedback, FilmTrust (1508 x 2071)",
        "panels": lambda horizon: _panels(environments),
        "horizon": len(ratings) // 8,
    }


FIG2 = Experiment(
    name="coco/fig2",
    title="online matrix completion, bandit feedback, stand-in for FilmTrust (5 x 6)",
    source=f"{PAPER}, Figure 2",
    horizon=4096,
    seeds=10,
    presets=PRESETS,
    algorithms=_learners,
    panels=lambda horizon: _panels({name: setting.bandit_stand_in(name) for name in setting.TITLES}),
    from_file=_from_file,
    metric="loss",
    tabulated=("violation", "relative_loss", "violation_share", "oracle_calls", "oracle_residual"),
    meters=METERS,
    derive=setting.shares,
    record=50,
    claims=tuple(
        Claim(
            f"{name} ends below LBPM in the mean: cumulative {metric} ({panel})", "Figure 2",
            mean_difference(panel, name, "LBPM", metric=metric), high=0.0, trials=10,
        )
        for panel in setting.TITLES
        for name in ("BFW-TVC", "SCBFW-TVC")
        for metric in ("loss", "violation")
    ),
    notes=(
        *setting.NOTES,
        "LBPM is a reconstruction. Learners see values only; all perturb by 0.3 of the inner radius.",
        "On FilmTrust (d = 3.1 million) a one-point estimate has length d / delta times the value of a round: within a "
        "pass of 4436 rounds no learner of this kind can be expected to move for the better.",
    ),
    figures=(
        Curves(),
        Curves(metric="violation", name="violation"),
        Curves(x="oracle_calls", name="calls"),
        Curves(metric="violation", x="oracle_calls", name="violation-calls"),
    ),
)  # fmt: skip
