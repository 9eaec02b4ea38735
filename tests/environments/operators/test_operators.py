"""What each operator does to what is told and to what is charged, against plain NumPy loops; exact, trial by trial."""

import functools
import re
from types import SimpleNamespace
from typing import Any, ClassVar, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxbandits import InputError, Meter, from_spec, noise, simulate, to_spec
from jaxbandits.algorithms import ALGORITHMS
from jaxbandits.base.pytree import as_arrays, pytree, static, validate
from jaxbandits.coco import BFWTVC, LBPM, SCBFWTVC
from jaxbandits.domains import L2Ball
from jaxbandits.dro import SMPA
from jaxbandits.engine import loop
from jaxbandits.engine.late_feedback import Late, update_schedule
from jaxbandits.environments import ENVIRONMENTS
from jaxbandits.glm import GeneralizedLinear
from jaxbandits.linear import CRMM, MENU, OFUL, HeavyTailed, HvtUCB
from jaxbandits.numerics import rng as draws
from jaxbandits.oco import ClippedParameterFreeMD, KTBetting, LinearLosses, ParameterFreeMD
from jaxbandits.operators import (
    Given,
    PiecewiseDrift,
    RandomWalk,
    with_batches,
    with_corruption,
    with_delay,
    with_drift,
    with_noise,
)
from jaxbandits.sweeps import file
from jaxbandits.testing import contract
from jaxbandits.types import ArmDecision, Reward
from tests import compiled, hlo_loops
from tests.bad_values import WRONG, outcome
from tests.round_programs import compiled_rounds

T, SEEDS, K = 40, 3, 4
INSIDE = HeavyTailed(dim=2, n_arms=K, noise=noise.Gaussian(spread=0.5), available=3)
PATH = np.stack([np.cos(np.arange(25)), np.sin(0.3 * np.arange(25))], axis=1)


class Means(NamedTuple):
    total: jax.Array  # [K]
    count: jax.Array  # [K]


@pytree
class Bold:
    """Plays the available arm with the largest (total + 1) / (count + 1); later rounds count for more.

    What it learns is wrong where it is told of another round's `t`, arms or decision.
    """

    feedback: ClassVar[type] = Reward
    n_arms: int = static(K, "[1, inf)", "K")

    def init(self, key):
        return Means(jnp.zeros(self.n_arms), jnp.zeros(self.n_arms))

    def select(self, key, t, state, obs):
        index = jnp.argmax(jnp.where(obs.mask, (state.total + 1.0) / (state.count + 1.0), -jnp.inf))
        return ArmDecision(index, obs.arms[index])

    def update(self, key, t, state, obs, decision, feedback):
        own = jnp.where(obs.mask[decision.index], 1.0 + 0.01 * t, 100.0)
        total = state.total.at[decision.index].add(own * feedback.reward)
        return Means(total, state.count.at[decision.index].add(own))


class Instance(NamedTuple):
    """What the environment inside has in store for a trial."""

    arms: np.ndarray  # [K, d]
    theta: np.ndarray  # [d]
    mask: np.ndarray  # [T, K]
    noise: np.ndarray  # [T]
    step_keys: Any  # [T]


@functools.cache
def instances():
    @jax.jit
    @jax.vmap
    def draw_instance(seed):
        trial_keys = loop.trial_keys(jax.random.key(0, impl="threefry2x32"), seed)
        observe, step, state = trial_keys.observe, trial_keys.step, INSIDE.init(trial_keys.env_init)
        keys = jax.vmap(lambda t: jax.random.fold_in(step, t))(jnp.arange(T))
        mask = jax.vmap(lambda t: INSIDE.observe(jax.random.fold_in(observe, t), t, state).mask)(jnp.arange(T))
        return state.arms, state.theta, mask, jax.vmap(INSIDE.noise.sample)(keys), keys

    parts = draw_instance(jnp.arange(SEEDS))
    return [Instance(*(np.asarray(x[s]) for x in parts[:4]), step_keys=parts[4][s]) for s in range(SEEDS)]


def replay(instance, delay=0, thetas=None, told=None, batch=1):
    """Bold in NumPy: arms played, regret of every round."""
    total, count, played, regret, late = np.zeros(K), np.zeros(K), [], [], []
    for t in range(T):
        means = instance.arms @ (instance.theta if thetas is None else thetas[t])
        available = instance.mask[t]
        k = int(np.argmax(np.where(available, (total + 1.0) / (count + 1.0), -np.inf)))
        reward = means[k] + instance.noise[t]
        played.append(k)
        regret.append(means[available].max() - means[k])
        late.append((k, reward if told is None else told(t, reward)))
        if t >= delay and (t - delay + 1) % batch == 0:
            for s in range(t - delay + 1 - batch, t - delay + 1):
                then, value = late[s]
                weight = 1.0 + 0.01 * s
                total[then] += weight * value
                count[then] += weight
    return np.array(played), np.cumsum(regret)


METERS = [Meter("arm", lambda r: r.decision.index, "last"), Meter("told", lambda r: r.feedback.reward, "last")]


def run(environment, learner=None):
    learner = Bold() if learner is None else learner
    found = simulate(learner, environment, T, SEEDS, record_points=T, meters=METERS, width=32, progress=False)
    return next(iter(found.trials.values()))


def agree(environment, references):
    trials = run(environment)
    for s, (played, regret) in enumerate(references):
        np.testing.assert_array_equal(trials.get("arm")[0, s], played)
        np.testing.assert_allclose(trials.get("regret")[0, s], regret, rtol=1e-12, atol=1e-12)
    return trials


@pytest.fixture(scope="module")
def plain():
    return agree(INSIDE, [replay(instance) for instance in instances()])


def own_draws(draw, depth=0):
    """`[T]` what an operator draws from its own stream, per trial."""
    drawn = jax.jit(jax.vmap(lambda key: draw(jax.random.fold_in(key, 2**31 - 1 - depth))))
    return [np.asarray(drawn(instance.step_keys)) for instance in instances()]


@pytest.mark.slow
def test_delay(plain):
    """The learner is told of round t - D, with the arm that was played then; regret is charged at once."""
    rounds = 7
    environment = with_delay(INSIDE, rounds)
    trials = agree(environment, [replay(instance, rounds) for instance in instances()])
    assert not np.array_equal(trials.get("arm"), plain.get("arm"))
    first = trials.get("arm")[0, :, : rounds + 1]
    for s, instance in enumerate(instances()):  # nothing is known yet: the first arm that is available
        np.testing.assert_array_equal(first[s], instance.mask[: rounds + 1].argmax(axis=1))


@pytree
class Clock:
    """Learner whose state is the time of its last update, and -1 before the first."""

    feedback: ClassVar[type] = Reward

    def init(self, key):
        return jnp.full((), -1, jnp.int32)

    def select(self, key, t, state, obs):
        return ArmDecision(jnp.zeros((), jnp.int32), obs.arms[0])

    def update(self, key, t, state, obs, decision, feedback):
        return jnp.asarray(t, jnp.int32)


def test_late_feedback_comes_with_the_time_of_its_own_round():
    """Feedback of round t arrives in round t + 3, and the update is that of round t."""
    meter = Meter("updated", lambda r: r.next_state, "last")
    settings = {"record_points": [1, 3, 4, 5, 9], "meters": [meter], "progress": False, "width": 32}
    found = simulate(Clock(), with_delay(INSIDE, 3), 9, 2, **settings)
    np.testing.assert_array_equal(found.get("updated")[0, 0], [-1, -1, 0, 1, 5])


def test_batches():
    """Feedback of rounds k B + 1 to (k + 1) B arrives together; 40 = 5 * 7 + 5: the last five rounds are not told."""
    rounds = 7
    agree(with_batches(INSIDE, rounds), [replay(instance, batch=rounds) for instance in instances()])


def test_a_batch_with_a_delay_is_late_as_a_whole():
    references = [replay(instance, delay=4, batch=3) for instance in instances()]
    agree(with_batches(with_delay(INSIDE, 4), 3), references)
    other_way_around = with_delay(with_batches(INSIDE, 3), 4)
    assert (other_way_around.feedback_batch, other_way_around.feedback_delay) == (3, 4)


def test_batches_of_one_round_are_none(plain):
    assert waiting(with_batches(INSIDE, 1)) == ()
    np.testing.assert_array_equal(run(with_batches(INSIDE, 1)).get("arm"), plain.get("arm"))


def waiting(environment, learner=Bold()):  # noqa: B008 (it is frozen)
    key = jax.random.key(0)
    return jax.eval_shape(lambda: loop.init_trial(key, learner, environment, jnp.int32(0))).delay_buffer


def test_delays_add_up_and_none_is_none():
    """In what waits: shapes tell."""
    assert waiting(with_delay(INSIDE, 0)) == waiting(INSIDE) == ()
    two = with_noise(with_delay(with_noise(with_delay(INSIDE, 3), noise.Gaussian()), 4), noise.Gaussian())
    held = waiting(two)
    assert held == waiting(with_delay(INSIDE, 7)) and held.decision.x.shape == (7, 2)
    assert held.obs.mask.shape == (7, K) and held.obs.arms == ()  # arms that never change need not wait
    fresh = with_delay(GeneralizedLinear(dim=2, n_arms=K, fresh_arms=True), 7)
    assert waiting(fresh, OFUL(dim=2)).obs.arms.shape == (7, K, 2)


def test_what_waits_is_not_copied():
    """A round costs the same however many wait: one row is read and written in place, trials last."""
    text = compiled_rounds(OFUL(dim=2), with_delay(INSIDE, 113))
    inside = [line for computation in hlo_loops.inside_loops(text) for line in computation]
    assert any("[113," in line for line in inside) and not hlo_loops.moves(text)
    assert not [line for line in inside if re.search(r"= [a-z]\d+\[113,\S* (copy|transpose)\(", line)]


def test_batches_that_wait_are_not_copied():
    text = compiled_rounds(OFUL(dim=2), with_batches(INSIDE, 113))
    inside = [line for computation in hlo_loops.inside_loops(text) for line in computation]
    assert any("[113," in line for line in inside) and not hlo_loops.moves(text)
    assert not [line for line in inside if re.search(r"= [a-z]\d+\[113,\S* (copy|transpose)\(", line)]


def test_sweep_files_and_overrides(tmp_path):
    path = tmp_path / "late.toml"
    path.write_text(
        """
        horizon = 10
        seeds = 2
        [algorithms.oful]
        type = "linear/oful"
        dim = 2
        [environments.late]
        type = "operators/delayed"
        rounds = { values = [1, 10] }
        [environments.late.environment]
        type = "operators/drifting"
        drift = { type = "drift/random_walk", length = { values = [0.1, 0.2] } }
        environment = { type = "linear/heavy_tailed", dim = 2, n_arms = 5 }
        """
    )
    (grid,) = file.make_sweep(file.read(path)).algorithms.values()
    assert {point["environment.rounds"] for point in grid.points} == {1, 10}
    assert {point["environment.environment.drift.length"] for point in grid.points} == {0.1, 0.2}
    set_on_the_way = file.read(path, ["env.rounds=3", "env.environment.environment.eps=0.5"])
    (environment,) = file.make_sweep(set_on_the_way).environment.values()
    assert environment.rounds == 3 and environment.environment.environment.eps == 0.5


@pytest.mark.slow
def test_noise():
    """Instance and noise of before, and independent draws besides, which regret does not contain."""
    law = noise.StudentT(df=3.0, spread=2.0)
    extra = [a + b for a, b in zip(own_draws(law.sample), own_draws(law.sample, 1), strict=True)]
    references = [replay(i, told=lambda t, r, e=e: r + e[t]) for i, e in zip(instances(), extra, strict=True)]
    agree(with_noise(with_noise(INSIDE, law), law), references)


@pytest.mark.slow
def test_corruption():
    """Flipped signs in some of the first 25 rounds: regret by the true means, and the amount recorded."""
    environment = with_corruption(INSIDE, rounds=25, rate=0.4, factor=-1.0, shift=0.25)
    uniforms = own_draws(draws.uniform)

    def corrupt(t, reward, u):
        return -reward + 0.25 if t < 25 and u[t] < 0.4 else reward

    references = [
        replay(i, told=lambda t, r, u=u: corrupt(t, r, u)) for i, u in zip(instances(), uniforms, strict=True)
    ]
    trials = agree(environment, references)
    for s, instance in enumerate(instances()):
        true = (instance.arms @ instance.theta)[trials.get("arm")[0, s].astype(int)] + instance.noise
        amount = np.abs([corrupt(t, r, uniforms[s]) - r for t, r in enumerate(true)])
        np.testing.assert_allclose(trials.get("corruption")[0, s], np.cumsum(amount), rtol=1e-12, atol=1e-12)
        assert 0 < (amount > 0).sum() < 25 and not amount[25:].any()
    assert trials.units["corruption"] == "reward"


@pytest.mark.parametrize("between", [None, noise.Gaussian(spread=0.5)], ids=["direct", "noise between"])
def test_corruption_of_corrupted_rewards_is_measured_from_the_true_ones(between, key):
    """Two flips leave the reward as it is; after round 3 the inner operator acts alone; regret is that of INSIDE."""
    inner = with_corruption(INSIDE, rounds=6, factor=-1.0)
    env = with_corruption(inner if between is None else with_noise(inner, between), rounds=3, factor=-1.0, shift=0.25)
    state, decision = INSIDE.init(key), ArmDecision(jnp.int32(1), None)

    @jax.jit
    def play(at, t):
        obs = INSIDE.observe(at, t, state)
        played = decision._replace(x=obs.arms[1])
        _, received, measured = env.step(at, t, state, obs, played)
        _, true, theirs = INSIDE.step(at, t, state, obs, played)
        extra = 0.0 if between is None else between.sample(jax.random.fold_in(at, 2**31 - 2))  # the middle operator's
        return received.reward, true.reward, extra, measured.corruption, measured.regret - theirs.regret

    for t in range(8):
        received, true, extra, corruption, further_regret = map(float, play(jax.random.fold_in(key, t), jnp.int32(t)))
        wanted = extra + true * (-1.0 if t < 6 else 1.0)
        wanted = 0.25 - wanted if t < 3 else wanted
        assert received == pytest.approx(wanted, rel=1e-12)
        assert corruption == pytest.approx(abs(wanted - (true + extra)), rel=1e-9, abs=1e-12)
        assert further_regret == 0.0


def random_walk(step):
    """theta_t of a random walk in the ball."""
    normals = own_draws(lambda key: draws.normal_vector(key, 2))
    paths = []
    for instance, z in zip(instances(), normals, strict=True):
        theta, size, path = instance.theta, np.linalg.norm(instance.theta), []
        for t in range(T):
            if t > 0:
                theta = theta + step / np.sqrt(2.0) * z[t]
                theta = theta * min(1.0, size / np.linalg.norm(theta))
            path.append(theta)
        paths.append(np.array(path))
    return paths


def jump_path(period):
    """theta_t that is drawn anew every `period` rounds."""
    spheres = own_draws(lambda key: draws.unit_vector(key, 2))
    return [
        np.array([i.theta if t < period else np.linalg.norm(i.theta) * u[t - t % period] for t in range(T)])
        for i, u in zip(instances(), spheres, strict=True)
    ]


@pytest.mark.slow
def test_drift():
    """Rewards and regret are those of the parameter of the round: the best arm changes."""
    paths = random_walk(0.5)
    environment = with_drift(INSIDE, RandomWalk(length=0.5))
    agree(environment, [replay(i, thetas=path) for i, path in zip(instances(), paths, strict=True)])
    best = [(i.arms @ path.T).argmax(axis=0) for i, path in zip(instances(), paths, strict=True)]
    assert any(len(set(ks)) > 1 for ks in best)


@pytest.mark.slow
def test_laws_of_drift():
    laws = (PiecewiseDrift(period=13), Given(path=PATH))

    @jax.jit
    @jax.vmap
    def paths(keys, first):
        def move(last, given):
            t, key = given
            last = [law.at(key, t, first, theta) for law, theta in zip(laws, last, strict=True)]
            return last, last

        own = jax.vmap(lambda key: jax.random.fold_in(key, 2**31 - 1))(keys)
        return jax.lax.scan(move, [first, first], (jnp.arange(T), own))[1]

    pieces, given = paths(
        jnp.stack([i.step_keys for i in instances()]), jnp.stack([jnp.asarray(i.theta) for i in instances()])
    )
    np.testing.assert_allclose(pieces, jump_path(13), rtol=1e-12, atol=1e-12)
    np.testing.assert_array_equal(given, [PATH[np.minimum(np.arange(T), 24)]] * SEEDS)


@pytest.mark.slow
def test_the_estimation_error_is_about_the_parameter_of_the_last_round():
    environment = with_drift(with_noise(INSIDE, noise.Gaussian(spread=0.1)), Given(path=PATH))
    state = compiled.init(environment, jax.random.key(0))
    obs = compiled.observe(environment, jax.random.key(1), jnp.int32(5), state)
    state, *_ = compiled.step(
        environment, jax.random.key(2), jnp.int32(5), state, obs, ArmDecision(jnp.int32(0), obs.arms[0])
    )
    np.testing.assert_allclose(state.theta, PATH[5], rtol=1e-15)
    found = environment.at_record(state, jnp.zeros(2))
    np.testing.assert_allclose(found["estimation_error"], np.linalg.norm(PATH[5]), rtol=1e-12)
    fresh = GeneralizedLinear(dim=2, n_arms=3)
    glm = fresh.init(jax.random.key(0))
    moved = fresh.moved(glm, jnp.asarray([0.3, -0.2]))
    np.testing.assert_allclose(moved.best, np.max(np.asarray(glm.arms) @ [0.3, -0.2]), rtol=1e-12)


# delay under others: buffer, cond and streams at once, with a learner that prepares and carries scores of fixed arms
STACKED = with_noise(
    with_delay(with_corruption(with_drift(HeavyTailed(dim=5, n_arms=4), RandomWalk()), rounds=5), 2), noise.StudentT()
)


@pytest.mark.parametrize("check", [contract.state_shape_is_fixed, contract.select_is_read_only])
def test_the_contract_of_operators_around_operators(check):
    check(OFUL(dim=5), STACKED)


def test_specifications_read_back():
    for environment in (STACKED, with_drift(INSIDE, Given(path=PATH)), with_drift(INSIDE, PiecewiseDrift(period=5))):
        data = {}
        written = to_spec(environment, data)
        assert to_spec(from_spec(written, data)) == written


@pytest.mark.slow
def test_trials_do_not_depend_on_how_rounds_are_cut():
    """What waits is part of the state: calls of one round, a checkpoint, other seeds beside it."""
    contract.trials_do_not_depend_on_the_split(OFUL(dim=2), with_delay(INSIDE, 5))


def assert_refused(message, make, learner=None):
    with pytest.raises(InputError, match=message) as said:
        environment = make()
        validate(environment)
        simulate(OFUL(dim=2) if learner is None else learner, environment, 5, 2, progress=False, width=1)
    assert "\n" not in str(said.value)


def test_what_is_not_supported_is_refused_in_one_line():
    late = with_delay(INSIDE, 3)
    assert_refused(
        r"Drifting\.drift must not be PiecewiseDrift, because x'theta takes both signs .* Exponential is not defined",
        lambda: with_drift(with_delay(GeneralizedLinear.exponential(), 3), PiecewiseDrift(period=2)),
    )
    assert_refused(
        "MENU needs the feedback of a round before the next round, but the feedback of .* has a delay of 3",
        lambda: late,
        MENU(dim=2),
    )
    assert_refused(
        "OFUL has dim=3, but the environment has dim=2", lambda: with_noise(late, noise.Gaussian()), OFUL(dim=3)
    )
    assert_refused("CRMM needs the feedback of a round before", lambda: late, CRMM(dim=2, horizon=10))
    assert_refused(
        "but the feedback of .* arrives in batches of 3", lambda: with_batches(INSIDE, 3), CRMM(dim=2, horizon=10)
    )
    assert_refused("batches of batches", lambda: with_batches(with_delay(with_batches(INSIDE, 3), 1), 3))
    points = LinearLosses(dim=2)
    for environment in (with_delay(points, 1), with_noise(points, noise.Gaussian()), with_corruption(points)):
        assert_refused(
            "needs an environment whose observations contain arms; LinearLosses returns NoneType",
            lambda made=environment: made,
        )
    assert_refused(r"a parameter that can move .*, but LinearLosses has none", lambda: with_drift(points, RandomWalk()))
    assert_refused("Given.path must have 2 columns", lambda: with_drift(INSIDE, Given(path=np.ones((4, 3)))))
    assert_refused(r"Given.path must have shape \[T, d\]", lambda: with_drift(INSIDE, Given(path=np.ones(4))))
    assert_refused("path must lie in", lambda: with_drift(INSIDE, Given(path=np.array([[0.5, np.nan]]))))
    assert_refused("Delayed.environment must be an environment, got float", lambda: with_delay(1.0, 3))
    scaled = "needs ScaledReward.*without noise_scale"  # what is told of the noise would be wrong
    assert_refused(scaled, lambda: with_noise(INSIDE, noise.Gaussian()), HvtUCB.practical(dim=2, horizon=5, eps=0.9))


@pytest.mark.parametrize(
    "learner",
    [
        BFWTVC.example(),
        SCBFWTVC.example(),
        LBPM.example(),
        SMPA.example(),
        KTBetting(dim=2, domain=L2Ball()),
        ParameterFreeMD(dim=2, domain=L2Ball()),
        ClippedParameterFreeMD(dim=2),
    ],
)
def test_learners_whose_state_holds_the_play_of_the_round_are_not_told_late(learner):
    late, batched = SimpleNamespace(feedback_delay=1), SimpleNamespace(feedback_batch=2)
    for environment in (late, batched):
        with pytest.raises(InputError, match=f"{type(learner).__name__} needs the feedback of a round before the next"):
            update_schedule(learner, environment)
    assert update_schedule(KTBetting(dim=2), late) == Late(1)  # without a projection every gradient can be used later


def test_a_given_path_may_be_a_list_and_of_whole_numbers():
    def regret(path):
        made = with_drift(INSIDE, Given(path=path))
        return simulate(OFUL(dim=2), made, 20, 2, progress=False, width=1).final("regret")

    rows = [[1, 0], [0, 1], [-1, 0]]
    expected = regret(np.asarray(rows, float))
    np.testing.assert_array_equal(regret(rows), expected)
    np.testing.assert_array_equal(regret(np.asarray(rows)), expected)


@pytest.mark.slow
def test_every_bandit_learner_waits_unchanged_or_is_refused_in_one_line():
    """Nothing runs: a round of each is traced."""
    refused_ones = set()
    shipped = {name: entry for name, entry in ALGORITHMS.items() if entry.cls.__module__.startswith("jaxbandits.")}
    for name, entry in shipped.items():
        environment = with_delay(ENVIRONMENTS[entry.environments[0]].example, 3)
        pair = as_arrays((entry.example, environment))
        try:
            carry = jax.eval_shape(lambda a, e: loop.init_trial(jax.random.key(0), a, e, jnp.int32(0)), *pair)
            after = jax.eval_shape(lambda a, e, c: loop.play_round(a, e, jnp.int32(0), c)[0], *pair, carry)
        except InputError as error:
            assert "\n" not in str(error)
            refused_ones.add(name)
            continue
        for x, y in zip(jax.tree.leaves(carry), jax.tree.leaves(after), strict=True):
            assert (x.shape, x.dtype) == (y.shape, y.dtype), name
    families = ("armed/", "explore/", "contextual/", "combinatorial/", "duels/", "linear/", "glm/")
    bandits = {name for name in shipped if name.startswith(families)} | {"teams/multiple_play"}
    others = {"hvt_mdp", "oful_mdp", "hvt_identification", "recursive_least_squares", "crmm", "menu"}
    assert bandits - refused_ones == bandits - {f"linear/{name}" for name in others}
    assert refused_ones >= set(shipped) - bandits


@pytest.mark.parametrize("wrong", WRONG)
def test_wrong_arguments(wrong):
    for make in (
        lambda value: validate(with_delay(INSIDE, value)),
        lambda value: validate(with_batches(INSIDE, value)),
        lambda value: validate(with_noise(INSIDE, value)),
        lambda value: validate(with_corruption(INSIDE, rate=value)),
        lambda value: validate(with_corruption(INSIDE, value)),
        lambda value: validate(with_drift(INSIDE, value)),
        lambda value: validate(with_drift(INSIDE, RandomWalk(length=value))),
        lambda value: validate(with_drift(INSIDE, PiecewiseDrift(period=value))),
        lambda value: validate(with_drift(INSIDE, Given(path=value))),
    ):
        outcome(make, wrong)
