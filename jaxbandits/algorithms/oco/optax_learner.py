"""Any optax transformation as an online learner.

    step_t, s_{t+1} = make(**options, **hyperparameters).update(g_t, s_t, x_t)
    x_1 = 0,   x_{t+1} = P_X[x_t + step_t]

`make` is called where it is used, inside `init` and `update`, with the traced values of `hyperparameters`: a learning
rate is swept like every other field, under the name `"hyperparameters.learning_rate"`, without a new compilation.
"""

import contextlib
import dataclasses
import functools
import hashlib
import inspect
import sys
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax
from jax import lax

from jaxbandits.core import linalg
from jaxbandits.core.errors import InputError
from jaxbandits.core.pytree import ArrayLike, param, pytree, static
from jaxbandits.domains.reductions import project
from jaxbandits.types import FullInformation, Gradient, PointDecision


class OptaxLearnerState(NamedTuple):
    """What round t starts from."""

    x: Any  # [d]  x_t, the next play, in the layout that the transformation works on
    inner: Any  # the transformation's own state s_t


@functools.cache
def _settings_class(names: tuple[str, ...]) -> type:
    """A pytree dataclass with these traced fields: one class for every use of the same names."""
    fields = {name: param(range="[-inf, inf]", doc="an argument of `make`") for name in names}
    namespace = {"__annotations__": dict.fromkeys(names, ArrayLike), "__module__": __name__, **fields}
    return pytree(type("Hyperparameters", (), namespace))


@dataclasses.dataclass(frozen=True, repr=False)
class _Make:
    """A function that prints alike in every process, by its name and source: so a killed run of it can be resumed."""

    function: Callable[..., Any]

    def __call__(self, **arguments: Any) -> Any:
        return self.function(**arguments)

    def __repr__(self) -> str:
        module, name = getattr(self.function, "__module__", ""), getattr(self.function, "__qualname__", "")
        with contextlib.suppress(AttributeError, OSError, TypeError):
            if functools.reduce(getattr, name.split("."), sys.modules.get(module)) is self.function:
                return f"{module}.{name} {hashlib.sha256(inspect.getsource(self.function).encode()).hexdigest()[:16]}"
        return repr(self.function)  # a lambda or a local function: its address, so that no other passes for it


@pytree
class OptaxLearner:
    """Runs an `optax.GradientTransformation` round by round from the origin, with a projection onto a domain if any.

    `OptaxLearner(dim=2, make=optax.adam, hyperparameters={"learning_rate": 0.1})`, or one of the ready-made class
    methods `sgd`, `adam`, `adagrad`, `optimistic`, `cocob`, `dog`, `dowg`, `prodigy`, `dadapt_adamw`, `mechanized_sgd`.

    Guarantee: that of the transformation, which is rarely a regret bound; the name of a method says less than its
      constants: those of `dog`, `dowg`, `cocob`, ... here are optax's, and differ from the papers' in safeguards (an
      eps in a denominator, a first step). The papers' own forms are `DoG`, `DoWG`, `KTBetting`.
    Deviations: the projection onto `domain` is ours and comes after the step; transformations that remember where they
      put the parameters (`mechanize`, `schedule_free`) do not hear of it. Rounds with a zero gradient are skipped with
      `skip_zero_gradients`, where the transformation would divide zero by zero.
    Numerics: float32 and float64. The state keeps the types that one update settles on, so that every transformation
      has a state of fixed type.
    References: DeepMind, "The DeepMind JAX Ecosystem", 2020 (optax).

    `hyperparameters` maps argument names of `make` to the numbers that may be swept (it becomes an object with these
    fields); arguments that are no numbers go to the mapping `options`. Transformations that need the value of the loss
    at the play get it (`value`, `grad`); those that evaluate the loss elsewhere, such as line searches, need
    `oracle=True`, which asks the environment for the loss itself.
    """

    dim: int = static(range="[1, inf)", doc="d, dimension of the domain")
    make: Any = static(doc="makes the transformation from options and hyperparameters")
    hyperparameters: Any = param(None, doc="the traced keyword arguments of make, by name")
    options: Any = static((), doc="further keyword arguments of make, fixed: (name, value) pairs")
    domain: Any = param(None, doc="X, with project; must contain the origin; None: R^d")
    layout: str = static(
        "array", doc="what optax sees: one 'array' [d], or d 'scalars' (fast; each a block of its own)"
    )
    oracle: bool = static(False, doc="pass value_fn; needs an environment that tells the loss itself")
    skip_zero_gradients: bool = static(False, doc="leave the state as it is where the gradient is exactly zero")

    def __post_init__(self) -> None:
        # Mappings become sweepable or hashable; values are not looked at (they may be tracers).
        if isinstance(self.hyperparameters, dict):
            settings = _settings_class(tuple(self.hyperparameters))(**self.hyperparameters)
            object.__setattr__(self, "hyperparameters", settings)
        if isinstance(self.options, dict):
            object.__setattr__(self, "options", tuple(sorted(self.options.items())))
        if not isinstance(self.make, _Make):
            object.__setattr__(self, "make", _Make(self.make))

    @classmethod
    def sgd(
        cls, dim: int, learning_rate: ArrayLike = 0.1, decay: ArrayLike = 0.5, domain: Any = None
    ) -> "OptaxLearner":
        """Gradient descent with the step size learning_rate / t^decay."""
        return cls._scalars(dim, _sgd, {"learning_rate": learning_rate, "decay": decay}, domain)

    @classmethod
    def adam(
        cls, dim: int, learning_rate: ArrayLike = 0.1, b1: ArrayLike = 0.9, b2: ArrayLike = 0.999, domain: Any = None
    ) -> "OptaxLearner":
        """Adam with a constant learning rate."""
        return cls._scalars(dim, optax.adam, {"learning_rate": learning_rate, "b1": b1, "b2": b2}, domain)

    @classmethod
    def adagrad(cls, dim: int, learning_rate: ArrayLike = 1.0, domain: Any = None) -> "OptaxLearner":
        """AdaGrad with a step size for each coordinate."""
        return cls._scalars(dim, optax.adagrad, {"learning_rate": learning_rate}, domain)

    @classmethod
    def optimistic(cls, dim: int, learning_rate: ArrayLike = 0.1, domain: Any = None) -> "OptaxLearner":
        """Optimistic gradient descent with a constant step size."""
        return cls._scalars(dim, optax.optimistic_gradient_descent, {"learning_rate": learning_rate}, domain)

    @classmethod
    def cocob(cls, dim: int, alpha: ArrayLike = 100.0, domain: Any = None) -> "OptaxLearner":
        """COntinuous COin Betting, coordinate by coordinate (Orabona & Tommasi, NeurIPS 2017)."""
        return cls._scalars(dim, optax.contrib.cocob, {"alpha": alpha}, domain)

    @classmethod
    def dog(cls, dim: int, initial_distance: ArrayLike = 1e-3, domain: Any = None) -> "OptaxLearner":
        """Distance over gradients, as optax has it: an eps under the root."""
        return cls._scalars(dim, _dog, {"initial_distance": initial_distance}, domain)

    @classmethod
    def dowg(cls, dim: int, initial_distance: ArrayLike = 1e-3, domain: Any = None) -> "OptaxLearner":
        """Distance over weighted gradients, as optax has it: an eps beside the root."""
        return cls._scalars(dim, _dowg, {"initial_distance": initial_distance}, domain)

    @classmethod
    def prodigy(
        cls, dim: int, initial_distance: ArrayLike = 1e-3, learning_rate: ArrayLike = 1.0, domain: Any = None
    ) -> "OptaxLearner":
        """Prodigy: Adam with an estimate of the distance (Mishchenko & Defazio, ICML 2024)."""
        values = {"estim_lr0": initial_distance, "learning_rate": learning_rate}
        return cls._scalars(dim, optax.contrib.prodigy, values, domain, skip_zero_gradients=True)

    @classmethod
    def dadapt_adamw(
        cls, dim: int, initial_distance: ArrayLike = 1e-3, learning_rate: ArrayLike = 1.0, domain: Any = None
    ) -> "OptaxLearner":
        """D-adapted AdamW (Defazio & Mishchenko, ICML 2023), no weight decay."""
        values = {"estim_lr0": initial_distance, "learning_rate": learning_rate}
        return cls._scalars(dim, optax.contrib.dadapt_adamw, values, domain, skip_zero_gradients=True)

    @classmethod
    def mechanized_sgd(cls, dim: int, initial_scale: ArrayLike = 1e-3, domain: Any = None) -> "OptaxLearner":
        """Gradient descent with its scale learned by Mechanic (Cutkosky, Defazio & Mehta, NeurIPS 2023), no decay."""
        return cls._scalars(dim, _mechanized_sgd, {"s_init": initial_scale}, domain)

    @classmethod
    def _scalars(
        cls, dim: int, make: Callable[..., Any], hyperparameters: dict[str, Any], domain: Any, **fields: Any
    ) -> "OptaxLearner":
        """For transformations that treat d scalars as one vector: by coordinates, or by norms of the whole tree."""
        return cls(dim=dim, make=make, hyperparameters=hyperparameters, domain=domain, layout="scalars", **fields)

    @property
    def feedback(self) -> type:
        """The loss itself for those who evaluate it elsewhere, its value and gradient at the play otherwise."""
        return FullInformation if self.oracle else Gradient

    def check(self) -> None:
        if self.layout not in ("array", "scalars"):
            raise InputError(f"OptaxLearner.layout must be 'array' or 'scalars', got {self.layout!r}")
        one = jax.tree.map(lambda leaf: np.ravel(np.asarray(leaf))[0], self)  # a swept field has an axis of points
        try:
            jax.eval_shape(one.init, jax.random.key(0))
        except Exception as error:  # whatever `make`, which is not ours, raises
            name = getattr(self.make.function, "__name__", repr(self.make))
            reason = " ".join(str(error).split())
            hint = "" if self.oracle else "; a transformation that evaluates the loss itself needs oracle=True"
            raise InputError(f"OptaxLearner cannot run {name}: {reason[:200]}{hint}") from None

    def init(self, key: jax.Array) -> OptaxLearnerState:
        del key  # deterministic
        origin = linalg.zeros(self.dim)
        x = linalg.dense(origin) if self.layout == "array" else origin
        begin = OptaxLearnerState(x, self._transformation().init(x))
        after = jax.eval_shape(lambda s: self._step(s, x, jnp.zeros(()), lambda v: 0.0 * linalg.norm(v)), begin)
        return jax.tree.map(_settle, begin, after)

    def select(self, key: jax.Array, t: jax.Array, state: OptaxLearnerState, obs: Any) -> PointDecision:
        del key, t, obs
        return PointDecision.at(self._vector(state.x))

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
        grad = jax.tree.map(lambda a: a[0], feedback.grad)
        if self.layout == "array":
            grad = linalg.dense(grad)
        value_fn = feedback.oracle.value if isinstance(feedback, FullInformation) else None
        after = self._step(state, grad, feedback.loss[0], value_fn)
        after = jax.tree.map(lambda new, old: _cast(new, old.dtype), after, state)
        if self.skip_zero_gradients:
            after = linalg.where(linalg.inner(grad, grad) > 0.0, after, state)
        return after

    def _step(self, state: OptaxLearnerState, grad: Any, value: jax.Array, value_fn: Any) -> OptaxLearnerState:
        extra = {"value": value, "grad": grad}
        if self.oracle:
            extra["value_fn"] = lambda x: value_fn(self._vector(x))
        step, inner = self._transformation().update(grad, state.inner, state.x, **extra)
        return OptaxLearnerState(project(self.domain, optax.apply_updates(state.x, step)), inner)

    def _transformation(self) -> optax.GradientTransformationExtraArgs:
        values = {} if self.hyperparameters is None else vars(self.hyperparameters)
        return optax.with_extra_args_support(self.make(**dict(self.options), **values))

    def _vector(self, x: Any) -> linalg.Vector:
        return linalg.vectors(x) if self.layout == "array" else x


def _settle(begin: jax.Array, after: Any) -> jax.Array:
    return _cast(jnp.asarray(begin), jnp.promote_types(jnp.asarray(begin).dtype, after.dtype))


def _cast(leaf: jax.Array, dtype: Any) -> jax.Array:
    """Strongly typed (random keys, which have no other type, as they are)."""
    return leaf if jnp.issubdtype(dtype, jax.dtypes.prng_key) else lax.convert_element_type(leaf, dtype)


def _sgd(learning_rate: jax.Array, decay: jax.Array) -> optax.GradientTransformation:
    return optax.sgd(lambda count: learning_rate * (count + 1.0) ** -decay)


def _dog(initial_distance: jax.Array) -> optax.GradientTransformation:
    return optax.contrib.dog(init_step=("distance", initial_distance))


def _dowg(initial_distance: jax.Array) -> optax.GradientTransformation:
    return optax.contrib.dowg(init_estim_sq_dist=initial_distance**2)


def _mechanized_sgd(s_init: jax.Array) -> optax.GradientTransformationExtraArgs:
    return optax.contrib.mechanize(optax.sgd(1.0), weight_decay=0.0, s_init=s_init)
