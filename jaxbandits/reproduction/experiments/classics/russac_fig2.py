"""Figure 2: theta turns slowly by a right angle."""

from collections.abc import Mapping

import numpy as np

from jaxbandits.reproduction.engine.experiment import Panel
from jaxbandits.reproduction.engine.statements import higher, lower, not_worse
from jaxbandits.reproduction.experiments.classics.setting import RUSSAC, forgetting, moving_arms

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
    algorithms=forgetting(_VARIATION),
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
                place="ours, on Figure 2",
            )
        ),
        *not_worse(
            "D-LinUCB",
            "SW-LinUCB",
            on=_ON,
            says="forgetting by discounts is not worse than by a window",
            place="ours, on Figure 2",
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
