"""Any optax transformation as an online learner.

    step_t, s_{t+1} = make(**options, **hyperparameters).update(g_t, s_t, x_t)
    x_1 = 0,   x_{t+1} = P_X[x_t + step_t]

`make` is called where it is used, inside `init` and `update`, with the traced values of `hyperparameters`: a learning
rate is swept like every other field, under the name `"hyperparameters.learning_rate"`, without a new compilation.
"""

import dataclasses
import functools
from collections.abc import Callable
from typing import Any, ClassVar, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax
from jax import lax

from jaxbandits.base import ranges
from jaxbandits.base.errors import InputError, shown
from jaxbandits.base.pytree import ArrayLike, param, pytree, static
from jaxbandits.base.ranges import BOOL
from jaxbandits.domains import points
from jaxbandits.domains.points import Point, Shape
from jaxbandits.domains.whole_space import WholeSpace
from jaxbandits.types import FullInformation, Gradient, PointDecision


class OptaxLearnerState(NamedTuple):
    """State of `OptaxLearner` at the start of round t."""

    x: Point  # [d]  x_t, the next play
    inner: Any  # the transformation's own state s_t


@functools.cache
def _settings_class(names: tuple[str, ...]) -> type:
    """A pytree dataclass with these traced fields: one class for every use of the same names."""
    fields = {name: param(range="[-inf, inf]", doc="an argument of `make`") for name in names}
    namespace = {"__annotations__": dict.fromkeys(names, ArrayLike), "__module__": __name__, **fields}
    return pytree(type("Hyperparameters", (), namespace))


@pytree
class OptaxLearner:
    """Runs an `optax.GradientTransformation` round by round from the origin, with a projection onto a domain if any.

    `OptaxLearner(dim=2, make=optax.adam, hyperparameters={"learning_rate": 0.1})`, or one of the ready-made class
    methods `sgd`, `adam`, `adagrad`, `optimistic`, `cocob`, `dog`, `dowg`, `prodigy`, `dadapt_adamw`, `mechanized_sgd`.

    Guarantee: that of the transformation, which is rarely a regret bound; the name of a method says less than its
      constants: those of `dog`, `dowg`, `cocob`, ... here are optax's, and differ from the papers' in safeguards (an
      eps in a denominator, a first step). The papers' own forms are `DoG`, `DoWG`, `KTBetting`.
    Deviations:
      * [ours] The projection onto `domain` comes after the step; transformations that remember where they put the
        parameters (`mechanize`, `schedule_free`) do not hear of it.
      * [ours] Rounds with a zero gradient are skipped with `skip_zero_gradients`, where the transformation would divide
        zero by zero.
    Numerics: float32 and float64 (float32/test_oco_baselines.py::test_optax_learners_keep_float32). The state keeps the
      types that one update settles on, so that every transformation has a state of fixed type.
    References: DeepMind, "The DeepMind JAX Ecosystem", 2020 (optax).

    `hyperparameters` maps argument names of `make` to the numbers that may be swept (it becomes an object with these
    fields); arguments that are no numbers go to the mapping `options`. Transformations that need the value of the loss
    at the play get it (`value`, `grad`); those that evaluate the loss elsewhere, such as line searches, need
    `oracle=True`, which asks the environment for the loss itself.
    """

    source: ClassVar[str] = "any optax transformation, round by round"
    environments: ClassVar[tuple[str, ...]] = ("oco/linear_losses",)
    dim: Shape = static(range="[1, inf)", doc="d, or the shape of the points (each array a block of its own)")
    make: Any = static(doc="makes the transformation from options and hyperparameters")
    hyperparameters: Any = param(None, doc="the traced keyword arguments of make, by name")
    options: Any = static((), doc="further keyword arguments of make, fixed: (name, value) pairs")
    domain: Any = param(factory=WholeSpace, doc="X, with project; must contain the origin")
    oracle: bool = static(False, BOOL, doc="pass value_fn; needs an environment that tells the loss itself")
    skip_zero_gradients: bool = static(False, BOOL, doc="leave the state as it is where the gradient is exactly zero")

    def __post_init__(self) -> None:
        # Mappings become sweepable or hashable; values are not looked at (they may be tracers).
        if isinstance(self.hyperparameters, dict):
            settings = _settings_class(tuple(self.hyperparameters))(**self.hyperparameters)
            object.__setattr__(self, "hyperparameters", settings)
        if isinstance(self.options, dict):
            object.__setattr__(self, "options", tuple(sorted(self.options.items())))

    @classmethod
    def sgd(
        cls, *, dim: Shape, learning_rate: ArrayLike = 0.1, decay: ArrayLike = 0.5, **fields: Any
    ) -> "OptaxLearner":
        """Gradient descent with the step size learning_rate / t^decay."""
        return cls._of(decaying_sgd, {"learning_rate": learning_rate, "decay": decay}, dim=dim, **fields)

    @classmethod
    def adam(
        cls,
        *,
        dim: Shape,
        learning_rate: ArrayLike = 0.1,
        b1: ArrayLike = 0.9,
        b2: ArrayLike = 0.999,
        **fields: Any,
    ) -> "OptaxLearner":
        """Adam with a constant learning rate."""
        return cls._of(optax.adam, {"learning_rate": learning_rate, "b1": b1, "b2": b2}, dim=dim, **fields)

    @classmethod
    def adagrad(cls, *, dim: Shape, learning_rate: ArrayLike = 1.0, **fields: Any) -> "OptaxLearner":
        """AdaGrad with a step size for each coordinate."""
        return cls._of(optax.adagrad, {"learning_rate": learning_rate}, dim=dim, **fields)

    @classmethod
    def optimistic(cls, *, dim: Shape, learning_rate: ArrayLike = 0.1, **fields: Any) -> "OptaxLearner":
        """Optimistic gradient descent with a constant step size."""
        return cls._of(optax.optimistic_gradient_descent, {"learning_rate": learning_rate}, dim=dim, **fields)

    @classmethod
    def cocob(cls, *, dim: Shape, alpha: ArrayLike = 100.0, **fields: Any) -> "OptaxLearner":
        """COntinuous COin Betting, coordinate by coordinate (Orabona & Tommasi, NeurIPS 2017)."""
        return cls._of(optax.contrib.cocob, {"alpha": alpha}, dim=dim, **fields)

    @classmethod
    def dog(cls, *, dim: Shape, initial_distance: ArrayLike = 1e-3, **fields: Any) -> "OptaxLearner":
        """Distance over gradients, as optax has it: an eps under the root."""
        return cls._of(dog_from_distance, {"initial_distance": initial_distance}, dim=dim, **fields)

    @classmethod
    def dowg(cls, *, dim: Shape, initial_distance: ArrayLike = 1e-3, **fields: Any) -> "OptaxLearner":
        """Distance over weighted gradients, as optax has it: an eps beside the root."""
        return cls._of(dowg_from_distance, {"initial_distance": initial_distance}, dim=dim, **fields)

    @classmethod
    def prodigy(
        cls, *, dim: Shape, initial_distance: ArrayLike = 1e-3, learning_rate: ArrayLike = 1.0, **fields: Any
    ) -> "OptaxLearner":
        """Prodigy: Adam with an estimate of the distance (Mishchenko & Defazio, ICML 2024)."""
        values = {
            "estim_lr0": ranges.numbers("initial_distance", initial_distance, "[0, inf)"),
            "learning_rate": learning_rate,
        }
        return cls._of(optax.contrib.prodigy, values, dim=dim, skip_zero_gradients=True, **fields)

    @classmethod
    def dadapt_adamw(
        cls, *, dim: Shape, initial_distance: ArrayLike = 1e-3, learning_rate: ArrayLike = 1.0, **fields: Any
    ) -> "OptaxLearner":
        """D-adapted AdamW (Defazio & Mishchenko, ICML 2023), no weight decay."""
        values = {
            "estim_lr0": ranges.numbers("initial_distance", initial_distance, "[0, inf)"),
            "learning_rate": learning_rate,
        }
        return cls._of(optax.contrib.dadapt_adamw, values, dim=dim, skip_zero_gradients=True, **fields)

    @classmethod
    def mechanized_sgd(cls, *, dim: Shape, initial_scale: ArrayLike = 1e-3, **fields: Any) -> "OptaxLearner":
        """Gradient descent with its scale learned by Mechanic (Cutkosky, Defazio & Mehta, NeurIPS 2023), no decay."""
        scale = ranges.numbers("initial_scale", initial_scale, "[0, inf)")
        return cls._of(mechanized_sgd, {"s_init": scale}, dim=dim, **fields)

    @classmethod
    def _of(cls, make: Callable[..., Any], hyperparameters: dict[str, Any], **fields: Any) -> "OptaxLearner":
        return cls(make=make, hyperparameters=hyperparameters, **fields)

    @classmethod
    def example(cls) -> "OptaxLearner":
        return cls.sgd(dim=2)

    @property
    def feedback(self) -> type:
        """The loss itself for those who evaluate it elsewhere, its value and gradient at the play otherwise."""
        return FullInformation if self.oracle else Gradient

    def spec_fields(self) -> dict[str, Any]:
        """Return the fields by name for a specification, with `hyperparameters` as a mapping from name to value."""
        values = {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}
        return values | {"hyperparameters": None if self.hyperparameters is None else dict(vars(self.hyperparameters))}

    def check(self) -> None:
        if isinstance(self.make, optax.GradientTransformation):
            raise InputError(
                "OptaxLearner.make must be the function that makes a transformation, not one that is made: "
                "make=optax.adam, hyperparameters={'learning_rate': 0.01} instead of make=optax.adam(0.01)"
            )
        if not callable(self.make):
            raise InputError(f"OptaxLearner.make must be a function, got {shown(self.make)}")
        if self.hyperparameters is not None and not dataclasses.is_dataclass(self.hyperparameters):
            given = shown(self.hyperparameters)
            raise InputError(f"OptaxLearner.hyperparameters must be a mapping of numbers by name, got {given}")
        try:
            dict(self.options)
        except (TypeError, ValueError):
            raise InputError(f"OptaxLearner.options must be a mapping, got {shown(self.options)}") from None
        one = jax.tree.map(lambda leaf: np.ravel(np.asarray(leaf))[0], self)  # a swept field has an axis of points
        try:
            jax.eval_shape(one.init, jax.random.key(0))
        except Exception as error:  # whatever `make`, which is not ours, raises
            name = getattr(self.make, "__name__", repr(self.make))
            reason = " ".join(str(error).split())
            hint = "" if self.oracle else "; a transformation that evaluates the loss itself needs oracle=True"
            raise InputError(f"OptaxLearner cannot run {name}: {reason[:200]}{hint}") from None

    def init(self, key: jax.Array) -> OptaxLearnerState:
        del key  # deterministic
        x = self.domain.zero(self.dim)
        begin = OptaxLearnerState(x, self._transformation().init(x))
        after = jax.eval_shape(lambda s: self._step(s, x, jnp.zeros(()), _nothing), begin)
        return jax.tree.map(_settle, begin, after)

    def select(self, key: jax.Array, t: jax.Array, state: OptaxLearnerState, obs: Any) -> PointDecision:
        del key, t, obs
        return PointDecision.at(state.x)

    def update(
        self,
        key: jax.Array,
        t: jax.Array,
        state: OptaxLearnerState,
        obs: Any,
        decision: PointDecision,
        feedback: Gradient | FullInformation,
    ) -> OptaxLearnerState:
        del key, t, obs, decision
        told = feedback.first()
        value_fn = _differentiable(feedback.oracle) if isinstance(feedback, FullInformation) else None
        after = self._step(state, told.grad, told.loss, value_fn)
        after = jax.tree.map(lambda new, old: _cast(new, old.dtype), after, state)
        if self.skip_zero_gradients:
            after = points.where(points.inner(told.grad, told.grad) > 0.0, after, state)
        return after

    def _step(self, state: OptaxLearnerState, grad: Any, value: jax.Array, value_fn: Any) -> OptaxLearnerState:
        extra = {"value": value, "grad": grad}
        if self.oracle:
            extra["value_fn"] = value_fn
        step, inner = self._transformation().update(grad, state.inner, state.x, **extra)
        return OptaxLearnerState(self.domain.project(optax.apply_updates(state.x, step)), inner)

    def _transformation(self) -> optax.GradientTransformationExtraArgs:
        values = {} if self.hyperparameters is None else vars(self.hyperparameters)
        return optax.with_extra_args_support(self.make(**dict(self.options), **values))


def _differentiable(loss: Any) -> Callable[[Point], jax.Array]:
    """The loss as a function that line searches may differentiate, by its own gradient."""

    @jax.custom_jvp
    def value(x: Point) -> jax.Array:
        return loss.value(x)

    @value.defjvp
    def tangent(primals: tuple[Point], tangents: tuple[Point]) -> tuple[jax.Array, jax.Array]:
        products = jax.tree.map(lambda g, dx: jnp.sum(g * dx), loss.gradient(*primals), *tangents)
        return loss.value(*primals), functools.reduce(jnp.add, jax.tree.leaves(products))

    return value


def _nothing(x: Point) -> jax.Array:
    """A loss that is zero, where only types matter."""
    return 0.0 * functools.reduce(jnp.add, map(jnp.sum, jax.tree.leaves(x)))


def _settle(begin: jax.Array, after: Any) -> jax.Array:
    return _cast(jnp.asarray(begin), jnp.promote_types(jnp.asarray(begin).dtype, after.dtype))


def _cast(leaf: jax.Array, dtype: Any) -> jax.Array:
    """Strongly typed (random keys, which have no other type, as they are)."""
    return leaf if jnp.issubdtype(dtype, jax.dtypes.prng_key) else lax.convert_element_type(leaf, dtype)


def decaying_sgd(learning_rate: jax.Array, decay: jax.Array) -> optax.GradientTransformation:
    """Gradient descent with the step size learning_rate / t^decay."""
    return optax.sgd(lambda count: learning_rate * (count + 1.0) ** -decay)


def dog_from_distance(initial_distance: jax.Array) -> optax.GradientTransformation:
    """Distance over gradients, started by a distance."""
    return optax.contrib.dog(init_step=("distance", initial_distance))


def dowg_from_distance(initial_distance: jax.Array) -> optax.GradientTransformation:
    """Distance over weighted gradients, started by a distance."""
    return optax.contrib.dowg(init_estim_sq_dist=initial_distance**2)


def mechanized_sgd(s_init: jax.Array) -> optax.GradientTransformationExtraArgs:
    """Gradient descent of rate 1 whose scale Mechanic learns."""
    return optax.contrib.mechanize(optax.sgd(1.0), weight_decay=0.0, s_init=s_init)
