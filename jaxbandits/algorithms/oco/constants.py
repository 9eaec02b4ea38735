"""Constants of the optimistic online Newton step and of its meta algorithm, times multipliers."""

import dataclasses
from collections.abc import Mapping

from jaxbandits.base.pytree import ArrayLike, Fields


def scaled_constants(cls: type, multipliers: Mapping[str, float]) -> dict[str, ArrayLike]:
    """Return the constants of the paper (the defaults of a class) times multipliers.

    Args:
      cls: class of a learner that has these fields.
      multipliers: mapping from the name of a field to its factor.
    """
    paper: Fields = {field.name: field.default for field in dataclasses.fields(cls)}
    return {name: paper[name] * multiplier for name, multiplier in multipliers.items()}
