"""Contextual learners against NumPy references, step by step, on recorded contexts, features and rewards."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.stats as st

from jaxbandits import OFUL, HeavyTailed, InputError, from_spec, simulate, to_spec
from jaxbandits.armed import UCB1, BernoulliArms
from jaxbandits.base.pytree import validate
from jaxbandits.coco import OFWTVC
from jaxbandits.contextual import (
    Bandit,
    DisjointLinUCB,
    HybridLinUCB,
    LinearContexts,
    OracleEpsGreedy,
    RegCBElim,
    RegCBOpt,
    SquareCB,
    models,
    rules,
)
from jaxbandits.data import TableBandit
from jaxbandits.oco import CAOONS, OGD, KTBetting, OptaxLearner
from jaxbandits.types import ContextObs, Reward
from tests.reference import contextual as reference

ROUNDS, K, P, Z = 120, 4, 3, 2
ORACLE = OGD(dim=K * P, lipschitz=3.0)


@functools.partial(jax.jit, static_argnames=("scores", "features"))
def play(learner, rows, key, scores, features):
    """The decisions of a run, and `scores(learner, state, obs)` before every round."""

    def round_(state, row):
        t, x, z, mask, rewards = row
        obs = ContextObs(x, z if features else jnp.arange(K, dtype=jnp.int32), mask)
        now = jax.random.fold_in(key, t)
        decision = learner.select(now, t, state, obs)
        before = scores(learner, state, obs)
        return learner.update(now, t, state, obs, decision, Reward(rewards[decision.index])), (decision, before)

    return jax.lax.scan(round_, learner.init(key), (jnp.arange(len(rows[0]), dtype=jnp.int32), *rows))[1]


def recorded_data(rng):
    """Contexts, features, which arms are available, rewards of all arms."""
    mask = rng.uniform(size=(ROUNDS, K)) < 0.7
    mask[np.arange(ROUNDS), rng.integers(K, size=ROUNDS)] = True
    x, z = rng.normal(size=(ROUNDS, P)), rng.normal(size=(ROUNDS, K, Z))
    return x, z, mask, rng.normal(size=(ROUNDS, K)) + x[:, :1] * np.arange(K)


def nothing(learner, state, obs):
    return ()


OPTIMISTIC = {
    "disjoint": (DisjointLinUCB(n_arms=K, dim=P, alpha=0.7, ridge=0.5), reference.DisjointLinUCB(K, P, 0.7, 0.5)),
    "hybrid": (
        HybridLinUCB(n_arms=K, dim=P, shared_dim=Z, alpha=0.7, ridge=0.5),
        reference.HybridLinUCB(K, P, Z, 0.7, 0.5),
    ),
}


@pytest.mark.parametrize("name", OPTIMISTIC)
def test_lin_ucb_against_its_reference(name, rng, key):
    learner, theirs = OPTIMISTIC[name]
    rows = recorded_data(rng)
    decisions, estimates = play(learner, rows, key, lambda a, s, o: a.recommend(s), name == "hybrid")
    for t, (x, z, mask, rewards) in enumerate(zip(*rows, strict=True)):
        if name == "disjoint":
            wanted = np.array([np.linalg.solve(A, b) for A, b in zip(theirs.A, theirs.b, strict=True)])
        else:
            wanted = np.linalg.solve(theirs.A_0, theirs.b_0)
        np.testing.assert_allclose(estimates[t], wanted, rtol=1e-9, atol=1e-9)
        scores, arm = theirs.scores(x, z), int(decisions.index[t])
        assert mask[arm] and scores[arm] >= scores[mask].max() - 1e-9
        theirs.update(x, z, arm, rewards[arm])
    assert len(np.unique(decisions.index)) == K


SAMPLED = {
    "eps_greedy": (
        OracleEpsGreedy(n_arms=K, dim=P, oracle=ORACLE, eps=0.3, decay=0.2),
        reference.OracleEpsGreedy,
        {"eps": 0.3, "decay": 0.2},
    ),
    "reg_cb_elim": (
        RegCBElim(n_arms=K, dim=P, oracle=ORACLE, c=0.02, low=-1.0),
        reference.RegCBElim,
        {"c": 0.02, "low": -1.0, "high": 1.0},
    ),
    "reg_cb_opt": (
        RegCBOpt(n_arms=K, dim=P, oracle=ORACLE, c=0.02, low=-1.0),
        reference.RegCBOpt,
        {"c": 0.02, "low": -1.0, "high": 1.0},
    ),
    "square_cb": (
        SquareCB(n_arms=K, dim=P, oracle=ORACLE, scale=2.0),
        reference.SquareCB,
        {"scale": 2.0, "exponent": 0.5},
    ),
}


@pytest.mark.parametrize("name", SAMPLED)
def test_learners_over_oracles_against_their_references(name, rng, key):
    learner, made, constants = SAMPLED[name]
    theirs = made(K, P, lipschitz=3.0)
    theirs.__dict__.update(constants)
    rows = recorded_data(rng)
    decisions, _ = play(learner, rows, key, nothing, False)
    possible = []
    for t, (x, z, mask, rewards) in enumerate(zip(*rows, strict=True)):
        arm, p = int(decisions.index[t]), theirs.probabilities(x, mask)
        np.testing.assert_allclose(decisions.probability[t], p[arm], rtol=1e-9)
        np.testing.assert_allclose(p.sum(), 1.0, rtol=1e-12)
        theirs.update(x, z, arm, rewards[arm])
        possible.append((p > 0.0).sum())
    assert np.abs(theirs.W).max() > 0.1 and len(set(possible)) > 1


@pytest.mark.parametrize("name", SAMPLED)
def test_arms_are_drawn_with_the_probability_that_decisions_carry(name, key):
    learner, made, constants = SAMPLED[name]
    theirs = made(K, P, lipschitz=3.0)
    theirs.__dict__.update(constants)
    theirs.W, theirs.t = np.linspace(-0.2, 0.3, K * P).reshape(K, P), 9
    state, x, mask = (
        learner.init(key)._replace(x=jnp.asarray(theirs.W.reshape(-1))),
        np.ones(P),
        np.array([1, 0, 1, 1], bool),
    )
    obs = ContextObs.of(jnp.asarray(x), K, jnp.asarray(mask))
    select = jax.jit(jax.vmap(lambda k: learner.select(k, jnp.int32(9), state, obs).index))
    counts, p = np.bincount(select(jax.random.split(key, 20_000)), minlength=K), theirs.probabilities(x, mask)
    drawn = p > 0.0
    assert not drawn[1] and counts[~drawn].sum() == 0
    assert st.chisquare(counts[drawn], 20_000 * p[drawn]).pvalue > 1e-4 or drawn.sum() == 1


@pytest.mark.parametrize("name", SAMPLED)
def test_oracles_that_diverge_leave_probabilities(name, key):
    learner, mask = SAMPLED[name][0], jnp.array([False, True, True, False])
    weights = jax.jit(lambda state, obs: learner.weights(key, jnp.int32(9), state, obs, mask))
    for x in (np.nan, np.inf, 1e300):
        state = learner.init(key)._replace(x=jnp.full(K * P, x))
        found = np.asarray(weights(state, ContextObs.of(jnp.array([1.0, -2.0, 3.0]), K, mask)))
        np.testing.assert_allclose(found.sum(), 1.0, rtol=1e-9)
        assert (found >= 0.0).all() and (found[~mask] == 0.0).all()


ENV = LinearContexts(n_arms=K, dim=P)


@pytest.mark.quick_cases("OptaxLearner")
@pytest.mark.parametrize(
    "oracle",
    [KTBetting(dim=K * P), OptaxLearner.sgd(dim=K * P), CAOONS(dim=K * P, n_base=4)],
    ids=lambda o: type(o).__name__,
)
def test_any_online_learner_is_an_oracle(oracle):
    found = simulate(SquareCB(n_arms=K, dim=P, oracle=oracle), ENV, 200, 32, progress=False)
    trials = next(iter(found.trials.values()))
    assert trials.healthy.all() and not trials.inadmissible.any()
    learner = SquareCB(n_arms=K, dim=P, oracle=oracle)
    assert to_spec(from_spec(to_spec(learner))) == to_spec(learner)


@pytest.mark.slow
def test_regret_of_optimism_is_below_that_of_a_learner_without_context():
    regret = {}
    for learner in (DisjointLinUCB(n_arms=K, dim=P, alpha=0.3), UCB1(n_arms=K)):
        found = simulate(learner, ENV, 1000, 32, record_points=1, progress=False)
        regret[type(learner).__name__] = found.final("regret").mean()
    assert regret["DisjointLinUCB"] < 0.1 * regret["UCB1"]


def test_tables_show_one_context():
    features = np.arange(12.0).reshape(6, 2)
    table = TableBandit.from_table(features, list("abcabc"), order="given", as_context=True)
    obs = table.observe(jax.random.key(0), jnp.int32(0), table.init(jax.random.key(0)))
    np.testing.assert_array_equal(obs.context, features[0])
    assert table.dim == 2 and obs.arms.shape == (3,)
    with pytest.raises(InputError, match="as_context is for contexts"):
        TableBandit.from_rewards(np.eye(3), as_context=True)


@pytest.mark.parametrize(
    ("learner", "environment", "message"),
    [
        (DisjointLinUCB(n_arms=4, dim=2), HeavyTailed(dim=2, n_arms=4), "HeavyTailed does not provide: .*linear"),
        (
            DisjointLinUCB(n_arms=5, dim=2),
            BernoulliArms(n_arms=5),
            "BernoulliArms does not provide: .* jaxbandits.armed",
        ),
        (OFUL(dim=P), ENV, "of arms, which LinearContexts does not provide: .* jaxbandits.contextual"),
        (DisjointLinUCB(n_arms=3, dim=P), ENV, "has 4 arms, but the learner has n_arms=3"),
        (DisjointLinUCB(n_arms=K, dim=5), ENV, "has dim=5, but the environment has dim=3"),
        # The numbers of the arms would broadcast to features, the same for all arms.
        (HybridLinUCB(n_arms=K, dim=P, shared_dim=K), ENV, r"features of arms of shape \(4, 4\), got \(4,\)"),
        (
            Bandit(model=models.Hybrid(n_arms=K, dim=P, shared_dim=K), rule=rules.Greedy()),
            ENV,
            r"shared_dim=4 and needs features of arms of shape \(4, 4\), got \(4,\)",
        ),
    ],
    ids=["arms", "numbers", "features", "arms by number", "dim", "shared features", "shared features of a model"],
)
def test_learners_that_do_not_suit_are_refused_in_one_line(learner, environment, message):
    with pytest.raises(InputError, match=message):
        simulate(learner, environment, 5, 2, progress=False)


def test_bounds_of_long_runs_are_numbers(key):
    """The product K t of Delta_t exceeds the range of int32."""
    learner, t = RegCBOpt(n_arms=K, dim=P, oracle=ORACLE, c=0.02, low=-1.0), jnp.int32(2**31 - 2)
    lower, upper = learner.bounds(key, t, learner.init(key), jnp.ones(P), jnp.int32(K))
    assert (np.asarray(lower) < np.asarray(upper)).all()


def test_bad_input_of_bounds():
    with pytest.raises(InputError, match=r"RegCBOpt.low must be less than high, got low=1.0 and high=1.0"):
        validate(RegCBOpt(n_arms=K, dim=P, oracle=ORACLE, low=1.0))


def test_oracles_that_cannot_learn_the_loss_are_refused():
    with pytest.raises(
        InputError, match=r"a learner of jaxbandits.oco with dim=12 \(n_arms \* dim\), got OGD with dim=3"
    ):
        validate(SquareCB(n_arms=K, dim=P, oracle=OGD(dim=3)))
    for made in (SquareCB, models.OracleModel):  # the environment, which has no constraints, is not at fault
        with pytest.raises(InputError, match=f"{made.__name__}.oracle must .* but OFWTVC also needs con, con_grad"):
            validate(made(n_arms=K, dim=P, oracle=OFWTVC(dim=K * P, horizon=9)))


def test_presets():
    assert DisjointLinUCB.theory(n_arms=2, dim=2, delta=0.1).alpha == pytest.approx(1 + np.sqrt(np.log(20) / 2))
    learner = SquareCB.theory(n_arms=K, dim=P, oracle=ORACLE, horizon=1000, regret=5.0, delta=0.1)
    assert learner.scale == pytest.approx(np.sqrt(4000 / (5 + np.log(20)))) and learner.exponent == 0.0
