"""Abstract learners for group DRO, with common fields, presets, step sizes and checks."""

import abc
import math
from typing import Any, ClassVar, Self

import jax
import jax.numpy as jnp
import numpy as np

from jaxbandits.algorithms.dro.multipliers import MULTIPLIERS
from jaxbandits.algorithms.dro.players import Model, Players, Saddle, Weights
from jaxbandits.algorithms.dro.steps import Steps
from jaxbandits.base.errors import InputError, format_value
from jaxbandits.base.pytree import ArrayLike, Fields, FieldValue, param, pytree, static
from jaxbandits.domains import points, protocol
from jaxbandits.domains.ball import L2Ball
from jaxbandits.domains.points import Point, Shape
from jaxbandits.domains.protocol import ConvexSet
from jaxbandits.types import Gradient


@pytree
class GroupLearner(abc.ABC):
    """Abstract learner for `min_w max_q sum_i q_i R_i(w)`, with w in W and q in the simplex over m groups.

    A concrete subclass adds the number of groups (a field `n_groups`, or a field `budgets` with one entry per group),
    the step sizes of its theorem, and the functions of the protocol.
    """

    environments: ClassVar[tuple[str, ...]] = ("dro/synthetic_groups",)
    feedback: ClassVar[type] = Gradient
    steps_from_diameter: ClassVar[tuple[str, ...]] = ("step_w", "step_q")  # fields whose default is derived from D^2
    dim: Shape | None = static(None, "[1, inf)", "d, or the shape of the model; None: the structure of `start`")
    # The paper states no radius; the value 3 is ours.
    domain: ConvexSet = param(factory=lambda: L2Ball(radius=3.0), doc="W, a convex set with zero, project and diameter")
    start: Point = param(
        None, doc="w_1, first model, any pytree of arrays; None: domain.zero (the centre if W is a ball)"
    )
    lipschitz: ArrayLike | None = param(None, "(0, inf)", "G, bound on gradient norms; None: sqrt(d)")
    diameter_sq: ArrayLike | None = param(
        None,
        "(0, inf)",
        "D^2, range of ||w - w_1||^2 / 2; None: derived from the diameter (B^2 / 2 on a ball of radius B)",
    )
    w_scale: ArrayLike = param(1.0, "[0, inf)", "multiplier of the step of w; the theory uses 1")
    q_scale: ArrayLike = param(1.0, "[0, inf)", "multiplier of the step of q and of gamma; the theory uses 1")
    step_w: ArrayLike | None = param(
        None,
        "[0, inf)",
        "eta_w, step size of w (in round 1 for anytime forms); None: w_scale times the step of the theory",
    )
    step_q: ArrayLike | None = param(
        None,
        "[0, inf)",
        "eta_q, step size of q (in round 1 for anytime forms); None: q_scale times the step of the theory",
    )

    @classmethod
    def theory(cls, **fields: FieldValue) -> Self:
        """Use the step sizes of the learner's theorem; this is the default."""
        return cls(**fields)

    @classmethod
    def practical(cls, **fields: FieldValue) -> Self:
        """Use the steps of the theorem times multipliers that are ours, tuned by `jaxbandits tune dro`."""
        name = cls.__module__.rpartition(".")[2]  # the name in the registry
        scales: Fields = {**MULTIPLIERS[name]}
        return cls(**scales | fields)

    @abc.abstractmethod
    def steps(self) -> Steps:
        """Return the step sizes of the theorem times their multipliers, unless fields override them."""

    def resolve_steps(self, theory: Steps, gamma: ArrayLike | None = None) -> Steps:
        """Return the steps `theory` of the theorem times `w_scale` and `q_scale`, unless fields override them."""
        return theory.scale(self.w_scale, self.q_scale).replace(self.step_w, self.step_q, gamma)

    def geometry(self) -> tuple[ArrayLike, ArrayLike]:
        """Return D^2 and G; the defaults are the range of ||w - w_1||^2 / 2 over W, and sqrt(d).

        The default sqrt(d) is meant for linear models on features with unit variance. If w_1 is the centre of a ball
        in some norm, D^2 is B^2 / 2 for half of the diameter, B; otherwise D^2 is half of the squared diameter. If W is
        unbounded, `check` requires `diameter_sq` or explicit steps, which do not need D^2.
        """
        diameter_sq, lipschitz = self.diameter_sq, self.lipschitz
        if diameter_sq is None:
            # The first model is the centre of a ball in some norm; Spectrahedron has a radius but no centre.
            centered = self.start is None and hasattr(self.domain, "radius") and hasattr(self.domain, "center")
            reach = self.domain.diameter / 2.0 if centered else self.domain.diameter
            diameter_sq = jnp.where(jnp.isfinite(reach), jnp.square(reach) / 2.0, 1.0)
        if lipschitz is None:
            if self.start is None:
                assert self.dim is not None, "`check` requires one of them"
                size = points.size(self.dim)
            else:
                size = sum(map(np.size, jax.tree.leaves(self.start)))
            lipschitz = math.sqrt(size)
        return diameter_sq, lipschitz

    def first_model(self) -> Point:
        """Return the first model w_1 in the default precision."""
        start = self.domain.zero(self.dim) if self.start is None else self.start
        return jax.tree.map(lambda leaf: jnp.asarray(leaf, float), start)

    def check(self) -> None:
        """Check that the model has a shape, the domain has the oracles, and D^2 is known if a step needs it.

        Raises:
          InputError: if a field is invalid; the message names the field.
        """
        name = type(self).__name__
        protocol.check(self.domain, f"{name}.domain", "zero", "project", "diameter")
        if self.dim is None and self.start is None:
            raise InputError(f"either {name}.dim or {name}.start must be given")
        if self.dim is not None and self.start is not None:
            points.check(self.start, self.dim, f"{name}.start")
            protocol.check_member(self.domain, self.start, self.dim, f"{name}.start")
        derived = any(getattr(self, field) is None for field in self.steps_from_diameter)
        if derived and self.diameter_sq is None and np.isinf(np.asarray(self.domain.diameter)).any():
            needed = " and ".join(self.steps_from_diameter)
            raise InputError(f"the domain is unbounded, so {name}.diameter_sq must be given, or else {needed}")


@pytree
class TwoPlayers(GroupLearner):
    """Abstract group learner whose state is `Players`: a model, weights over the groups, and their averages."""

    def init(self, key: jax.Array) -> Players:
        del key  # deterministic: both players start at the minimisers of their mirror maps
        return first_players(self)

    def recommend(self, state: Players) -> Saddle:
        """Return the averages of models `[d]` and weights `[m]`; anytime forms weight them by the steps, as in (20)."""
        return state.saddle


def first_players(learner: Any) -> Players:
    """Return the players before round 1, with the model w_1 and uniform weights."""
    return Players(
        model=Model.init(learner.first_model()), weights=Weights.init(learner.n_groups), steps=learner.steps()
    )


def check_k(learner: Any) -> None:
    """Raise `InputError` if k > m."""
    if learner.k > learner.n_groups:
        raise InputError(f"{type(learner).__name__}.k must be at most n_groups = {learner.n_groups}, got {learner.k}")


def check_budgets(learner: Any) -> None:
    """Raise `InputError` unless the budgets are a tuple with at least two entries."""
    budgets = learner.budgets
    if not isinstance(budgets, tuple) or len(budgets) < 2:
        raise InputError(
            f"{type(learner).__name__}.budgets must be a sequence of at least two whole numbers, got "
            f"{format_value(budgets)}"
        )
