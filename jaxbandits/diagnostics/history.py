"""History of a trial: the action and the feedback of every round.

    simulate(algorithm, environment, T, seeds, record_points=T, meters=history())

records `[point, seed, T]` arrays of arms and rewards. With fewer record points, only the rounds at the record points
are recorded. A number takes 8 bytes per round and trial: a million rounds of a thousand trials take 8 GB per meter.
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
    """Return a list of meters that record single rounds, every round with `record_points=horizon`.

    Args:
      *names: parts of a round. For a bandit: `arm` (index of the arm), `received` (the reward), `probability` (with
        which the arm was drawn) and `features` (of the arm, `[d]`). For online optimisation: `played_point` `[d]` and
        `observed_loss` `[Q]`. The default is `arm` and `received`.

    Raises:
      InputError: if a name is none of the above.
    """
    for name in names:
        if name not in _FIELDS:
            raise unknown_name("part of a round", name, _FIELDS)
    return [Meter(name, _FIELDS[name], "last") for name in names or ("arm", "received")]
