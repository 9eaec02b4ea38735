"""Step one trial in Python, round by round, to inspect states, print values and set breakpoints inside a learner."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxbandits.base import ranges
from jaxbandits.base.errors import InputError
from jaxbandits.base.pytree import ArrayLike, PyTree, as_arrays
from jaxbandits.engine import loop
from jaxbandits.engine.driver import carry_after
from jaxbandits.engine.grid import Grid
from jaxbandits.engine.jobs import default_label, make_jobs
from jaxbandits.engine.options import make_options
from jaxbandits.engine.plan import Job
from jaxbandits.types import Algorithm, BoundsHorizon, Decision, Environment, Feedback, Obs, Outcome, State, narrow


def step_through(
    algorithm: Algorithm, environment: Environment, *, trial: int = 0, seed: int = 0, skip: int = 0
) -> "SteppedTrial":
    """Return one trial of `simulate(algorithm, environment, ...)`, whose rounds are then played one by one in Python.

    The rounds are not compiled: methods of learner and environment run as Python code on concrete arrays, so that
    `print`, `breakpoint` and `if` work in them (under `jax.disable_jit()` also in the bodies of loops). The numbers
    agree with those of the compiled run up to rounding. A round takes about ten milliseconds.

    Args:
      algorithm: as for `simulate`.
      environment: as for `simulate`.
      trial: global seed index of the trial, as in `result[label].seeds`.
      seed: base seed of the run, as for `simulate`.
      skip: number of rounds that a compiled program plays before the first round in Python.

    Raises:
      InputError: as for `simulate`, and for a `Grid` or several algorithms.

    Example:
      >>> from jaxbandits import armed, step_through
      >>> trial = step_through(armed.UCB1(n_arms=2), armed.BernoulliArms.from_means([1.0, 0.0]), trial=3)
      >>> print(trial.step(2))
      UCB1 on BernoulliArms, trial 3: 2 rounds played
        obs       IndexObs(arms=array([0, 1], dtype=int32), mask=None)
        decision  ArmDecision(index=1, x=1, probability=None)
        feedback  Reward(reward=0.0)
        outcome   RegretOutcome(regret=1.0)
        state     Pulls(count=array([1., 1.]), total=array([1., 0.]))
    """
    if isinstance(algorithm, Grid):
        raise InputError("step_through takes a single algorithm, not a Grid")
    ranges.integer("trial", trial, "[0, 2147483647]")
    ranges.integer("skip", skip, "[0, 2147483646]")
    options = make_options(seed=seed, first_seed=trial, width=1, progress=False)
    label = default_label(algorithm)
    device = jax.local_devices()[0]
    (label_jobs,) = make_jobs({label: algorithm}, environment, max(skip, 1), 1, 1, options, device)
    return SteppedTrial(label_jobs.whole, options.seed, skip)


class SteppedTrial:
    """State of one trial between two rounds; `step_through` constructs it.

    Attributes:
      t: number of rounds played.
      carry: complete state of the trial, as JAX arrays.
      round: the last round played by `step`, in the form that meters receive (`Round`), as JAX arrays; None before the
        first call of `step`.
    """

    def __init__(self, job: Job, seed: int, skip: int):
        self._job = job
        self._algorithm, self._environment = as_arrays(job.at_point())
        self.t, self.round = skip, None
        self.carry: Any = carry_after(job, seed, skip, jax.local_devices()[0]) if skip else self._start(seed)

    def _start(self, seed: int) -> loop.Carry:
        key = jax.random.key(seed, impl="threefry2x32")
        return loop.init_trial(key, self._algorithm, self._environment, jnp.int32(self._job.first_seed))

    def step(self, rounds: int = 1) -> "SteppedTrial":
        """Play further rounds and return this object, whose attributes then describe the last round played.

        Args:
          rounds: number of rounds to play.

        Raises:
          InputError: if `rounds` is not a positive whole number, or if the environment runs out of data; the rounds
            before that have then been played.
        """
        ranges.integer("rounds", rounds)
        environment: Any = self._environment
        longest = environment.max_horizon if isinstance(environment, BoundsHorizon) else None
        for _ in range(rounds):
            if longest is not None and self.t >= longest:
                raise InputError(f"the environment has {longest} rounds, and all of them have been played")
            self.carry, self.round = loop.play_round(self._algorithm, self._environment, jnp.int32(self.t), self.carry)
            self.t += 1
        return self

    @property
    def obs(self) -> Obs:
        """Observation of the last round played by `step`; None before the first call of `step`."""
        return None if self.round is None else plain(self.round.obs)

    @property
    def decision(self) -> Decision:
        """Decision of the last round played by `step`; None before the first call of `step`."""
        return None if self.round is None else plain(self.round.decision)

    @property
    def feedback(self) -> Feedback:
        """Feedback on the last round played, as the learner receives it (later, if delayed); None before `step`."""
        return None if self.round is None else plain(narrow(self.round.feedback, self._algorithm.feedback))

    @property
    def outcome(self) -> Outcome:
        """Outcome of the last round played by `step`, which the learner does not see; None before the first call."""
        return None if self.round is None else plain(self.round.outcome)

    @property
    def state(self) -> State:
        """State of the learner after the last round played."""
        return plain(self.carry.alg_state)

    @property
    def env_state(self) -> State:
        """State of the environment after the last round played, which includes the problem instance."""
        return plain(self.carry.env_state)

    def __repr__(self) -> str:
        """Describe the last round played: one line each for observation, decision, feedback, outcome and state."""
        pair = f"{type(self._job.algorithm).__name__} on {type(self._job.environment).__name__}"
        lines = [f"{pair}, trial {self._job.first_seed}: {self.t:,} round{'s' * (self.t != 1)} played"]
        names = ("obs", "decision", "feedback", "outcome", "state") if self.round is not None else ("state",)
        return "\n".join([*lines, *(f"  {name:<9} {' '.join(repr(getattr(self, name)).split())}" for name in names)])


def plain(tree: PyTree) -> PyTree:
    """Convert the arrays of a tree to NumPy arrays, or to numbers if they have no axes; keys become integer words."""

    def convert(leaf: ArrayLike) -> object:
        is_key = isinstance(leaf, jax.Array) and jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key)
        array = np.asarray(jax.random.key_data(leaf) if is_key else leaf)
        return array.item() if array.ndim == 0 else array

    return jax.tree.map(convert, tree)
