"""Figure 1 of Russac et al. (2019): a linear bandit whose parameter jumps three times."""

from collections.abc import Mapping

import numpy as np

from jaxbandits.reproduction.engine import Panel
from jaxbandits.reproduction.experiments.classics.setting import RUSSAC, forgetting, forgetting_claims, moving_arms

_VARIATION = 4.0 + np.sqrt(2.0)
_ROUNDS = 6000
_CHANGES = {0: (1.0, 0.0), 1001: (-1.0, 0.0), 2001: (0.0, 1.0), 3001: (0.0, -1.0)}  # rounds from 0
_ON = "jumps"


def _panels(horizon: int) -> Mapping[str, Panel]:
    del horizon
    path = np.zeros((_ROUNDS, 2))
    for start, theta in _CHANGES.items():
        path[start:] = theta
    return {_ON: Panel("theta jumps at 1001, 2001 and 3001", moving_arms(path))}


RUSSAC_FIG1 = RUSSAC.experiment(
    "russac-fig1",
    "Figure 1",
    title="linear bandit whose parameter jumps",
    shows="Figure 1 is about a parameter that jumps three times. It shows the estimates of the parameter in the plane "
    "and, in a second panel, the regret over the rounds with quantile bands, for D-LinUCB, SW-LinUCB, dLinUCB and "
    "LinUCB; the second panel also shows LinUCB restarted at the jumps. The authors' notebook has d = 2, 50 arms, "
    "standard normal noise, 6,000 rounds, 100 runs, and jumps from (1, 0) to (-1, 0), (0, 1) and (0, -1) around rounds "
    "1,000, 2,000 and 3,000.",
    algorithms=forgetting(float(_VARIATION)),
    panels=_panels,
    claims=forgetting_claims("Figure 1", _ON),
)
