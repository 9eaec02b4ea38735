"""Random delays: updates against a NumPy queue, each feedback once or still waiting, laws of delays, refusals."""

from typing import ClassVar, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.stats as st

from jaxbandits import OFUL, from_spec, operators, simulate, to_spec
from jaxbandits.armed import SWUCB, UCB1, BernoulliArms, Restarting
from jaxbandits.base.errors import InputError
from jaxbandits.base.pytree import as_arrays, pytree
from jaxbandits.combinatorial import CascadeUCB1, CascadingClicks
from jaxbandits.contextual import DisjointLinUCB, LinearContexts
from jaxbandits.engine import late_feedback, loop
from jaxbandits.engine.carry import Carry, Interaction, Streams
from jaxbandits.glm import GLMUCB, GeneralizedLinear
from jaxbandits.linear import CRMM, TOFU, HeavyTailed, SWLinUCB
from jaxbandits.numerics import rng as draws
from jaxbandits.simulation import play
from jaxbandits.teams import MCTopM, SharedArms
from jaxbandits.testing import contract
from jaxbandits.types import ArmDecision, Reward

ROUNDS = 160
ARMS = BernoulliArms.from_means([0.2, 0.5, 0.8])
FRESH = GeneralizedLinear(dim=2, n_arms=3, fresh_arms=True)
LAWS = {
    "uniform": (operators.UniformDelay(), 7),
    "geometric": (operators.GeometricDelay(mean=4.0), 9),
    "table": (operators.TableDelay(probabilities=[1.0, 0.0, 0.0, 0.0, 0.0, 3.0]), 5),
    "always the bound": (operators.TableDelay(probabilities=[0.0, 0.0, 0.0, 1.0]), 3),
    "cut to one": (operators.GeometricDelay(mean=1e6), 1),
    "never": (operators.GeometricDelay(mean=0.0), 4),
}


class Log(NamedTuple):
    """All updates, in their order."""

    count: jax.Array  # []
    round: jax.Array  # [T] int32
    reward: jax.Array  # [T]
    arm: jax.Array  # [T] int32
    shown: jax.Array  # [T]  first number of the observation


@pytree
class Recorder:
    """Learner that plays arm t mod 3 and writes down every update."""

    feedback: ClassVar[type] = Reward

    def init(self, key):
        del key
        whole, zeros = jnp.zeros(ROUNDS, jnp.int32), jnp.zeros(ROUNDS)
        return Log(jnp.int32(0), whole, zeros, whole, zeros)

    def select(self, key, t, state, obs):
        del key, state
        return ArmDecision(t % 3, obs.arms[t % 3])

    def update(self, key, t, state, obs, decision, feedback):
        del key
        n = state.count
        return Log(
            n + 1, state.round.at[n].set(t), state.reward.at[n].set(feedback.reward),
            state.arm.at[n].set(decision.index), state.shown.at[n].set(jnp.ravel(obs.arms)[0].astype(float)),
        )  # fmt: skip


def play_and_look(environment, seed):
    """Return the log after every round, and of every round its delay, reward and first shown number."""
    environment, learner, base = as_arrays(environment), Recorder(), jax.random.key(7, impl="threefry2x32")

    @jax.jit
    def run():
        def body(carry, t):
            after, played = loop.play_round(learner, environment, t, carry)
            lag = environment.draw_delay(draws.fold_in(carry.streams.step, t))
            shown = jnp.ravel(played.obs.arms)[0].astype(float)
            return after, (after.alg_state, lag, played.feedback.reward, shown)

        start = loop.init_trial(base, learner, environment, jnp.int32(seed))
        return jax.lax.scan(body, start, jnp.arange(ROUNDS, dtype=jnp.int32))[1]

    return jax.tree.map(np.asarray, run())


@pytest.mark.quick_cases("uniform-arms", "table-fresh arms")
@pytest.mark.parametrize("inside", ["arms", "fresh arms", "late arms"])
@pytest.mark.parametrize("law", LAWS)
def test_updates_are_those_of_a_queue(law, inside):
    made, bound = LAWS[law]
    further = 2 if inside == "late arms" else 0
    wrapped = {"arms": ARMS, "fresh arms": FRESH, "late arms": operators.with_delay(ARMS, further)}[inside]
    log, lags, rewards, shown = play_and_look(operators.with_random_delay(wrapped, made, bound), seed=3)
    assert lags.min() >= 0 and lags.max() <= bound
    queue, used = [], []
    for t in range(ROUNDS):
        queue.append((t + further + lags[t], t))  # round of arrival, own round
        arrived = [entry for entry in queue if entry[0] <= t]
        if arrived:
            queue.remove(min(arrived))
            used.append(min(arrived)[1])
        assert log.count[t] == len(used) and log.round[t, : len(used)].tolist() == used, f"round {t}"
        assert len(queue) <= bound + further
    assert sorted(used + [t for _, t in queue]) == list(range(ROUNDS))  # once each, or waiting
    n = len(used)
    np.testing.assert_array_equal(log.reward[-1, :n], rewards[used])
    np.testing.assert_array_equal(log.arm[-1, :n], np.array(used) % 3)
    np.testing.assert_array_equal(log.shown[-1, :n], shown[used])
    if law not in ("never", "always the bound"):
        assert used != sorted(used) or bound == 1  # some overtake


def test_no_delay_is_no_queue_and_a_certain_one_is_a_fixed_one():
    settings = {"record_points": 5, "progress": False, "width": 16}

    def regret(environment):
        (trials,) = simulate(UCB1(n_arms=3), environment, 100, 16, **settings).trials.values()
        return trials.get("regret")

    np.testing.assert_array_equal(regret(operators.with_random_delay(ARMS, operators.UniformDelay(), 0)), regret(ARMS))
    certain = operators.TableDelay(probabilities=[0.0, 0.0, 0.0, 0.0, 1.0])
    np.testing.assert_array_equal(
        regret(operators.with_random_delay(ARMS, certain, 4)), regret(operators.with_delay(ARMS, 4))
    )


@pytest.mark.parametrize(("law", "probabilities"), [
    (operators.UniformDelay(), np.full(6, 1 / 6)),
    (operators.GeometricDelay(mean=2.0), np.append(2 ** np.arange(5) / 3.0 ** np.arange(1, 6), (2 / 3) ** 5)),
    (operators.TableDelay(probabilities=[1.0, 0.0, 2.0, 1.0]), np.array([0.25, 0.0, 0.5, 0.25, 0.0, 0.0])),
])  # fmt: skip
def test_laws_of_delays(law, probabilities, key):
    environment = as_arrays(operators.with_random_delay(ARMS, law, 5))
    found = np.asarray(jax.jit(jax.vmap(environment.draw_delay))(jax.random.split(key, 20_000)))
    counts = np.bincount(found, minlength=6)
    possible = probabilities > 0.0
    assert counts[~possible].sum() == 0 and counts.sum() == 20_000
    assert st.chisquare(counts[possible], 20_000 * probabilities[possible]).pvalue > 1e-4


def test_instance_and_rewards_are_those_of_the_environment_inside():
    _, _, plain, shown = play_and_look(operators.with_random_delay(FRESH, operators.UniformDelay(), 0), seed=5)
    _, _, late, shown_late = play_and_look(operators.with_random_delay(FRESH, operators.UniformDelay(), 6), seed=5)
    np.testing.assert_array_equal(shown, shown_late)
    np.testing.assert_array_equal(plain, late)  # the recorder plays the same arms


@pytest.mark.slow
def test_learners_of_every_kind_wait():
    law = operators.GeometricDelay(mean=3.0)
    for learner, environment in (
        (OFUL(dim=2), HeavyTailed(dim=2, n_arms=5)),
        (DisjointLinUCB(dim=3, n_arms=4), LinearContexts(dim=3, n_arms=4)),
        (CascadeUCB1(n_items=5, list_size=2), CascadingClicks(n_items=5, list_size=2)),
    ):
        late = operators.with_random_delay(environment, law, 8)
        (trials,) = simulate(learner, late, 200, 4, progress=False).trials.values()
        assert trials.healthy.all() and not trials.inadmissible.any()


def test_learners_that_count_pulls_of_fixed_arms_lose_no_trial():
    """The feedback of round 0 is not always the first."""
    inside = GeneralizedLinear(dim=2, n_arms=3, norm_bound=2.0)
    late = operators.with_random_delay(inside, operators.UniformDelay(), 6)
    result = simulate(GLMUCB(dim=2, n_arms=3, horizon=20), late, 20, 16, record_points=1, progress=False)
    assert not result.failures("estimation_error").any()


@pytest.mark.slow
def test_trials_do_not_depend_on_how_rounds_are_cut():
    late = operators.with_random_delay(HeavyTailed(dim=2, n_arms=5), operators.UniformDelay(), 5)
    contract.trials_do_not_depend_on_the_split(OFUL(dim=2), late)


def test_specifications_round_trip():
    for law, bound in LAWS.values():
        late = operators.with_random_delay(ARMS, law, bound)
        again = from_spec(to_spec(late))
        assert to_spec(again) == to_spec(late) and again.delay_bound == bound


def test_what_is_not_supported_is_refused_in_one_line():
    law = operators.UniformDelay()
    late = operators.with_random_delay(ARMS, law, 3)

    class Host:
        def select(self, t, obs):
            return 0

        def update(self, t, obs, index, reward):
            return None

    for call, said in (
        (lambda: simulate(UCB1(n_arms=3), operators.with_random_delay(late, law, 3), 5, 2), "only one queue"),
        (lambda: simulate(UCB1(n_arms=3), operators.with_batches(late, 3), 5, 2), "cannot be combined"),
        (lambda: simulate(UCB1(n_arms=3), operators.with_random_delay(operators.with_batches(ARMS, 3), law, 3), 5, 2),
         "cannot be combined"),
        (lambda: simulate(UCB1(n_arms=3), operators.with_random_delay(ARMS, 3, 3), 5, 2), "must be a law of delays"),
        (lambda: simulate(UCB1(n_arms=3), operators.with_random_delay(ARMS, law, -1), 5, 2), "bound"),
        (lambda: simulate(UCB1(n_arms=3), operators.with_random_delay(
            ARMS, operators.TableDelay(probabilities=[0.0, 0.0]), 3), 5, 2), "positive and finite sum"),
        (lambda: simulate(UCB1(n_arms=3), operators.with_random_delay(
            ARMS, operators.TableDelay(probabilities=[1e308] * 2), 3), 5, 2), "positive and finite sum"),
        (lambda: simulate(UCB1(n_arms=3), operators.with_random_delay(
            ARMS, operators.TableDelay(probabilities=[[1.0, 2.0], [2.0, 1.0]]), 3), 5, 2), r"got shape \(2, 2\)"),
        (lambda: simulate(CRMM.practical(dim=2, horizon=9, noise_scale=1.0), operators.with_random_delay(
            HeavyTailed(dim=2, n_arms=5), law, 3), 9, 2), "CRMM needs the feedback .* a delay of up to 3"),
        (lambda: simulate(MCTopM.theory(n_arms=3, n_players=2), operators.with_random_delay(
            SharedArms(n_arms=3, n_players=2), law, 3), 9, 2), "MCTopM needs the feedback"),
        (lambda: play(Host(), late, 5, 2, progress=False), "which `play` does not support"),
        # Their memories of rounds would silently mix up the rounds of the window, the history or the split points.
        (lambda: simulate(SWUCB(n_arms=3, window=10), late, 40, 1, progress=False), "SWUCB stores past rounds"),
        (lambda: simulate(Restarting.glr(policy=UCB1(n_arms=3), horizon=40, changes=1), late, 40, 1, progress=False),
         "Restarting stores past rounds .* with_delay"),
        (lambda: simulate(SWLinUCB(dim=2, window=10), operators.with_random_delay(
            HeavyTailed(dim=2, n_arms=5), law, 3), 40, 1, progress=False), "SWLinUCB stores past rounds"),
        (lambda: simulate(TOFU.theory(dim=2, horizon=40), operators.with_random_delay(
            HeavyTailed(dim=2, n_arms=5), law, 3), 40, 1, width=1, progress=False), "TOFU stores past rounds"),
    ):  # fmt: skip
        with pytest.raises(InputError, match=said) as error:
            call()
        assert "\n" not in str(error.value)


def test_the_order_of_arrival_if_delays_are_long(key):
    """Feedback of round 10 that arrived 49,990 rounds ago, and feedback that arrived 1,000 rounds ago."""

    class Latest:
        def update(self, key, t, state, obs, decision, feedback):
            return t

    queue = late_feedback.Queue(0, 50_000, lambda key: jnp.int32(50_000))
    due = jnp.zeros(queue.rounds, jnp.int32).at[10].set(50_011).at[99_000].set(99_001)
    rows = Interaction(jnp.zeros(queue.rounds), jnp.zeros(queue.rounds), jnp.zeros(queue.rounds))
    carry = Carry(Streams(key, key, key, key), (), jnp.int32(-1), (), late_feedback.QueueBuffer(rows, due))
    now = Interaction(jnp.zeros(()), jnp.zeros(()), jnp.zeros(()))
    found, buffer = queue.update(Latest(), carry, now, jnp.int32(100_000), jnp.int32(100_000))
    assert (found, buffer.due[10], buffer.due[99_000]) == (10, 0, 99_001)
