"""E4: losses multiplied by a constant."""

from collections.abc import Mapping
from typing import Any

from jaxbandits.algorithms.oco.cla_oons import CLAOONS
from jaxbandits.algorithms.oco.clipped_parameter_free_md import ClippedParameterFreeMD
from jaxbandits.algorithms.oco.optax_learner import OptaxLearner
from jaxbandits.algorithms.oco.scale_free_ftrl import ScaleFreeFTRL
from jaxbandits.environments.oco.linear_losses import LinearLosses
from jaxbandits.experiments.engine.claim import Claim
from jaxbandits.experiments.engine.experiment import Experiment, Panel
from jaxbandits.experiments.engine.figures import Against, Curves
from jaxbandits.experiments.engine.statistic import relative_change
from jaxbandits.experiments.oco.setting import OURS, PAPER, THEORY
from jaxbandits.results.trials import Trials

_SCALES = (0.01, 0.1, 1.0, 10.0, 100.0)


def _scale_learners(preset: str, horizon: int, panel: Panel) -> Mapping[str, Any]:
    """Learners that are not told G; CLA-OONS starts from B_0 = 1 whatever the losses are."""
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


_SCALE_PANELS = {f"c-{scale:g}": scale for scale in _SCALES}

E4 = Experiment(
    name="oco/e4",
    title="losses multiplied by c: regret over c",
    source=f"ours, on {PAPER}, Theorem 4.5",
    horizon=2**14,
    seeds=256,
    presets=THEORY,
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
    claims=tuple(
        Claim(
            f"scale-free FTRL does not notice c: regret over c within 1 % of that at c = 1 (c = {scale:g})",
            "Orabona & Pal 2018", relative_change(name, "c-1", "scale-free FTRL", "regret_over_c"),
            low=-0.01, high=0.01,
        )
        for name, scale in _SCALE_PANELS.items() if scale != 1.0
    )
    + tuple(
        Claim(
            f"CLA-OONS is scale-free: regret over c within 10 % of that at c = 1 (c = {scale:g})", "ours",
            relative_change(name, "c-1", "CLA-OONS", "regret_over_c"), low=-0.1, high=0.1,
        )
        for name, scale in _SCALE_PANELS.items() if scale != 1.0
    ),
    notes=(
        OURS, "Linear losses on R^2 against u = -2 e_1: a learner that runs away along -e_1 has very negative regret.",
        "CLA-OONS runs without G, which Theorem 4.5 promises; it does not promise scale-freeness.",
        "optax AdaGrad is scale-free but for the 0.1 from which its accumulators start.",
        "DoG, COCOB, Prodigy, D-Adaptation and Mechanic are left out: against a drift they run away until they "
        "overflow.",
    ),
    figures=(Against("c"), Curves()),
)  # fmt: skip
