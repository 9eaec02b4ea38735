"""Online learner that is built from an optax gradient transformation.

    step_t, s_{t+1} = make(**options, **hyperparameters).update(g_t, s_t, x_t)
    x_1 = 0,   x_{t+1} = P_X[x_t + step_t]

`init` and `update` call `make` with the traced values of `hyperparameters`. A learning rate can therefore be swept
without recompilation, like every other field, under the name `"hyperparameters.learning_rate"`.
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
from jaxbandits.base.errors import InputError, format_value
from jaxbandits.base.pytree import ArrayLike, Fields, FieldValue, PyTree, param, pytree, static
from jaxbandits.base.ranges import BOOL
from jaxbandits.domains import points
from jaxbandits.domains.points import Point, Shape
from jaxbandits.domains.protocol import ConvexSet
from jaxbandits.domains.whole_space import WholeSpace
from jaxbandits.estimation.optimizer import settings_class
from jaxbandits.types import FullInformation, Gradient, Obs, PointDecision


class OptaxLearnerState(NamedTuple):
    """State of `OptaxLearner` at the start of round t."""

    x: Point  # [d]  x_t, the next play
    inner: PyTree  # s_t, state of the transformation


@pytree
class OptaxLearner:
    """Learner that starts at the origin and applies an `optax.GradientTransformation` and a projection in every round.

    An example is `OptaxLearner(dim=2, make=optax.adam, hyperparameters={"learning_rate": 0.1})`. Common transformations
    have class methods: `sgd`, `adam`, `adagrad`, `optimistic`, `cocob`, `dog`, `dowg`, `prodigy`, `dadapt_adamw`,
    `mechanized_sgd`.

    `hyperparameters` maps argument names of `make` to numbers that may be swept (it is converted to an object with
    these fields); all other arguments belong in the mapping `options`. Transformations that need the value or the
    gradient of the loss at the play receive them (`value`, `grad`). Transformations that evaluate the loss at other
    points, such as line searches, need `oracle=True` and an environment whose feedback contains the loss function.

    Guarantee: the guarantee of the transformation holds, which is rarely a regret bound and depends on its constants.
      `dog`, `dowg` and `cocob` use the constants of optax, which differ from those of the papers in safeguards (an eps
      in a denominator, a first step). `DoG`, `DoWG` and `KTBetting` follow the papers.
    Deviations:
      * [ours] The projection onto `domain` comes after the step; transformations whose state contains the parameters
        (`mechanize`, `schedule_free`) do not receive the projected point.
      * [ours] With `skip_zero_gradients`, rounds with a zero gradient do not change the state, which helps
        transformations that would divide zero by zero.
    Numerics: float32 and float64 are tested (float32/test_oco_baselines.py::test_optax_learners_keep_float32). The
      initial state has the types of the state after one update, so that the types of the state do not change.
    References: DeepMind, "The DeepMind JAX Ecosystem", 2020 (optax).
    """

    source: ClassVar[str] = "any optax transformation, round by round"
    environments: ClassVar[tuple[str, ...]] = ("oco/linear_losses",)
    dim: Shape = static(range="[1, inf)", doc="d, or the shape of the points, each of whose arrays is a separate block")
    make: Any = static(doc="function that creates the transformation from options and hyperparameters")
    hyperparameters: Any = param(
        None, doc="mapping from names of arguments of make to values that may be traced and swept"
    )
    options: Any = static((), doc="fixed keyword arguments of make, as (name, value) pairs")
    domain: ConvexSet = param(factory=WholeSpace, doc="X, a set with project that contains the origin")
    oracle: bool = static(False, BOOL, doc="True: pass value_fn, for which the feedback must contain the loss function")
    skip_zero_gradients: bool = static(False, BOOL, doc="True: do not update if the square of the gradient is zero")

    def __post_init__(self) -> None:
        # Make mappings sweepable or hashable; values may be tracers.
        if isinstance(self.hyperparameters, dict):
            settings = settings_class(tuple(self.hyperparameters))(**self.hyperparameters)
            object.__setattr__(self, "hyperparameters", settings)
        if isinstance(self.options, dict):
            object.__setattr__(self, "options", tuple(sorted(self.options.items())))

    @classmethod
    def sgd(
        cls, *, dim: Shape, learning_rate: ArrayLike = 0.1, decay: ArrayLike = 0.5, **fields: FieldValue
    ) -> "OptaxLearner":
        """Use gradient descent with the step size learning_rate / t^decay."""
        return cls._of(decaying_sgd, {"learning_rate": learning_rate, "decay": decay}, dim=dim, **fields)

    @classmethod
    def adam(
        cls,
        *,
        dim: Shape,
        learning_rate: ArrayLike = 0.1,
        b1: ArrayLike = 0.9,
        b2: ArrayLike = 0.999,
        **fields: FieldValue,
    ) -> "OptaxLearner":
        """Use Adam with a constant learning rate."""
        return cls._of(optax.adam, {"learning_rate": learning_rate, "b1": b1, "b2": b2}, dim=dim, **fields)

    @classmethod
    def adagrad(cls, *, dim: Shape, learning_rate: ArrayLike = 1.0, **fields: FieldValue) -> "OptaxLearner":
        """Use AdaGrad, which has a separate step size for each coordinate."""
        return cls._of(optax.adagrad, {"learning_rate": learning_rate}, dim=dim, **fields)

    @classmethod
    def optimistic(cls, *, dim: Shape, learning_rate: ArrayLike = 0.1, **fields: FieldValue) -> "OptaxLearner":
        """Use optimistic gradient descent with a constant step size."""
        return cls._of(optax.optimistic_gradient_descent, {"learning_rate": learning_rate}, dim=dim, **fields)

    @classmethod
    def cocob(cls, *, dim: Shape, alpha: ArrayLike = 100.0, **fields: FieldValue) -> "OptaxLearner":
        """Use COntinuous COin Betting on each coordinate separately (Orabona & Tommasi, NeurIPS 2017)."""
        return cls._of(optax.contrib.cocob, {"alpha": alpha}, dim=dim, **fields)

    @classmethod
    def dog(cls, *, dim: Shape, initial_distance: ArrayLike = 1e-3, **fields: FieldValue) -> "OptaxLearner":
        """Use distance over gradients as in optax, with an eps under the root."""
        return cls._of(dog_from_distance, {"initial_distance": initial_distance}, dim=dim, **fields)

    @classmethod
    def dowg(cls, *, dim: Shape, initial_distance: ArrayLike = 1e-3, **fields: FieldValue) -> "OptaxLearner":
        """Use distance over weighted gradients as in optax, with an eps added to the root."""
        return cls._of(dowg_from_distance, {"initial_distance": initial_distance}, dim=dim, **fields)

    @classmethod
    def prodigy(
        cls, *, dim: Shape, initial_distance: ArrayLike = 1e-3, learning_rate: ArrayLike = 1.0, **fields: FieldValue
    ) -> "OptaxLearner":
        """Use Prodigy, Adam with an estimate of the distance to the optimum (Mishchenko & Defazio, ICML 2024)."""
        values = {
            "estim_lr0": ranges.numbers("initial_distance", initial_distance, "[0, inf)"),
            "learning_rate": learning_rate,
        }
        return cls._of(optax.contrib.prodigy, values, dim=dim, skip_zero_gradients=True, **fields)

    @classmethod
    def dadapt_adamw(
        cls, *, dim: Shape, initial_distance: ArrayLike = 1e-3, learning_rate: ArrayLike = 1.0, **fields: FieldValue
    ) -> "OptaxLearner":
        """Use D-adapted AdamW (Defazio & Mishchenko, ICML 2023) without weight decay."""
        values = {
            "estim_lr0": ranges.numbers("initial_distance", initial_distance, "[0, inf)"),
            "learning_rate": learning_rate,
        }
        return cls._of(optax.contrib.dadapt_adamw, values, dim=dim, skip_zero_gradients=True, **fields)

    @classmethod
    def mechanized_sgd(cls, *, dim: Shape, initial_scale: ArrayLike = 1e-3, **fields: FieldValue) -> "OptaxLearner":
        """Use gradient descent scaled by Mechanic (Cutkosky et al., NeurIPS 2023), without weight decay."""
        scale = ranges.numbers("initial_scale", initial_scale, "[0, inf)")
        return cls._of(mechanized_sgd, {"s_init": scale}, dim=dim, **fields)

    @classmethod
    def _of(cls, make: Callable[..., Any], hyperparameters: dict[str, Any], **fields: FieldValue) -> "OptaxLearner":
        return cls(make=make, hyperparameters=hyperparameters, **fields)

    @classmethod
    def example(cls) -> "OptaxLearner":
        return cls.sgd(dim=2)

    @property
    def feedback(self) -> type:
        """Feedback type: `FullInformation` (with the loss function) if `oracle` is True, else `Gradient`."""
        return FullInformation if self.oracle else Gradient

    def spec_fields(self) -> Fields:
        """Return the mapping from field names to values for a specification; `hyperparameters` is a mapping as well."""
        values = {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}
        return values | {"hyperparameters": None if self.hyperparameters is None else dict(vars(self.hyperparameters))}

    def check(self) -> None:
        if isinstance(self.make, optax.GradientTransformation):
            raise InputError(
                "OptaxLearner.make must be a function that creates a transformation, not a transformation: pass "
                "make=optax.adam and hyperparameters={'learning_rate': 0.01} instead of make=optax.adam(0.01)"
            )
        if not callable(self.make):
            raise InputError(f"OptaxLearner.make must be a function, got {format_value(self.make)}")
        if self.hyperparameters is not None and not dataclasses.is_dataclass(self.hyperparameters):
            given = format_value(self.hyperparameters)
            raise InputError(f"OptaxLearner.hyperparameters must map names to numbers, got {given}")
        try:
            dict(self.options)
        except (TypeError, ValueError):
            raise InputError(f"OptaxLearner.options must be a mapping, got {format_value(self.options)}") from None
        point = jax.tree.map(lambda leaf: np.ravel(np.asarray(leaf))[0], self)  # one point of a sweep
        try:
            jax.eval_shape(point.init, jax.random.key(0))
        except Exception as error:  # `make` comes from optax or from a user and may raise any exception
            name = getattr(self.make, "__name__", repr(self.make))
            reason = " ".join(str(error).split())
            hint = "" if self.oracle else "; a transformation that evaluates the loss itself needs oracle=True"
            raise InputError(f"OptaxLearner cannot run {name}: {reason[:200]}{hint}") from None

    def init(self, key: jax.Array) -> OptaxLearnerState:
        del key  # deterministic
        x = self.domain.zero(self.dim)
        first = OptaxLearnerState(x=x, inner=self._transformation().init(x))
        after = jax.eval_shape(lambda s: self._step(s, x, jnp.zeros(()), _zero_loss), first)
        return jax.tree.map(_promote, first, after)

    def select(self, key: jax.Array, t: jax.Array, state: OptaxLearnerState, obs: Obs) -> PointDecision:
        del key, t, obs
        return PointDecision.at(state.x)

    def update(
        self,
        key: jax.Array,
        t: jax.Array,
        state: OptaxLearnerState,
        obs: Obs,
        decision: PointDecision,
        feedback: Gradient | FullInformation,
    ) -> OptaxLearnerState:
        del key, t, obs, decision
        response = feedback.first()
        value_fn = _differentiable(feedback.oracle) if isinstance(feedback, FullInformation) else None
        after = self._step(state, response.grad, response.loss, value_fn)
        after = jax.tree.map(lambda new, old: _cast(new, old.dtype), after, state)
        if self.skip_zero_gradients:
            is_zero = points.inner(response.grad, response.grad) == 0.0  # False for NaN, which the state shall show
            after = points.where(is_zero, state, after)
        return after

    def _step(self, state: OptaxLearnerState, grad: Any, value: jax.Array, value_fn: Any) -> OptaxLearnerState:
        extra = {"value": value, "grad": grad}
        if self.oracle:
            extra["value_fn"] = value_fn
        step, inner = self._transformation().update(grad, state.inner, state.x, **extra)
        return OptaxLearnerState(x=self.domain.project(optax.apply_updates(state.x, step)), inner=inner)

    def _transformation(self) -> optax.GradientTransformationExtraArgs:
        values = {} if self.hyperparameters is None else vars(self.hyperparameters)
        return optax.with_extra_args_support(self.make(**dict(self.options), **values))


def _differentiable(loss: Any) -> Callable[[Point], jax.Array]:
    """Return the loss as a function that line searches can differentiate, with the gradient of its oracle."""

    @jax.custom_jvp
    def value(x: Point) -> jax.Array:
        return loss.value(x)

    @value.defjvp
    def tangent(primals: tuple[Point], tangents: tuple[Point]) -> tuple[jax.Array, jax.Array]:
        products = jax.tree.map(lambda g, dx: jnp.sum(g * dx), loss.gradient(*primals), *tangents)
        return loss.value(*primals), functools.reduce(jnp.add, jax.tree.leaves(products))

    return value


def _zero_loss(x: Point) -> jax.Array:
    """Return the value of a loss that is always 0, for calls that need only types."""
    return 0.0 * functools.reduce(jnp.add, map(jnp.sum, jax.tree.leaves(x)))


def _promote(first: jax.Array, after: Any) -> jax.Array:
    return _cast(jnp.asarray(first), jnp.promote_types(jnp.asarray(first).dtype, after.dtype))


def _cast(leaf: jax.Array, dtype: Any) -> jax.Array:
    """Return the leaf with a strong `dtype`; random keys are returned unchanged, since they have only one type."""
    return leaf if jnp.issubdtype(dtype, jax.dtypes.prng_key) else lax.convert_element_type(leaf, dtype)


def decaying_sgd(learning_rate: jax.Array, decay: jax.Array) -> optax.GradientTransformation:
    """Return the transformation of gradient descent with the step size learning_rate / t^decay."""
    return optax.sgd(lambda count: learning_rate * (count + 1.0) ** -decay)


def dog_from_distance(initial_distance: jax.Array) -> optax.GradientTransformation:
    """Return the transformation of distance over gradients, initialised with a distance."""
    return optax.contrib.dog(init_step=("distance", initial_distance))


def dowg_from_distance(initial_distance: jax.Array) -> optax.GradientTransformation:
    """Return the transformation of distance over weighted gradients, initialised with a distance."""
    return optax.contrib.dowg(init_estim_sq_dist=initial_distance**2)


def mechanized_sgd(s_init: jax.Array) -> optax.GradientTransformationExtraArgs:
    """Return the transformation of gradient descent with rate 1, whose scale is learned by Mechanic."""
    return optax.contrib.mechanize(optax.sgd(1.0), weight_decay=0.0, s_init=s_init)
