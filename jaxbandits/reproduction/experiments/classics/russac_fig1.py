"""Figure 1: theta jumps three times."""

from collections.abc import Mapping

import numpy as np

from jaxbandits.reproduction.engine.experiment import Panel
from jaxbandits.reproduction.engine.statements import higher, lower, not_worse
from jaxbandits.reproduction.experiments.classics.setting import RUSSAC, forgetting, moving_arms

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
    algorithms=forgetting(float(_VARIATION)),
    panels=_panels,
    claims=(
        *(
            claim
            for label in ("D-LinUCB", "SW-LinUCB")
            for claim in lower(
                label,
                "LinUCB",
                on=_ON,
                says=f"{label} is ahead of LinUCB, which never forgets",
                place="ours, on Figure 1",
            )
        ),
        *not_worse(
            "D-LinUCB",
            "SW-LinUCB",
            on=_ON,
            says="forgetting by discounts is not worse than by a window",
            place="ours, on Figure 1",
            within=1.05,
        ),
        *higher(
            "D-LinUCB as coded",
            "D-LinUCB",
            on=_ON,
            says="the recursion of the authors' code explores more than the paper's, and costs regret",
            place="ours, on Algorithm 1",
        ),
    ),
)
