"""History of a trial: the action and the feedback of every round.

    simulate(algorithm, environment, T, seeds, record_points=T, meters=history())

records `[point, seed, T]` arrays of arms and rewards. With fewer record points, only the rounds at the record points
are recorded. A number takes 8 bytes per round and trial: a million rounds of a thousand trials take 8 GB per meter.
"""

from collections.abc import Callable
from typing import Any

from jaxbandits.base.errors import InputError, unknown_name
from jaxbandits.engine.meters import Meter, Round


def _part(name: str, role: str, field: str) -> Callable[[Round], Any]:
    """Return a `measure` that returns a field of the decision or of the feedback of a round."""

    def measure(r: Round) -> Any:
        of = getattr(r, role)
        # A NamedTuple without a field `index` has the method `index` of tuples.
        found = getattr(of, field, None) if field in getattr(of, "_fields", (field,)) else None
        if found is None:
            raise InputError(
                f"history has no {name!r} of {type(r.algorithm).__name__}, whose {role} ({type(of).__name__}) has no "
                f"{field}"
            )
        return found

    return measure


_FIELDS: dict[str, Callable[[Round], Any]] = {
    name: _part(name, role, field)
    for name, role, field in (
        ("arm", "decision", "index"),
        ("probability", "decision", "probability"),
        ("features", "decision", "x"),
        ("received", "feedback", "reward"),
        ("played_point", "decision", "play"),
        ("observed_loss", "feedback", "loss"),
    )
}


def history(*names: str) -> list[Meter]:
    """Return a list of meters that record single rounds, every round with `record_points=horizon`.

    Args:
      *names: parts of a round. For a bandit: `arm` (index of the arm), `received` (the reward), `probability` (with
        which the arm was drawn) and `features` (of the arm, `[d]`). For online optimisation: `played_point` `[d]` and
        `observed_loss` `[Q]`. The default is `arm` and `received`.

    Raises:
      InputError: if a name is none of the above; during tracing, if a learner has no such part.
    """
    for name in names:
        if name not in _FIELDS:
            raise unknown_name("part of a round", name, _FIELDS)
    return [Meter(name, _FIELDS[name], "last") for name in names or ("arm", "received")]
