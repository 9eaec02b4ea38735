"""OptaxLearner against plain optax loops, our own learners, and in sweeps."""

import functools
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

from jaxbandits.algorithms.oco.dog import DoG
from jaxbandits.algorithms.oco.dowg import DoWG
from jaxbandits.algorithms.oco.ogd import OGD
from jaxbandits.algorithms.oco.optax_learner import OptaxLearner
from jaxbandits.base.errors import InputError
from jaxbandits.base.pytree import as_arrays, field_table, replace, validate
from jaxbandits.domains.ball import L2Ball
from jaxbandits.domains.whole_space import WholeSpace
from jaxbandits.environments.oco.linear_losses import LinearLosses
from jaxbandits.numerics.losses import PseudoHuber
from jaxbandits.programs import compilation
from jaxbandits.simulation import compare, simulate, sweep
from jaxbandits.types import FullInformation, Gradient

KEY = jax.random.key(0)


@jax.jit
def replay(algorithm, targets):
    """The plays `[T, d]` on pseudo-Huber losses."""

    def round_(state, inputs):
        t, target = inputs
        decision = algorithm.select(KEY, t, state, None)
        loss = PseudoHuber(target)
        value, grad = jax.vmap(lambda x: (loss.value(x), loss.gradient(x)))(decision.query)
        told = FullInformation(value, grad, loss) if algorithm.oracle else Gradient(value, grad)
        return algorithm.update(KEY, t, state, None, decision, told), decision.play

    steps = jnp.arange(len(targets), dtype=jnp.int32)
    return jax.lax.scan(round_, algorithm.init(KEY), (steps, targets))[1]


def plays_of(algorithm, targets):
    return np.asarray(replay(as_arrays(algorithm), jnp.asarray(targets)))


def plain(transformation, targets, radius=None, oracle=False):
    """The same by a Python loop over optax's two functions, parameters in one array."""
    transformation = optax.with_extra_args_support(transformation)

    def huber(x, target):
        return jnp.sqrt(1.0 + jnp.sum((x - target) ** 2)) - 1.0

    @jax.jit
    def step(x, state, target):
        value, grad = jax.value_and_grad(huber)(x, target)
        extra = {"value_fn": lambda y: huber(y, target)} if oracle else {}
        update, state = transformation.update(grad, state, x, value=value, grad=grad, **extra)
        x = optax.apply_updates(x, update)
        if radius is not None:
            x = optax.projections.projection_l2_ball(x, radius)
        return x, state

    x, plays = jnp.zeros(targets.shape[1]), []
    state = transformation.init(x)
    for target in jnp.asarray(targets):
        plays.append(x)
        x, state = step(x, state, target)
    return np.array(plays)


def targets_of(rng, dim, horizon=80):
    return 2.0 + rng.standard_normal((horizon, dim))


# Against plain optax --------------------------------------------------------------------------------------------------

READY = {
    "sgd": (OptaxLearner.sgd, {"learning_rate": 0.7, "decay": 0.3}, lambda: optax.sgd(lambda t: 0.7 * (t + 1) ** -0.3)),
    "adam": (OptaxLearner.adam, {"learning_rate": 0.2, "b1": 0.8, "b2": 0.99}, lambda: optax.adam(0.2, 0.8, 0.99)),
    "adagrad": (OptaxLearner.adagrad, {"learning_rate": 0.5}, lambda: optax.adagrad(0.5)),
    "optimistic": (OptaxLearner.optimistic, {"learning_rate": 0.2}, lambda: optax.optimistic_gradient_descent(0.2)),
    "cocob": (OptaxLearner.cocob, {"alpha": 20.0}, lambda: optax.contrib.cocob(alpha=20.0)),
    "dog": (OptaxLearner.dog, {"initial_distance": 0.1}, lambda: optax.contrib.dog(init_step=("distance", 0.1))),
    "dowg": (OptaxLearner.dowg, {"initial_distance": 0.1}, lambda: optax.contrib.dowg(init_estim_sq_dist=0.01)),
    "prodigy": (
        OptaxLearner.prodigy,
        {"initial_distance": 0.01, "learning_rate": 0.9},
        lambda: optax.contrib.prodigy(0.9, estim_lr0=0.01),
    ),
    "dadapt_adamw": (
        OptaxLearner.dadapt_adamw,
        {"initial_distance": 0.01, "learning_rate": 0.9},
        lambda: optax.contrib.dadapt_adamw(0.9, estim_lr0=0.01),
    ),
    "mechanized_sgd": (
        OptaxLearner.mechanized_sgd,
        {"initial_scale": 0.02},
        lambda: optax.contrib.mechanize(optax.sgd(1.0), weight_decay=0.0, s_init=0.02),
    ),
}


@pytest.mark.quick_cases("optimistic")
@pytest.mark.parametrize("name", READY)
def test_ready_made_learners_match_plain_optax(name, rng):
    make, arguments, transformation = READY[name]
    targets = targets_of(rng, 3)
    for radius in (None, 1.5):
        domain = WholeSpace() if radius is None else L2Ball(radius=radius)
        ours = plays_of(make(dim=3, domain=domain, **arguments), targets)
        theirs = plain(transformation(), targets, radius)
        np.testing.assert_allclose(ours, theirs, rtol=0.0, atol=1e-10)
        assert np.linalg.norm(theirs, axis=1).max() > (1.0 if name != "mechanized_sgd" else 0.1)


@pytest.mark.slow_after_first
@pytest.mark.parametrize("dim", [3, 1, 20])
def test_any_transformation(dim, rng):
    targets = targets_of(rng, dim)
    learner = OptaxLearner(
        dim=dim, make=optax.sgd, hyperparameters={"learning_rate": 0.3, "momentum": 0.6}, options={"nesterov": True},
        domain=L2Ball(radius=2.0),
    )  # fmt: skip
    validate(learner)
    theirs = plain(optax.sgd(0.3, 0.6, nesterov=True), targets, 2.0)
    np.testing.assert_allclose(plays_of(learner, targets), theirs, rtol=0.0, atol=1e-12)


@pytest.mark.slow
def test_each_array_of_a_point_is_a_block(rng):
    """A trust ratio is taken for each block."""
    targets = targets_of(rng, 3)
    make = functools.partial(OptaxLearner, make=optax.lars, hyperparameters={"learning_rate": 10.0})
    np.testing.assert_allclose(plays_of(make(dim=3), targets), plain(optax.lars(10.0), targets), rtol=0.0, atol=1e-11)
    learner = as_arrays(make(dim=((1,), (2,))))
    told = Gradient(jnp.zeros(1), (jnp.ones((1, 1)), 5.0 * jnp.ones((1, 2))))
    begin = learner.init(KEY)._replace(x=(jnp.ones(1), jnp.ones(2)))
    first, second = learner.update(KEY, jnp.int32(0), begin, None, None, told).x
    np.testing.assert_allclose(first - 1.0, second[:1] - 1.0, rtol=1e-6)  # as long as its block


@pytest.mark.parametrize(
    ("make", "values"),
    [(optax.polyak_sgd, {"max_learning_rate": 0.5}), (optax.contrib.momo, {"learning_rate": 0.5})],
    ids=["polyak_sgd", "momo"],
)
def test_transformations_that_need_the_value(make, values, rng):
    targets = targets_of(rng, 3)
    ours = plays_of(OptaxLearner(dim=3, make=make, hyperparameters=values), targets)
    np.testing.assert_allclose(ours, plain(make(**values), targets), rtol=0.0, atol=1e-10)
    assert np.linalg.norm(ours, axis=1).max() > 1.0


def line_search(learning_rate: Any, max_steps: int) -> Any:
    search = optax.scale_by_backtracking_linesearch(max_backtracking_steps=max_steps)
    return optax.chain(optax.sgd(learning_rate), search)


@pytest.mark.slow
def test_transformations_that_need_the_loss_itself(rng):
    targets = targets_of(rng, 3, 30)
    search = OptaxLearner(
        dim=3, make=line_search, hyperparameters={"learning_rate": 4.0}, options={"max_steps": 10}, oracle=True
    )
    validate(search)
    assert search.feedback is FullInformation
    theirs = plain(line_search(4.0, 10), targets, oracle=True)
    np.testing.assert_allclose(plays_of(search, targets), theirs, rtol=0.0, atol=1e-11)
    newton = OptaxLearner(dim=3, make=optax.lbfgs, options={"memory_size": 3}, oracle=True)
    theirs = plain(optax.lbfgs(memory_size=3), targets, oracle=True)
    np.testing.assert_allclose(plays_of(newton, targets), theirs, rtol=0.0, atol=1e-9)


# Against our own learners ---------------------------------------------------------------------------------------------


def test_gradient_descent_is_ogd(rng):
    targets = targets_of(rng, 2)
    domain = L2Ball(radius=1.3)
    ogd = plays_of_gradient(OGD(dim=2, domain=domain, lipschitz=1.7), targets)
    sgd = plays_of(OptaxLearner.sgd(dim=2, learning_rate=2.6 / 1.7, domain=domain), targets)
    np.testing.assert_allclose(sgd, ogd, rtol=0.0, atol=1e-13)


@pytest.mark.slow
def test_dog_and_dowg_up_to_their_eps(rng):
    targets = targets_of(rng, 2)
    ours = plays_of_gradient(DoG(dim=2, initial_distance=0.1), targets)
    np.testing.assert_allclose(plays_of(OptaxLearner.dog(dim=2, initial_distance=0.1), targets), ours, rtol=1e-5)
    ours = plays_of_gradient(DoWG(dim=2, initial_distance=0.1), targets)
    gap = plays_of(OptaxLearner.dowg(dim=2, initial_distance=0.1), targets) - ours
    assert np.abs(gap).max() < 2e-2 * np.abs(ours).max()


def plays_of_gradient(algorithm, targets):
    x, plays = algorithm.init(KEY), []
    for t, target in enumerate(targets):
        decision = algorithm.select(KEY, jnp.int32(t), x, None)
        play = np.asarray(decision.play)
        plays.append(play)
        error = play - target
        grad = jnp.asarray(error / np.sqrt(1.0 + error @ error))[None]
        x = algorithm.update(KEY, jnp.int32(t), x, None, decision, Gradient(jnp.zeros(1), grad))
    return np.array(plays)


# As a field of the library --------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_sweep_over_hyperparameters():
    """Every point has the bits of its own run; the values enter the one compiled program as arguments."""
    environment = LinearLosses(dim=3)
    settings = {"record_points": 3, "progress": False, "width": 32}
    learner = OptaxLearner(dim=3, make=optax.adam, hyperparameters={"learning_rate": 0.1, "b1": 0.9}, domain=L2Ball())
    rates, momenta = [0.01, 0.1, 1.0], [0.0, 0.9]
    simulate(learner, environment, 50, 4, **settings)
    compiled = compilation.compiled_count()
    grid = {"hyperparameters.learning_rate": rates, "hyperparameters.b1": momenta, "domain.radius": [0.5]}
    swept = sweep(learner, environment, 50, 4, grid=grid, **settings)
    assert swept.get("loss").shape == (6, 4, 3)
    for i, (rate, b1) in enumerate((r, b) for r in rates for b in momenta):
        alone = OptaxLearner(
            dim=3, make=optax.adam, hyperparameters={"learning_rate": rate, "b1": b1}, domain=L2Ball(radius=0.5),
        )  # fmt: skip
        expected = simulate(alone, environment, 50, 4, **settings)
        np.testing.assert_array_equal(swept.get("loss")[i], expected.get("loss")[0])
    assert compilation.compiled_count() == compiled
    assert len(np.unique(swept.get("loss")[:, 0, -1])) == 6


@pytest.mark.slow
def test_compare_with_other_learners():
    learners = {"ogd": OGD(dim=2), "sgd": OptaxLearner.sgd(dim=2, learning_rate=2.0, domain=L2Ball())}
    result = compare(learners, LinearLosses(dim=2), 40, 5, record_points=2, progress=False, width=32)
    np.testing.assert_allclose(result.get("loss", "sgd"), result.get("loss", "ogd"), rtol=1e-11)


NAMES = [
    "adabelief", "adadelta", "adafactor", "adamax", "adamaxw", "adan", "adamw", "amsgrad", "fromage", "lamb", "lion",
    "nadam", "nadamw", "novograd", "radam", "rmsprop", "rprop", "sign_sgd", "sm3", "yogi",
    "contrib.acprop", "contrib.ademamix", "contrib.madgrad", "contrib.momo_adam", "contrib.schedule_free_sgd",
]  # fmt: skip


@pytest.mark.parametrize("name", NAMES)
def test_the_state_keeps_its_types(name):
    """After one round as at the start: shape, dtype, weak type; so that every transformation can be scanned."""
    make = functools.reduce(getattr, name.split("."), optax)
    for dim in (3, ((2, 2), (3,))):
        learner = OptaxLearner(dim=dim, make=make, hyperparameters={"learning_rate": 0.1})
        validate(learner)
        learner = as_arrays(learner)
        begin = jax.eval_shape(learner.init, KEY)

        def one_round(state, learner=learner):
            decision = learner.select(KEY, jnp.int32(0), state, None)
            return learner.update(KEY, jnp.int32(0), state, None, decision, Gradient(jnp.zeros(1), decision.query))

        after = jax.eval_shape(one_round, begin)
        assert jax.tree.structure(begin) == jax.tree.structure(after)
        for x, y in zip(jax.tree.leaves(begin), jax.tree.leaves(after), strict=True):
            assert (x.shape, x.dtype, x.weak_type) == (y.shape, y.dtype, y.weak_type)


def test_same_names_are_one_structure():
    """Learners that differ in numbers share their compiled program; options and names are part of it."""

    def learner(rate=0.1, options=None, **more):
        values = {"learning_rate": rate, **more}
        return OptaxLearner(dim=2, make=optax.sgd, hyperparameters=values, options=options or {})

    structure = jax.tree.structure(learner())
    assert jax.tree.structure(learner(0.5)) == structure
    assert hash(jax.tree.structure(learner(0.5))) == hash(structure)
    assert jax.tree.structure(learner(momentum=0.9)) != structure
    assert jax.tree.structure(learner(options={"nesterov": True})) != structure
    assert float(replace(learner(), "hyperparameters.learning_rate", 0.3).hyperparameters.learning_rate) == 0.3
    names = [row.name for row in field_table(learner(momentum=0.9))]
    assert {"hyperparameters.learning_rate", "hyperparameters.momentum"} <= set(names)


@pytest.mark.quick_cases("dadapt_adamw")
@pytest.mark.parametrize("make", [OptaxLearner.prodigy, OptaxLearner.dadapt_adamw])
def test_zero_gradients_are_skipped(make):
    """Optax divides zero by zero there, for good."""
    learner = as_arrays(make(dim=2))
    state = learner.init(KEY)

    def update(state, grad):
        feedback = Gradient(jnp.zeros(1), jnp.full((1, 2), grad))
        return learner.update(KEY, jnp.int32(0), state, None, None, feedback)

    state = update(state, 0.0)
    np.testing.assert_array_equal(state.x, 0.0)
    for _ in range(3):
        state = update(state, 1.0)
    x = np.asarray(state.x)
    assert np.isfinite(x).all() and (x < 0.0).all()
    assert np.isnan(update(state, jnp.nan).x).all()  # not skipped: the trial counts as failed
    unguarded = as_arrays(replace_static(make(dim=2)))
    feedback = Gradient(jnp.zeros(1), jnp.zeros((1, 2)))
    after = unguarded.update(KEY, jnp.int32(0), unguarded.init(KEY), None, None, feedback)
    assert any(np.isnan(leaf).any() for leaf in jax.tree.leaves(after))


def replace_static(learner):
    return OptaxLearner(dim=learner.dim, make=learner.make, hyperparameters=learner.hyperparameters)


def test_bad_input_is_one_line():
    good = {"dim": 2, "make": optax.sgd, "hyperparameters": {"learning_rate": 0.1}}
    validate(OptaxLearner(**good))
    for wrong, words in (
        ({"hyperparameters": {"lerning_rate": 0.1}}, "lerning_rate"),
        ({"hyperparameters": {"learning_rate": "fast"}}, "learning_rate"),
        ({"hyperparameters": {"learning_rate": float("nan")}}, "learning_rate"),
        ({"make": optax.lbfgs}, "oracle=True"),
        ({"make": lambda learning_rate: learning_rate}, "cannot run"),
        ({"dim": 0}, "dim"),
        ({"options": {"nesterov": []}}, "hashable"),
    ):
        with pytest.raises(InputError, match=words) as error:
            validate(OptaxLearner(**{**good, **wrong}))
        assert "\n" not in str(error.value)
