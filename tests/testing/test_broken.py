"""Each check of the contract finds the learner that breaks its promise, and says so in one line."""

import dataclasses
from typing import Any, ClassVar, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxbandits import rng
from jaxbandits.base.pytree import param, pytree, static
from jaxbandits.environments.linear.heavy_tailed import HeavyTailed
from jaxbandits.environments.oco.linear_losses import LinearLosses
from jaxbandits.estimation.arms import best_arm
from jaxbandits.simulation import simulate
from jaxbandits.testing import contract
from jaxbandits.types import ArmDecision, Gradient, Reward

ENVIRONMENT = HeavyTailed(dim=2, n_arms=5)


@pytree
class Greedy:
    """Plays the available arm with the largest sum of rewards: keeps every promise."""

    feedback: ClassVar[type] = Reward
    dim: int = static(2, "[1, inf)", "d")
    weight: Any = param(1.0, "(0, inf)", "of a reward")

    def init(self, key):
        del key
        return jnp.zeros(5)

    def select(self, key, t, state, obs):
        del key, t
        scores = state if obs.mask is None else jnp.where(obs.mask, state, -jnp.inf)
        index = jnp.argmax(scores)
        return ArmDecision(index, obs.arms[index])

    def update(self, key, t, state, obs, decision, feedback):
        del key, t, obs
        return state.at[decision.index].add(self.weight * jnp.tanh(feedback.reward))


@pytree
class WithoutDoc(Greedy):
    more: Any = param(1.0, "(0, inf)", "")


@pytree
class OtherWords(Greedy):
    """Names its arguments in its own way, which is no problem: the loop passes them by position."""

    def select(self, key, round_, state, seen):
        return super().select(key, round_, state, seen)


@pytree
class FewerWords(Greedy):
    def select(self, key, state, obs):
        return super().select(key, 0, state, obs)


@pytree
class UndocumentedSize(Greedy):
    size: int = static(3)


@pytree
class TurnsIntoNaN(Greedy):
    """Sound for 300 rounds: a check of a few rounds would pass it."""

    def update(self, key, t, state, obs, decision, feedback):
        return super().update(key, t, state, obs, decision, feedback) + jnp.log(jnp.where(t < 300, 1.0, -1.0))


@pytree
class Widens(Greedy):
    def update(self, key, t, state, obs, decision, feedback):
        return super().update(key, t, state, obs, decision, feedback).astype(jnp.float16)


@pytree
class ReusesAKey(Greedy):
    def select(self, key, t, state, obs):
        noise = jax.random.normal(key, (5,)) + jax.random.uniform(key, (5,))
        return super().select(key, t, state + noise, obs)


@pytree
class DrawsTheSame(Greedy):
    """Draws twice by the package's own generator, which JAX's checker of keys does not know."""

    def select(self, key, t, state, obs):
        noise = rng.normal_vector(key, 5) + rng.uniforms(key, 5)
        return super().select(key, t, state + noise, obs)


@pytree
class DrawsTheSameInALoop(Greedy):
    def update(self, key, t, state, obs, decision, feedback):
        def add(i, state):
            key_of_step = jax.random.fold_in(key, i)
            return state + rng.uniform(key_of_step) - rng.uniform(key_of_step)

        return jax.lax.fori_loop(0, 3, add, state)


@pytree
class DrawsInEitherBranch(Greedy):
    """Draws from one key in two branches, from its parts, and with several counters."""

    def select(self, key, t, state, obs):
        first, second = jax.random.split(key)
        early = jax.lax.cond(t < 3, lambda: rng.uniform(first), lambda: rng.uniform(first) + 1.0)
        noise = early + rng.uniform(second) + rng.uniform(second, counter=1)
        return super().select(key, t, state + noise, obs)


@pytree
class Hides(Greedy):
    """Draws from NumPy while it is traced."""

    def update(self, key, t, state, obs, decision, feedback):
        return super().update(key, t, state, obs, decision, feedback) + np.random.default_rng().normal()


@pytree
class IgnoresTheMask(Greedy):
    def select(self, key, t, state, obs):
        return super().select(key, t, state, obs._replace(mask=None))


@pytree
class ForgetsTheMask(Greedy):
    """Heeds the mask while it plays every arm once."""

    def select(self, key, t, state, obs):
        heeded = None if obs.mask is None else jnp.where(t < 5, obs.mask, True)
        return super().select(key, t, state, obs._replace(mask=heeded))


@pytree
class MixesUpFeatures(Greedy):
    def select(self, key, t, state, obs):
        return super().select(key, t, state, obs)._replace(x=obs.arms[0])


@pytree
class Overflows(Greedy):
    def update(self, key, t, state, obs, decision, feedback):
        grown = jnp.exp(jnp.abs(feedback.reward))
        return super().update(key, t, state, obs, decision, feedback) + grown - grown


@pytree
class RecommendsNothing(Greedy):
    def recommend(self, state):
        return jnp.log(state)


@pytree
class IfInRecommend(Greedy):
    def recommend(self, state):
        return 0 if state[0] > 0.0 else 1


@pytree
class StopsInNumpy(Greedy):
    def stopped(self, state):
        return np.max(np.asarray(state)) > 3.0


@pytree
class LeavesTheArms(Greedy):
    def select(self, key, t, state, obs):
        decision = super().select(key, t, state, obs)
        return decision._replace(index=decision.index + 5)


@pytree
class Ridge(Greedy):
    """Keeps vectors of dim coordinates."""

    def init(self, key):
        return jnp.zeros(self.dim)

    def select(self, key, t, state, obs):
        index = jnp.argmax(jnp.sum(obs.arms * state, axis=1))
        return ArmDecision(index, obs.arms[index])

    def update(self, key, t, state, obs, decision, feedback):
        return state + feedback.reward * decision.x


@pytree
class UnrolledRidge(Ridge):
    def select(self, key, t, state, obs):
        return best_arm(obs.arms, obs.mask, lambda x: x @ state)


@pytree
class SelectsAnIndex(Greedy):
    def select(self, key, t, state, obs):
        return jnp.argmax(state)


@pytree
class SelectsManyArms(Greedy):
    def select(self, key, t, state, obs):
        return ArmDecision(jnp.argmax(state), obs.arms)


@pytree
class SelectsByName(Greedy):
    def select(self, key, t, state, obs):
        return Reward(jnp.argmax(state))


@pytree
class ForgetsToReturn(Greedy):
    def update(self, key, t, state, obs, decision, feedback):
        state.at[decision.index].add(feedback.reward)


@pytree
class Grows(Greedy):
    def update(self, key, t, state, obs, decision, feedback):
        return jnp.append(state, feedback.reward)


@pytree
class ChangesStructure(Greedy):
    def update(self, key, t, state, obs, decision, feedback):
        return state, feedback.reward


@pytree
class BeginsWithPythonNumbers(Greedy):
    def init(self, key):
        return {"sums": jnp.zeros(5), "count": 0.0}

    def select(self, key, t, state, obs):
        return super().select(key, t, state["sums"], obs)

    def update(self, key, t, state, obs, decision, feedback):
        sums = super().update(key, t, state["sums"], obs, decision, feedback)
        return {"sums": sums, "count": state["count"] + jnp.ones(())}


@pytree
class UsesAKeyTwiceInUpdate(Greedy):
    def update(self, key, t, state, obs, decision, feedback):
        return state + jax.random.normal(key) + jax.random.uniform(key)


@pytree
class IfInSelect(Greedy):
    def select(self, key, t, state, obs):
        if state[0] > 0.0:
            return super().select(key, t, state, obs)
        return ArmDecision(jnp.int32(0), obs.arms[0])


@pytree
class IfOnAField(Greedy):
    def update(self, key, t, state, obs, decision, feedback):
        return state if self.weight > 1.0 else 2.0 * state


@pytree
class NumpyInSelect(Greedy):
    def select(self, key, t, state, obs):
        index = jnp.argmax(np.exp(state))
        return ArmDecision(index, obs.arms[index])


@pytree
class SizeFromAField(Greedy):
    def init(self, key):
        return jnp.zeros(int(self.weight))


@pytree
class KeepsItInTheObject(Greedy):
    def update(self, key, t, state, obs, decision, feedback):
        self.weight = 2.0
        return state


@pytree
class NumpyRandomness(Greedy):
    def select(self, key, t, state, obs):
        return super().select(key, t, state + np.random.default_rng().normal(size=5), obs)


@pytree
class NeedsMore(Greedy):
    feedback: ClassVar[type] = Gradient


class WithoutFeedback:
    init, select, update = Greedy.init, Greedy.select, Greedy.update


@pytree
class FeedbackAsAField:
    feedback: Any = Reward
    init, select, update = Greedy.init, Greedy.select, Greedy.update


@pytree
class WithoutAnnotation(Greedy):
    ridge = 1.0


@pytree
class AnnotationOnly(Greedy):
    ridge: float = 1.0


TRACED = [
    (
        lambda: Ridge(dim=3),
        r"Ridge.select, line \d+ \(index = jnp.argmax.*\) raises .*\(Ridge has dim=3, but .*Tailed has dim=2: make",
    ),
    (
        lambda: UnrolledRidge(dim=3),
        r"UnrolledRidge.select, line \d+ .* raises .*dim=3, but HeavyTailed has dim=2: make them equal",
    ),
    (
        SelectsAnIndex,
        r"SelectsAnIndex.select returned a number of type int\d\d, not a decision: return ArmDecision\(ind",
    ),
    (
        SelectsManyArms,
        r"SelectsManyArms.select: the arm of its decision has shape \(5, 2\), but the arms in the observation",
    ),
    (SelectsByName, "SelectsByName.select returned Reward without index: return ArmDecision"),
    (ForgetsToReturn, "ForgetsToReturn.update returned None: it must return the next state"),
    (Grows, r"Grows.update: state changes its shape from \(5,\) to \(6,\) in one round: keep the size fixed"),
    (Widens, "Widens.update: state changes from float64 to float16 in one round: start with that dtype, or cast"),
    (
        ChangesStructure,
        "returns a state whose structure, a tuple of 2, differs from that of .* an array of shape",
    ),
    (ReusesAKey, r"ReusesAKey.select uses a key twice.*jax.random.split\(key\)"),
    (DrawsTheSame, "DrawsTheSame.select uses a key twice.*different values of `counter` to jaxbandits.rng"),
    (DrawsTheSameInALoop, "DrawsTheSameInALoop.update uses a key twice"),
    (UsesAKeyTwiceInUpdate, "UsesAKeyTwiceInUpdate.update uses a key twice"),
    (IfInSelect, r"IfInSelect.select, line \d+ \(if state\[0\] > 0.0:\) uses as a condition in Python .*jnp.where"),
    (IfInRecommend, r"IfInRecommend.recommend, line \d+ \(return 0 if state.* uses as a condition in Python"),
    (StopsInNumpy, r"StopsInNumpy.stopped, line \d+ .* turns a value .* use jax.numpy"),
    (IfOnAField, r"IfOnAField.update, line \d+ \(return state if self.weight > 1.0 .*\) uses as a condition in Python"),
    (
        NumpyInSelect,
        r"NumpyInSelect.select, line \d+ \(index = jnp.argmax\(np.exp\(state\)\)\) turns a value .* use jax.numpy",
    ),
    (SizeFromAField, r"SizeFromAField.init, line \d+ .* needs a value that is known only .* sizes static\(\) fields"),
    (KeepsItInTheObject, r"KeepsItInTheObject.update, line \d+ .* is frozen: values that change belong in the state"),
    (NumpyRandomness, "NumpyRandomness.select gives a different program when it is traced again, or draws numbers"),
    (Hides, "Hides.update gives a different program when it is traced again.* belong in the state"),
    (NeedsMore, "NeedsMore.feedback: the algorithm needs Gradient.*gives ScaledReward.*, without loss, grad"),
    (WithoutFeedback, "WithoutFeedback has no feedback: declare the feedback it receives, as `feedback: ClassVar"),
    (
        FeedbackAsAField,
        "FeedbackAsAField.feedback is a field.*declare the feedback it receives, as `feedback: ClassVar",
    ),
    (
        WithoutAnnotation,
        r"WithoutAnnotation.ridge has no annotation, so it is not a field .*write `ridge: Any = param\(1.0, ",
    ),
    (AnnotationOnly, r"field ridge has no description \(doc\): write `ridge: Any = param\("),
    (WithoutDoc, "field more has no description"),
    (FewerWords, r"FewerWords.select takes the arguments \['key', 'state', 'obs'\], but it must take \['key', 't'"),
    (UndocumentedSize, r"field size has no description .*write `size: int = static\(default, "),
]


@pytest.mark.parametrize(("made", "message"), TRACED, ids=[message.split(".")[0][:24] for _, message in TRACED])
def test_the_quick_form_says_what_breaks_and_how_to_mend_it(made, message):
    """In a sentence or two; nothing is compiled."""
    with pytest.raises(AssertionError, match=message) as said:
        contract.check_algorithm(made(), ENVIRONMENT, quick=True)
    text = str(said.value)
    assert "\n" not in text and len(text) < 500 and "ShapeDtypeStruct" not in text and "Traced<" not in text


@pytree
class UndocumentedAndAsks(IfInSelect):
    first: Any = param(1.0, "(0, inf)")
    second: int = static(3, "[1, inf)")


def test_fields_without_a_meaning_hide_nothing():
    """All of them are named, and what breaks besides."""
    with pytest.raises(AssertionError) as said:
        contract.check_algorithm(UndocumentedAndAsks(), ENVIRONMENT, quick=True)
    lines = str(said.value).splitlines()
    assert len(lines) == 3 and "field first has no description" in lines[1] and "field second has no" in lines[2]
    assert "as a condition in Python" in lines[0]  # what breaks comes first


class OwnDecision(NamedTuple):
    index: Any
    x: Any
    bonus: Any


@jax.tree_util.register_dataclass
@dataclasses.dataclass(frozen=True)
class OwnDataclass:
    index: Any
    x: Any


@pytree
class DecidesInItsOwnType(Greedy):
    """Begins with a weak type too, which runs turn into an array."""

    make: ClassVar[Any] = staticmethod(lambda index, x: OwnDecision(index, x, 0.0))

    def init(self, key):
        return jnp.full(5, 1 / 5)

    def select(self, key, t, state, obs):
        return self.make(*super().select(key, t, state, obs)[:2])

    def update(self, key, t, state, obs, decision, feedback):
        return state + jnp.tanh(feedback.reward) * jax.nn.one_hot(decision.index, 5)


@pytree
class DecidesInADataclass(DecidesInItsOwnType):
    make: ClassVar[Any] = staticmethod(OwnDataclass)


@pytest.mark.parametrize("learner", [DecidesInItsOwnType, DecidesInADataclass, BeginsWithPythonNumbers])
def test_what_runs_keeps_the_contract(learner):
    simulate(learner(), ENVIRONMENT, 3, 2, progress=False)
    contract.check_algorithm(learner(), ENVIRONMENT, quick=True)


@pytree
class PlaysABarePoint:
    """A point without a decision around it."""

    feedback: ClassVar[type] = Gradient
    dim: int = static(2, "[1, inf)", "d")

    def init(self, key):
        return jnp.zeros(self.dim)

    def select(self, key, t, state, obs):
        return state

    def update(self, key, t, state, obs, decision, feedback):
        return state


def test_a_decision_that_the_environment_does_not_take_is_told_what_to_return():
    with pytest.raises(AssertionError, match=r"LinearLosses.step does not accept: return .* PointDecision.at\(x\)"):
        contract.check_algorithm(PlaysABarePoint(), LinearLosses(dim=2), quick=True)


@pytest.mark.parametrize(
    ("position", "value", "message"),
    [(1, 0.0, "a number of type float.. as feedback: return a"), (2, {"regret": 0.0}, "a dict as outcome: return")],
)
def test_an_environment_must_return_named_tuples(position, value, message):
    @pytree
    class Answers(HeavyTailed):
        def step(self, key, t, state, obs, decision):
            returned = list(super().step(key, t, state, obs, decision))
            returned[position] = value
            return tuple(returned)

    with pytest.raises(AssertionError, match=f"Answers.step returned {message}"):
        contract.check_algorithm(Greedy(), Answers(dim=2, n_arms=5), quick=True)


def test_the_quick_form_traces_the_metrics_of_a_record_point():
    @pytree
    class Judges(HeavyTailed):
        def at_record(self, state, recommendation):
            return {"large": 1.0 if state.theta[0] > 0.5 else 0.0}

    with pytest.raises(AssertionError, match=r"Judges.at_record, line \d+ .* uses as a condition in Python"):
        contract.check_algorithm(Greedy(), Judges(dim=2, n_arms=5), quick=True)


BROKEN = [
    (contract.masked_arms_are_never_played, IgnoresTheMask, "only arm 2 was available, but arm 0 was played"),
    (contract.masked_arms_are_never_played, ForgetsTheMask, "in round 39, only arm 0 was available, but arm "),
    (contract.decisions_have_the_features_of_their_arms, MixesUpFeatures, "but not the features of this arm"),
    (contract.stays_finite, Overflows, "the state is NaN after feedback scaled by 1e.06"),
    (contract.recommendation_is_finite, RecommendsNothing, "the recommendation from the initial state is not finite"),
    (contract.decisions_are_admissible, LeavesTheArms, "decisions are not admissible"),
    (
        contract.stays_finite_over_many_rounds,
        TurnsIntoNaN,
        "NaN in 32 of 32 trials within 2,000 rounds; with seed 0 state is NaN after round 300",
    ),
]


@pytest.mark.slow_cases("LeavesTheArms")
@pytest.mark.parametrize(("check", "broken", "message"), BROKEN, ids=[broken.__name__ for _, broken, _ in BROKEN])
def test_a_broken_promise_is_found(check, broken, message):
    with pytest.raises(AssertionError, match=message):
        check(broken(), ENVIRONMENT)


def test_a_global_draw_is_found_although_all_traces_are_equal():
    @pytree
    class RarelyTies(Greedy):
        def select(self, key, t, state, obs):
            return super().select(key, t, state + (np.random.random() > 2.0), obs)  # noqa: NPY002

    with pytest.raises(AssertionError, match=r"RarelyTies.select gives a different program .* drawn once"):
        contract.select_is_read_only(RarelyTies(), ENVIRONMENT)


def test_a_nan_in_the_state_of_the_environment_is_named():
    @pytree
    class Decays(HeavyTailed):
        def step(self, key, t, state, obs, decision):
            state, feedback, outcome = super().step(key, t, state, obs, decision)
            return state._replace(theta=jnp.where(t < 9, state.theta, jnp.nan)), feedback, outcome

    with pytest.raises(AssertionError, match=r"with seed 0 the environment's state\.theta is NaN after round 9"):
        contract.stays_finite_over_many_rounds(Greedy(), Decays(dim=2, n_arms=5))


@pytest.mark.slow
def test_a_metric_that_is_no_number_is_named():
    @pytree
    class WithoutRegret(HeavyTailed):
        def step(self, key, t, state, obs, decision):
            state, feedback, outcome = super().step(key, t, state, obs, decision)
            return state, feedback, outcome._replace(regret=jnp.where(t == 7, jnp.nan, outcome.regret))

    with pytest.raises(AssertionError, match=r"regret is NaN or infinite in 32 of 32 trials.*WithoutRegret\.step"):
        contract.stays_finite_over_many_rounds(Greedy(), WithoutRegret(dim=2, n_arms=5))


@pytest.mark.slow
def test_a_nan_among_complex_numbers_is_found():
    @pytree
    class Complex(Greedy):
        def init(self, key):
            return super().init(key).astype(complex)

        def select(self, key, t, state, obs):
            return super().select(key, t, state.real, obs)

        def update(self, key, t, state, obs, decision, feedback):
            return super().update(key, t, state, obs, decision, feedback) / (feedback.reward != 0.0)

    with pytest.raises(AssertionError, match="the state is NaN after feedback scaled by 0"):
        contract.stays_finite(Complex(), ENVIRONMENT)


@pytest.mark.slow
def test_all_problems_are_listed():
    """Each on a line."""

    @pytree
    class Both(IgnoresTheMask, TurnsIntoNaN):
        pass

    with pytest.raises(AssertionError) as said:
        contract.check_algorithm(Both(), ENVIRONMENT)
    lines = str(said.value).splitlines()
    assert len(lines) >= 2 and "only arm" in lines[0] and "after round 300" in "\n".join(lines[1:])


def test_other_names_of_arguments_are_no_problem(capsys):
    contract.check_algorithm(OtherWords(), ENVIRONMENT, quick=True)
    assert capsys.readouterr().out == "OtherWords on HeavyTailed: obeys the contract, as far as its traces show\n"


@pytest.mark.slow
def test_a_sound_learner_passes():
    """And so the checks above object to what was broken, nothing else."""
    for check in contract.ALGORITHM_CHECKS:
        check(Greedy(), ENVIRONMENT)


@pytest.mark.parametrize("check", [contract.decisions_are_admissible, contract.stays_finite_over_many_rounds])
def test_an_environment_with_data_for_few_rounds_is_played_to_their_end(check):
    @pytree
    class ThreeRounds(HeavyTailed):
        max_horizon = property(lambda self: 3)

    check(Greedy(), ThreeRounds(dim=2, n_arms=5))


def test_draws_that_differ_pass():
    contract.select_is_read_only(DrawsInEitherBranch(), ENVIRONMENT)


def test_a_changed_global_is_read_again():
    """A notebook mends a helper of its learner and checks it again."""
    factor = [np.nan]

    @pytree
    class Learner(Greedy):
        def update(self, key, t, state, obs, decision, feedback):
            return factor[0] * super().update(key, t, state, obs, decision, feedback)

    with pytest.raises(AssertionError, match="the state is NaN after feedback scaled by 0"):
        contract.check_algorithm(Learner(), ENVIRONMENT)
    factor[0] = 1.0
    contract.check_algorithm(Learner(), ENVIRONMENT)
