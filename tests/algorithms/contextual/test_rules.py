"""Rules of exploration against NumPy references, on models that say what is recorded, and pairs that do not fit."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.stats as st

from jaxbandits import InputError, check_algorithm, from_spec, param, pytree, simulate, to_spec
from jaxbandits.base.pytree import validate
from jaxbandits.contextual import (
    Bandit,
    DisjointLinUCB,
    GaussianProcessArms,
    LinearContexts,
    NonlinearArms,
    Wheel,
    models,
    rules,
)
from jaxbandits.linear import OFUL, HeavyTailed
from jaxbandits.types import ArmObs, ContextObs, FixedArmObs
from tests.reference import exploration_rules as reference
from tests.reward_models import MODELS

CASES, K = 40, 5


@pytree
class RecordingModel:
    """A model whose state is what it says."""

    reads_context = True
    horizon: float = param(1.0, "(0, inf)", "nothing")

    def init(self, key):
        return {}

    def predict(self, state, obs):
        return state["mean"]

    def width(self, state, obs):
        return state["width"]

    def sample(self, key, state, obs):
        return state["draw"]

    def samples(self, key, state, obs, count):
        return state["draws"][:count]

    def noise(self, state):
        return state["noise"]

    def information(self, state):
        return state["information"]

    def previous_epoch(self, t):
        return t // 3

    def update(self, key, t, state, obs, decision, reward):
        return state


def make_recording(rng, spread=1.0):
    """Return predictions of the models in many cases, masks and rounds."""
    width, mean = rng.exponential(size=(CASES, K)), spread * rng.normal(size=(CASES, K))
    mask = rng.uniform(size=(CASES, K)) < 0.7
    mask[np.arange(CASES), rng.integers(K, size=CASES)] = True
    said = {
        "mean": mean, "width": width, "draw": mean + width * rng.normal(size=(CASES, K)),
        "draws": mean[:, None] + width[:, None] * rng.normal(size=(CASES, 60, K)),
        "noise": rng.exponential(size=CASES), "information": rng.exponential(size=(CASES, 1)) * np.ones(K),
    }  # fmt: skip
    return said, mask, np.arange(0, 7 * CASES, 7).astype(np.int32)


SCORES = {
    "greedy": (rules.Greedy(), {}),
    "ucb": (rules.UCB(beta=0.7), {"beta": 0.7}),
    "thompson": (rules.Thompson(scale=0.6), {"scale": 0.6}),
    "gp_ucb": (rules.GPUCB.experiments(delta=0.2), {"delta": 0.2, "discount": 5.0}),
    "igp_ucb": (
        rules.IGPUCB(norm_bound=2.0, noise_scale=0.5, delta=0.2, scale=0.3),
        {"B": 2.0, "R": 0.5, "delta": 0.2, "scale": 0.3},
    ),
    "gp_ts": (
        rules.GPTS(norm_bound=2.0, noise_scale=0.5, delta=0.2, scale=0.3),
        {"B": 2.0, "R": 0.5, "delta": 0.2, "scale": 0.3},
    ),
    "expected_improvement": (rules.ExpectedImprovement(margin=0.1), {"margin": 0.1}),
    "knowledge_gradient": (rules.KnowledgeGradient(horizon=300.0), {"horizon": 300.0}),
}  # fmt: skip
WEIGHTS = {
    "eps_greedy": (rules.EpsGreedy(eps=3.0, decay=0.6), {"eps": 3.0, "decay": 0.6}),
    "softmax": (rules.Softmax(temperature=0.8, decay=0.2), {"temperature": 0.8, "decay": 0.2}),
    "square_cb": (rules.SquareCB(scale=2.0, exponent=0.4), {"scale": 2.0, "exponent": 0.4}),
    "falcon": (
        rules.FALCON(scale=0.5, log_size=3.0, delta=0.1), {"scale": 0.5, "log_size": 3.0, "delta": 0.1}
    ),
    "elimination": (rules.Elimination(beta=0.6), {"beta": 0.6}),
}  # fmt: skip
DRAWS = {"vids": rules.VIDS(n_draws=60), "ids": rules.IDS(n_draws=60)}


@functools.partial(jax.jit, static_argnames="method")
def ask(rule, said, mask, t, key, method):
    """A method of a rule, in every case; `scores` takes no mask apart from that of `obs`."""

    def one(said, mask, t):
        obs = ContextObs.of(jnp.zeros(2), K, mask)
        further = (mask,) if method == "weights" else ()
        return getattr(rule, method)(key, t, RecordingModel(), said, obs, *further)

    return jax.vmap(one)(said, mask, t)


def of_case(said, i, t):
    return {name: values[i] for name, values in said.items()} | {"previous_epoch": t // 3}


@pytest.mark.parametrize("name", SCORES)
def test_scores_against_the_reference(name, rng, key):
    rule, constants = SCORES[name]
    said, mask, t = make_recording(rng)
    scores = np.asarray(ask(rule, said, mask, t, key, "scores"))
    played = np.asarray(play(rule, said, mask, t, key))
    for i in range(CASES):
        wanted = getattr(reference, name)(of_case(said, i, t[i]), mask[i], t[i] + 1, **constants)
        np.testing.assert_allclose(scores[i][mask[i]], wanted[mask[i]], rtol=1e-9, atol=1e-9)
        assert wanted[played[i]] == wanted.max()
    assert len(set(played)) == K


@jax.jit
def play(rule, said, mask, t, key):
    def one(said, mask, t):
        return rule.decide(key, t, RecordingModel(), said, ContextObs.of(jnp.zeros(2), K, mask)).index

    return jax.vmap(one)(said, mask, t)


def test_improvements_that_underflow_still_rank_arms(rng, key):
    """For z << 0, the expected improvement w (z Phi(z) + phi(z)) is about w phi(z) / z^2, which is 0 in every type."""
    said, mask, t = make_recording(rng, spread=1e4)
    played = np.asarray(play(rules.ExpectedImprovement(margin=1e4), said, mask, t, key))
    for mean, width, available, arm in zip(said["mean"], said["width"], mask, played, strict=True):
        z = np.where(available, mean - mean[available].max() - 1e4, -1e100) / width
        assert z.max() < -1e3 and arm == (np.log(width) + st.norm.logpdf(z) - 2.0 * np.log(-z)).argmax()
    assert len(set(played)) == K


@pytest.mark.parametrize("name", WEIGHTS)
def test_probabilities_against_the_reference(name, rng, key):
    rule, constants = WEIGHTS[name]
    said, mask, t = make_recording(rng)
    found = np.asarray(ask(rule, said, mask, t, key, "weights"))
    for i in range(CASES):
        wanted = getattr(reference, name)(of_case(said, i, t[i]), mask[i], t[i] + 1, **constants)
        np.testing.assert_allclose(found[i], wanted, rtol=1e-9, atol=1e-12)
    assert 0 < (found[mask] == 0.0).mean() < 1 or (found[mask] > 0.0).all()


@pytest.mark.parametrize("name", DRAWS)
def test_information_directed_sampling_attains_the_least_ratio(name, rng, key):
    said, mask, t = make_recording(rng, 0.3)
    found = np.asarray(ask(DRAWS[name], said, mask, t, key, "weights"))
    compared = 0
    for i in range(CASES):
        assert (found[i][~mask[i]] == 0.0).all()
        ratio, least = reference.ratio_and_least(found[i], of_case(said, i, t[i]), mask[i], name == "vids")
        if least is None:  # one arm is the best of every draw
            assert ratio == 1.0
        else:
            np.testing.assert_allclose(ratio, least, rtol=1e-9)
            compared += 1
    assert compared > 20 and ((found > 0.0).sum(1) == 2).any()


@pytest.mark.slow_after_first
@pytest.mark.parametrize("name", ["eps_greedy", "vids"])
def test_arms_are_drawn_with_the_probability_that_decisions_carry(name, rng, key):
    rule = (WEIGHTS | {"vids": (DRAWS["vids"], {})})[name][0]
    said, _, t = make_recording(rng, 0.3)
    weights = np.asarray(ask(rule, said, np.ones((CASES, K), bool), t, key, "weights"))
    first = int((weights > 0.0).sum(1).argmax())
    case, now = jax.tree.map(lambda x: jnp.asarray(x[first]), said), jnp.int32(t[first])
    obs = ContextObs.of(jnp.zeros(2), K, jnp.ones(K, bool))
    draw = jax.jit(jax.vmap(lambda k: rule.decide(k, now, RecordingModel(), case, obs)._replace(x=None)))
    decisions = draw(jax.random.split(key, 20_000))
    counts = np.bincount(decisions.index, minlength=K)
    p = np.array([decisions.probability[decisions.index == k][0] if counts[k] else 0.0 for k in range(K)])
    np.testing.assert_allclose(p.sum(), 1.0, rtol=1e-9)
    drawn = p > 0.0
    assert drawn.sum() > 1 and st.chisquare(counts[drawn], 20_000 * p[drawn]).pvalue > 1e-4


def test_predictions_that_are_no_numbers_leave_probabilities(rng, key):
    said, mask, t = make_recording(rng)
    said["mean"] = np.where(rng.uniform(size=(CASES, K)) < 0.5, np.nan, 1e300 * said["mean"])
    for rule, _ in WEIGHTS.values():
        found = np.asarray(ask(rule, said, mask, t, key, "weights"))
        np.testing.assert_allclose(found.sum(1), 1.0, rtol=1e-9)
        assert (found >= 0.0).all() and (found[~mask] == 0.0).all()


def test_a_factor_above_every_number_plays_greedily(rng, key):
    """(t + 1)^a or its quotient by the temperature overflows; times a gap of 0 it would be NaN."""
    said, mask, t = make_recording(rng)
    best = np.where(mask, said["mean"], -np.inf).argmax(1)
    for rule in (
        rules.Softmax(decay=500.0), rules.Softmax(temperature=1e-308, decay=1.0),
        rules.SquareCB(exponent=500.0), rules.SquareCB(scale=1e308, exponent=1.0),
    ):  # fmt: skip
        found = np.asarray(ask(rule, said, mask, t + 9, key, "weights"))
        np.testing.assert_allclose(found[np.arange(CASES), best], 1.0, rtol=1e-9)
    uniform = np.asarray(ask(rules.SquareCB(scale=0.0, exponent=500.0), said, mask, t + 9, key, "weights"))
    np.testing.assert_allclose(uniform, mask / mask.sum(1, keepdims=True), rtol=1e-9)


@pytest.mark.parametrize(
    ("model", "rule", "message"),
    [
        ("model/network", rules.UCB(), "UCB needs a model with 'width', which Network lacks: models with widths"),
        ("model/oracle", rules.Thompson(), "Thompson needs a model with 'sample', which OracleModel lacks"),
        ("model/ensemble", rules.IDS(), "IDS needs a model with 'noise', which Ensemble lacks"),
        ("model/logistic_regression", rules.GPTS(), "GPTS needs a model with 'information'"),
        ("model/ridge", rules.FALCON(), r"'previous_epoch', which Ridge lacks: models.DoublingEpochs\(model=...\)"),
        ("model/ridge", rules.UCB, "rule must be a number, an array of numbers or a tree of them"),
        ("model/ridge", OFUL(dim=2), "must be a rule such as"),
    ],
)  # fmt: skip
def test_pairs_that_do_not_fit_are_refused_in_one_line(model, rule, message):
    with pytest.raises(InputError, match=message) as error:
        validate(Bandit(model=MODELS[model], rule=rule))
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("shown", [2, 4])
def test_a_wrapper_has_the_number_of_arms_of_its_model(shown, key):
    """Without it, further arms of the environment were never played, and further arms of the model do not exist."""
    inner = models.PerArm(model=models.Linear(dim=4), n_arms=3)
    learner = Bandit(
        model=models.DoublingEpochs(model=models.RandomFeatures(model=inner, input_dim=2)), rule=rules.Greedy()
    )
    obs = ContextObs.of(jnp.zeros(2), shown)
    with pytest.raises(InputError, match=f"has {shown} arms, but the learner has n_arms=3"):
        learner.select(key, jnp.int32(0), learner.init(key), obs)


def test_a_wrapper_lacks_what_its_model_lacks():
    network = models.Network(input_dim=2, hidden=(3,), capacity=40)
    for wrapper in (
        models.RandomFeatures(model=models.OracleModel(n_arms=2, dim=4, oracle=None), input_dim=2),
        models.PerArm(model=network, n_arms=3),
        models.NeuralLinear(network=network, model=network),
    ):
        assert not any(hasattr(wrapper, method) for method in ("width", "sample", "samples", "noise", "draw_prior"))


@pytest.mark.slow
def test_a_pair_is_the_algorithm_that_it_is_named_after(key):
    """Ridge with UCB is LinUCB: the same regret on the same seeds."""
    env = LinearContexts(n_arms=K, dim=3)
    pair = Bandit(model=models.Ridge(n_arms=K, dim=3, ridge=0.5), rule=rules.UCB(beta=0.7))
    known = DisjointLinUCB(n_arms=K, dim=3, ridge=0.5, alpha=0.7)
    regret = [simulate(a, env, 300, 8, progress=False).final("regret") for a in (pair, known)]
    np.testing.assert_allclose(*regret, rtol=1e-6)


def test_scores_of_fixed_arms_are_followed_for_rules_that_read_widths(key):
    """A process needs its arms in any case."""
    arms = FixedArmObs(jnp.eye(10))
    for rule, is_followed in ((rules.UCB(), True), (rules.IGPUCB(), True), (rules.Thompson(), False)):
        learner = Bandit(model=models.Linear(dim=10), rule=rule)
        state = jax.eval_shape(lambda learner=learner: learner.init_from_obs(learner.init(key), arms))
        assert (state.scores is not None) == is_followed
    process = Bandit(model=models.GaussianProcess(n_arms=2), rule=rules.Thompson())
    with pytest.raises(InputError, match="needs arms that never change"):
        process.init_from_obs(process.init(key), ArmObs(jnp.eye(2)))


def test_specifications_of_pairs_come_back():
    for model in MODELS.values():
        pair = Bandit(model=model, rule=rules.EpsGreedy(eps=0.2))
        assert to_spec(from_spec(to_spec(pair))) == to_spec(pair)


GP = GaussianProcessArms(n_arms=12)
FITTING = {
    "ensemble of networks": (
        models.Ensemble(model=models.Network(input_dim=2, n_arms=5, hidden=(4,)), n_members=3),
        rules.Thompson(), Wheel(),
    ),
    "neural-linear": (
        models.NeuralLinear(
            network=models.Network(input_dim=2, n_arms=5, hidden=(6,), capacity=60, train_every=20, batch=16),
            model=models.PerArm(model=models.NormalInverseGamma(dim=6), n_arms=5),
        ), rules.Thompson(), Wheel(),
    ),
    "process, IGP-UCB": (models.GaussianProcess.igp(n_arms=12, horizon=50), rules.IGPUCB(scale=0.1), GP),
    "process, IDS": (models.GaussianProcess(n_arms=12), rules.IDS(n_draws=32), GP),
    "ensemble of processes": (
        models.Ensemble(model=models.GaussianProcess(n_arms=12), n_members=3, perturbation=0.1), rules.VIDS(), GP
    ),
    "random features": (
        models.RandomFeatures(model=models.Linear(dim=16), input_dim=3), rules.GPUCB(), NonlinearArms(dim=3)
    ),
    "langevin": (
        models.LangevinNetwork(input_dim=2, n_arms=5, hidden=(4,), capacity=60, train_every=5, feel_good=0.1),
        rules.Thompson(), Wheel(),
    ),
    "subspace": (
        models.SubspaceNetwork(input_dim=2, n_arms=5, hidden=(4,), subspace_dim=6), rules.Thompson(), Wheel()
    ),
    "neural gradient": (
        models.NeuralGradient(input_dim=2, n_arms=5, n_hidden=4, capacity=60, n_steps=2, train_every=5),
        rules.UCB(), Wheel(),
    ),
    "logistic": (models.LogisticRegression(dim=2), rules.UCB(), HeavyTailed(dim=2, n_arms=6)),
    "FALCON": (models.DoublingEpochs(model=models.Ridge(n_arms=5, dim=2)), rules.FALCON(), Wheel()),
}  # fmt: skip


@pytest.mark.slow_after_first
@pytest.mark.parametrize("name", FITTING)
def test_any_rule_plays_over_any_model(name):
    model, rule, env = FITTING[name]
    found = simulate(Bandit(model=model, rule=rule), env, 50, 16, progress=False)
    trials = next(iter(found.trials.values()))
    assert trials.healthy.all() and not trials.inadmissible.any()
    assert len(np.unique(found.final("regret"))) > 1


@pytest.mark.slow
@pytest.mark.parametrize("name", FITTING)
def test_pairs_keep_the_contract(name):
    model, rule, env = FITTING[name]
    check_algorithm(Bandit(model=model, rule=rule), env)
