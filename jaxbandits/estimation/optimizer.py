"""Optax transformation as a field of a model, with traced hyperparameters.

    Optimizer(make=optax.sgd, hyperparameters={"learning_rate": 0.01, "momentum": 0.9})

`make` is called with the traced values inside each method, so that a learning rate can be swept like any other field,
under the name `"optimizer.hyperparameters.learning_rate"` and without recompilation.
"""

import dataclasses
import functools
from typing import Any

import jax
import numpy as np
import optax

from jaxbandits.base.errors import InputError, format_value
from jaxbandits.base.pytree import ArrayLike, param, pytree, static


@functools.cache
def settings_class(names: tuple[str, ...]) -> type:
    """Return a pytree dataclass with traced fields of these names; equal names give the same class."""
    fields = {name: param(range="[-inf, inf]", doc="an argument of `make`") for name in names}
    namespace = {"__annotations__": dict.fromkeys(names, ArrayLike), "__module__": __name__, **fields}
    return pytree(type("Hyperparameters", (), namespace))


@pytree
class Optimizer:
    """Function `make` that returns an `optax.GradientTransformation`, and the arguments with which it is called."""

    make: Any = static(optax.adam, doc="function of optax that returns an optimizer")
    hyperparameters: Any = param(
        factory=lambda: settings_class(("learning_rate",))(learning_rate=0.01),
        doc="traced arguments of `make`, by name",
    )
    options: Any = static((), doc="static arguments of `make`, by name")

    def __post_init__(self) -> None:
        # Dictionaries are converted to a pytree that can be swept, and to a hashable tuple; values may be tracers.
        if isinstance(self.hyperparameters, dict):
            settings = settings_class(tuple(self.hyperparameters))(**self.hyperparameters)
            object.__setattr__(self, "hyperparameters", settings)
        if isinstance(self.options, dict):
            object.__setattr__(self, "options", tuple(sorted(self.options.items())))

    def check(self) -> None:
        """Raise InputError if `make` does not return a transformation when called with these arguments."""
        if not callable(self.make) or isinstance(self.make, optax.GradientTransformation):
            raise InputError(
                "Optimizer.make must be a function that returns a transformation, such as optax.adam, got "
                f"{format_value(self.make)}"
            )
        # A swept field has a leading axis of sweep points, of which the first is tested.
        point = jax.tree.map(lambda leaf: np.ravel(np.asarray(leaf))[0], self)
        try:
            jax.eval_shape(lambda: point.transformation().init(np.zeros(2)))
        except Exception as error:  # `make` of a user or of optax may raise any exception
            name = getattr(self.make, "__name__", repr(self.make))
            said = " ".join(str(error).split())[:150]
            raise InputError(
                f"Optimizer.make cannot run {name} with the hyperparameters and options given: {said}"
            ) from None

    def spec_fields(self) -> dict[str, Any]:
        """Return a dict of the fields for a specification, in which `hyperparameters` is a dict as well."""
        values = {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}
        return values | {"hyperparameters": dict(vars(self.hyperparameters))}

    def transformation(self) -> optax.GradientTransformationExtraArgs:
        """Return the transformation for the current values of the hyperparameters."""
        made = self.make(**dict(self.options), **vars(self.hyperparameters))
        return optax.with_extra_args_support(made)
