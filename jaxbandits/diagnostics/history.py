"""The history of a trial: what was played and received in every round.

    simulate(algorithm, environment, T, seeds, record_points=T, meters=history())

has `[point, seed, T]` arrays of arms and rewards. With fewer record points the values are those of the rounds at the
record points. A number a round and trial takes 8 bytes: a million rounds of a thousand trials are 8 GB a meter.
"""

from collections.abc import Callable
from typing import Any

from jaxbandits.base.errors import unknown_name
from jaxbandits.engine.meters import Meter, Round

_FIELDS: dict[str, Callable[[Round], Any]] = {
    "arm": lambda r: r.decision.index,
    "probability": lambda r: r.decision.probability,
    "features": lambda r: r.decision.x,
    "received": lambda r: r.feedback.reward,
    "played_point": lambda r: r.decision.play,
    "observed_loss": lambda r: r.feedback.loss,
}


def history(*names: str) -> list[Meter]:
    """Return meters of single rounds, for `record_points=horizon`.

    Args:
      *names: of a bandit `arm` (its index), `received` (the reward), `probability` (with which the arm was drawn) and
        `features` (of the arm, `[d]`); of online optimisation `played_point` `[d]` and `observed_loss` `[Q]`. The
        default is `arm` and `received`.

    Raises:
      InputError: for other names.
    """
    for name in names:
        if name not in _FIELDS:
            raise unknown_name("part of a round", name, _FIELDS)
    return [Meter(name, _FIELDS[name], "last") for name in names or ("arm", "received")]
