"""State that a trial passes from round to round."""

from typing import NamedTuple

import jax

from jaxbandits.base.pytree import PyTree
from jaxbandits.engine.meters import Totals
from jaxbandits.types import Decision, Feedback, Obs, State


class Streams(NamedTuple):
    """Base keys of a trial, one for each method that is called in every round.

    In round t, a method receives the key `fold_in(stream, t)`, which XLA does not compute if the method draws nothing.
    The keys of `init` are in `TrialKeys`.
    """

    observe: jax.Array
    step: jax.Array
    select: jax.Array
    update: jax.Array


class Interaction(NamedTuple):
    """Part of a round that the learner receives: the last three arguments of `Algorithm.update`."""

    obs: Obs
    decision: Decision
    feedback: Feedback


class Carry(NamedTuple):
    """Complete state of a trial; the carry of the round loop."""

    streams: Streams
    env_state: State
    alg_state: State
    totals: Totals  # totals of the rounds since the last record point
    # `Interaction` of the rounds whose feedback is delayed, with leaves `[rounds, ...]`; () if no feedback is delayed.
    delay_buffer: PyTree = ()
