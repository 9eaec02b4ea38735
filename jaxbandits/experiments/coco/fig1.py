"""Figure 1: online matrix completion with full information, on MovieLens-100k or a stand-in."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from jaxbandits.environments.coco.matrix_completion import MatrixCompletion
from jaxbandits.environments.datasets.movielens import load_movielens
from jaxbandits.experiments.claim import Claim
from jaxbandits.experiments.coco import setting
from jaxbandits.experiments.coco.setting import METERS, PAPER, PRESETS, TUNED
from jaxbandits.experiments.declare import Experiment, Panel
from jaxbandits.experiments.drawings import Curves
from jaxbandits.experiments.statistic import final_mean, mean_difference


def _learners(preset: str, horizon: int, panel: Panel) -> Mapping[str, Any]:
    environment = panel.environment
    if preset == "theory":
        return setting.full_information_theory(environment, horizon)
    return setting.full_information(environment, horizon, TUNED[setting.problem("fig1", environment)])


def _panels(environments: Mapping[str, MatrixCompletion]) -> Mapping[str, Panel]:
    return {name: Panel(setting.TITLES[name], environment) for name, environment in environments.items()}


def _from_file(path: Path) -> Mapping[str, Any]:
    ratings = load_movielens(path)
    environments = {name: MatrixCompletion.from_ratings(ratings, constraint=name) for name in setting.TITLES}
    return {
        "title": "online matrix completion, full information, MovieLens-100k (943 x 1682)",
        "panels": lambda horizon: _panels(environments),
        "horizon": 1000,
    }


def _claims(panel: str) -> tuple[Claim, ...]:
    better = [("OFW-TVC", "OPDP", "loss"), ("OFW-TVC", "LPM", "loss"), ("SCOFW-TVC", "OFW-TVC", "loss")]
    better += [("SCOFW-TVC", "OPDP", "loss"), ("SCOFW-TVC", "LPM", "loss")]
    better += [("OFW-TVC", "OPDP", "violation"), ("OFW-TVC", "LPM", "violation"), ("OFW-TVC", "SCOFW-TVC", "violation")]
    return tuple(
        Claim(
            f"{first} ends below {second} in the mean: cumulative {metric} ({panel})", "Figure 1",
            mean_difference(panel, first, second, metric=metric), high=0.0, trials=10,
        )
        for first, second, metric in better
    )  # fmt: skip


FIG1 = Experiment(
    name="coco/fig1",
    title="online matrix completion, full information, stand-in for MovieLens (20 x 26)",
    source=f"{PAPER}, Figure 1",
    horizon=1500,
    seeds=10,
    presets=PRESETS,
    algorithms=_learners,
    panels=lambda horizon: _panels({name: setting.stand_in(name) for name in setting.TITLES}),
    from_file=_from_file,
    metric="loss",
    tabulated=("violation", "relative_loss", "violation_share", "oracle_calls", "oracle_residual"),
    meters=METERS,
    derive=setting.shares,
    record=50,
    claims=_claims("figure")
    + _claims("budget")
    + tuple(
        Claim(
            f"the constraints of the figure cannot be learned: {name} violates 0.23 ||X_t|| a round (within 10 %)",
            "ours: E max(<P, X>, 0) = ||X|| / sqrt(6 pi)",
            final_mean("figure", name, "violation_share"), low=0.207, high=0.253, trials=10,
        )
        for name in setting.FULL
    ),
    notes=(
        *setting.NOTES,
        "LPM and OPDP are reconstructions. LPM asks the oracle per block and not per round: see the figure against "
        "oracle calls.",
    ),
    figures=(
        Curves(),
        Curves(metric="violation", name="violation"),
        Curves(x="oracle_calls", name="calls"),
        Curves(metric="violation", x="oracle_calls", name="violation-calls"),
    ),
)  # fmt: skip
