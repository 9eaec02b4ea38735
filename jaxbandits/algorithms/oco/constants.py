"""Constants of the optimistic online Newton step and of its meta algorithm, scaled by multipliers."""

import dataclasses
from collections.abc import Mapping

from jaxbandits.base.pytree import ArrayLike, Fields


def scaled_constants(cls: type, multipliers: Mapping[str, float]) -> dict[str, ArrayLike]:
    """Return the constants of the paper, which are the defaults of a class, scaled by multipliers.

    Args:
      cls: class of a learner whose fields include the names in `multipliers`.
      multipliers: mapping from the name of a field to its factor.
    """
    paper: Fields = {field.name: field.default for field in dataclasses.fields(cls)}
    return {name: paper[name] * multiplier for name, multiplier in multipliers.items()}
