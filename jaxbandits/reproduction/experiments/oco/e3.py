"""Erratum to Theorem 4.1 of Wang et al. (2025): CA-OONS as printed, and with three repairs."""

import math

from jaxbandits.oco import CAOONS, PseudoHuberLosses
from jaxbandits.reproduction.engine import Learners, Panel
from jaxbandits.reproduction.experiments.oco.setting import AS_PRINTED, STUDY
from jaxbandits.reproduction.sentences import observations, rate, theorems

_STUCK = math.sqrt(17.0) - 1.0  # f(4) for the minimiser 8, the loss of the printed algorithm per round


def _ca_oons(preset: str, horizon: int, panel: Panel) -> Learners:
    del preset
    dim = panel.environment.dim
    return {
        "as printed": CAOONS.theory(dim=dim, horizon=horizon, meta_loss="paper"),
        "played gradients": CAOONS.theory(dim=dim, horizon=horizon),
        "values": CAOONS.theory(dim=dim, horizon=horizon, meta_loss="value"),
        "played gradients, one a round": CAOONS.theory(dim=dim, horizon=horizon, base_grad="played"),
    }


_PANELS = {
    "still": Panel("no noise: sigma = 0, Sigma^2 = 1", PseudoHuberLosses(dim=1, center=8.0, noise_scale=0.0)),
    "noisy": Panel("targets 8 +- 0.2", PseudoHuberLosses(dim=1, center=8.0, noise_scale=0.2)),
}

E3 = STUDY.experiment(
    "e3",
    "Theorem 4.1 and equation (5), an erratum",
    title="CA-OONS as printed and as repaired: pseudo-Huber loss with its minimum at 8",
    horizon=2**13,
    presets=AS_PRINTED,
    algorithms=_ca_oons,
    panels=lambda horizon: _PANELS,
    claims=(
        *theorems("stops-growing", rate("as printed") < 0.1, on="still",
                  says="without noise, where the theorem states a regret of polylog T, the regret of the printed "
                  "CA-OONS grows by less than 0.1 per round",
                  place="(5) and Theorem 4.1; b_t is printed without a square, and the step size of the middle layer "
                  "is guessed"),
        *observations("stays-at-4", rate("as printed").between(0.99 * _STUCK, 1.01 * _STUCK), on="still",
                      says="the printed CA-OONS stays at 4, where it loses sqrt(17) - 1 = 3.123 per round "
                      "(within 1 %)"),
        *observations("stays-with-noise", rate("as printed") > 3.0, on="noisy", says="with noise the printed CA-OONS "
                                                                                "loses more than 3 per round"),
        *observations("repaired", rate("played gradients", "values", "played gradients, one a round") < 0.1,
                      on=_PANELS.keys(), says="the regret of the repaired learners grows by less than 0.1 per round"),
    ),
    notes=("Without noise all trials are identical. The learners other than 'as printed' are repaired: their meta "
        "algorithm receives gradients at the point that was played, or loss values. In 'played gradients, one a round' "
        "the base learners, too, receive the gradient at this point.",),
)
