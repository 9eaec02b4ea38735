"""E4: losses multiplied by a constant."""

from collections.abc import Mapping
from typing import Any

from jaxbandits.algorithms.oco.cla_oons import CLAOONS
from jaxbandits.algorithms.oco.clipped_parameter_free_md import ClippedParameterFreeMD
from jaxbandits.algorithms.oco.optax_learner import OptaxLearner
from jaxbandits.algorithms.oco.scale_free_ftrl import ScaleFreeFTRL
from jaxbandits.environments.oco.linear_losses import LinearLosses
from jaxbandits.reproduction.engine.claim import Claim
from jaxbandits.reproduction.engine.experiment import Panel
from jaxbandits.reproduction.engine.figures import Against, Curves
from jaxbandits.reproduction.engine.statistic import relative_change
from jaxbandits.reproduction.experiments.oco.setting import STUDY
from jaxbandits.results.trials import Trials

_SCALE_PANELS = {f"c-{scale:g}": scale for scale in (0.01, 0.1, 1.0, 10.0, 100.0)}


def _scale_learners(preset: str, horizon: int, panel: Panel) -> Mapping[str, Any]:
    """Make learners that need no G; CLA-OONS starts from B_0 = 1 whatever the losses are."""
    del preset, horizon
    dim = panel.environment.dim
    return {
        "CLA-OONS": CLAOONS(dim=dim),
        "CLA-OONS, practical": CLAOONS.practical(dim=dim),
        "clipped parameter-free MD": ClippedParameterFreeMD(dim=dim),
        "scale-free FTRL": ScaleFreeFTRL(dim=dim),
        "optax AdaGrad": OptaxLearner.adagrad(dim=dim),
    }


def _over_scale(trials: Trials, algorithm: Any, panel: Panel) -> Mapping[str, Any]:
    del algorithm
    return {"regret_over_c": trials.get("regret") / panel.x}


def _unchanged(name: str, says: str, place: str, within: float) -> tuple[Claim, ...]:
    """Claim that regret over c is that at c = 1 up to a share `within` of it, at every other c."""
    return tuple(
        Claim(
            f"{says}: regret over c of {name} within {100.0 * within:g} % of that at c = 1 (c = {scale:g})",
            place,
            relative_change(panel, "c-1", name, "regret_over_c"),
            low=-within,
            high=within,
        )
        for panel, scale in _SCALE_PANELS.items()
        if scale != 1.0
    )


E4 = STUDY.experiment(
    "e4",
    "Theorem 4.5",
    title="losses multiplied by c: regret over c",
    horizon=2**14,
    algorithms=_scale_learners,
    panels=lambda horizon: {
        name: Panel(
            f"c = {scale:g}",
            LinearLosses(dim=2, mean=0.2, noise_scale=0.8, loss_scale=scale, comparator=-2.0),
            x=scale,
        )
        for name, scale in _SCALE_PANELS.items()
    },
    metric="regret_over_c",
    derive=_over_scale,
    claims=(
        *_unchanged(
            "scale-free FTRL", "scale-free FTRL does not depend on c", "ours, on Orabona & Pal 2018", within=0.01
        ),
        *_unchanged("CLA-OONS", "CLA-OONS is scale-free", "ours", within=0.1),
    ),
    notes=(
        "Linear losses on R^2 against u = -2 e_1: a learner that runs away along -e_1 has very negative regret.",
        "CLA-OONS runs without G, which Theorem 4.5 promises; it does not promise scale-freeness.",
        "optax AdaGrad is scale-free but for the 0.1 from which its accumulators start.",
        "DoG, COCOB, Prodigy, D-Adaptation and Mechanic are left out: against a drift they run away until they "
        "overflow.",
    ),
    figures=(Against("c"), Curves()),
)
