"""Figure 2 of Russac et al. (2019): a linear bandit whose parameter turns slowly by a right angle."""

from collections.abc import Mapping

import numpy as np

from jaxbandits.reproduction.engine import Panel
from jaxbandits.reproduction.experiments.classics.setting import RUSSAC, forgetting, forgetting_claims, moving_arms

_VARIATION = 1.5702727100817697  # the length of the path, as the authors' notebook prints it
_TURNING, _ROUNDS = 3000, 6000
_ON = "turn"


def _panels(horizon: int) -> Mapping[str, Panel]:
    del horizon
    angle = 0.5 * np.pi * np.minimum(np.arange(_ROUNDS) / _TURNING, 1.0)
    path = np.stack([np.cos(angle), np.sin(angle)], axis=1)
    return {_ON: Panel("theta turns by 90 degrees in 3,000 rounds", moving_arms(path))}


RUSSAC_FIG2 = RUSSAC.experiment(
    "russac-fig2",
    "Figure 2",
    title="linear bandit whose parameter turns slowly",
    shows="Figure 2 is about a parameter that turns slowly. It shows the estimates of the parameter in the plane and, "
        "in a second panel, the regret over the rounds with quantile bands, for D-LinUCB, SW-LinUCB, dLinUCB and "
        "LinUCB. The authors' notebook has the settings of Figure 1, but a parameter that moves by a right angle on "
        "the unit circle in 3,000 rounds and then stays where it is for 3,000 rounds.",
    algorithms=forgetting(_VARIATION),
    panels=_panels,
    claims=forgetting_claims("Figure 2", _ON),
)
