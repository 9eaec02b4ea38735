"""Baselines of parameter-free online convex optimisation: references, benchmark numbers, hand cases, invariances."""

import jax.numpy as jnp
import numpy as np
import pytest

from jaxbandits.algorithms.oco.adagrad_norm import AdaGradNorm
from jaxbandits.algorithms.oco.clipped_parameter_free_md import ClippedParameterFreeMD
from jaxbandits.algorithms.oco.dog import DoG
from jaxbandits.algorithms.oco.dowg import DoWG
from jaxbandits.algorithms.oco.kt_betting import KTBetting
from jaxbandits.algorithms.oco.ogd import OGD
from jaxbandits.algorithms.oco.optimistic_ftrl_2022 import OptimisticFTRL2022
from jaxbandits.algorithms.oco.optimistic_ftrl_2023 import OptimisticFTRL2023
from jaxbandits.algorithms.oco.optimistic_omd import OptimisticOMD
from jaxbandits.algorithms.oco.parameter_free_md import ParameterFreeMD
from jaxbandits.algorithms.oco.scale_free_ftrl import ScaleFreeFTRL
from jaxbandits.base.errors import InputError
from jaxbandits.base.pytree import validate
from jaxbandits.domains.ball import L2Ball
from jaxbandits.domains.box import Box
from jaxbandits.domains.capped_simplex import CappedSimplex
from jaxbandits.domains.reductions import surrogate_gradient
from jaxbandits.domains.shrunk import Shrunk
from jaxbandits.domains.spectrahedron import Spectrahedron
from jaxbandits.domains.whole_space import WholeSpace
from tests.algorithms.oco.replay_oco import plays_of
from tests.reference import oco_baselines as reference


def gradient_of(offsets, curved):
    def linear(t, x):
        return offsets[t - 1]

    def huber(t, x):
        error = x - offsets[t - 1]
        return error / np.sqrt(1.0 + error @ error)

    return huber if curved else linear


# Against the reference ------------------------------------------------------------------------------------------------

MAKERS = {  # random hyperparameters a, b, c and a radius r -> (learner, reference)
    "omd": lambda d, a, b, c, r: (
        OptimisticOMD(dim=d, domain=L2Ball(radius=r), lipschitz=a, offset=b, step_scale=c),
        reference.optimistic_omd(d, r, a, b, c),
    ),
    "ftrl_2022": lambda d, a, b, c, r: (
        OptimisticFTRL2022(dim=d, domain=L2Ball(radius=r), lipschitz=a, step_scale=c),
        reference.optimistic_ftrl_2022(d, r, 2.0 * (2.0 * r) * a, c),
    ),
    "ftrl_2022_offset": lambda d, a, b, c, r: (
        OptimisticFTRL2022(dim=d, domain=L2Ball(radius=r), offset=b, step_scale=c),
        reference.optimistic_ftrl_2022(d, r, b, c),
    ),
    "ftrl_2023": lambda d, a, b, c, r: (
        OptimisticFTRL2023(dim=d, domain=L2Ball(radius=r), step_scale=c),
        reference.optimistic_ftrl_2023(d, r, c),
    ),
    "adagrad_norm": lambda d, a, b, c, r: (
        AdaGradNorm(dim=d, domain=L2Ball(radius=r), step_scale=c),
        reference.adagrad_norm(d, r, c),
    ),
    "kt": lambda d, a, b, c, r: (
        KTBetting(dim=d, lipschitz=1.0 + a, initial_wealth=b),
        reference.kt_betting(d, 1.0 + a, b),
    ),
    "kt_ball": lambda d, a, b, c, r: (
        KTBetting(dim=d, domain=L2Ball(radius=0.3 * r), lipschitz=1.0 + a, initial_wealth=b),
        reference.kt_betting(d, 1.0 + a, b, 0.3 * r),
    ),
    "pfmd": lambda d, a, b, c, r: (ParameterFreeMD(dim=d, lipschitz=a, scale=b), reference.parameter_free_md(d, a, b)),
    "pfmd_ball": lambda d, a, b, c, r: (
        ParameterFreeMD(dim=d, domain=L2Ball(radius=0.3 * r), lipschitz=a, scale=100.0 * b),
        reference.parameter_free_md(d, a, 100.0 * b, 0.3 * r),
    ),
    "clipped": lambda d, a, b, c, r: (
        ClippedParameterFreeMD(dim=d, initial_hint=0.3 * a, scale=1e4 * b),
        reference.clipped_parameter_free_md(d, 0.3 * a, 1e4 * b),
    ),
    "clipped_halved": lambda d, a, b, c, r: (
        ClippedParameterFreeMD(dim=d, initial_hint=0.3 * a, scale=1e4 * b, halved=True),
        reference.clipped_parameter_free_md(d, 0.3 * a, 1e4 * b, halved=True),
    ),
    "scale_free": lambda d, a, b, c, r: (ScaleFreeFTRL(dim=d, step_scale=c), reference.scale_free_ftrl(d, c)),
    "scale_free_ball": lambda d, a, b, c, r: (
        ScaleFreeFTRL(dim=d, domain=L2Ball(radius=r), step_scale=c),
        reference.scale_free_ftrl(d, c, r),
    ),
    "dog": lambda d, a, b, c, r: (DoG(dim=d, initial_distance=0.1 * a), reference.dog(d, 0.1 * a)),
    "dog_ball": lambda d, a, b, c, r: (
        DoG(dim=d, domain=L2Ball(radius=0.3 * r), initial_distance=0.1 * a),
        reference.dog(d, 0.1 * a, 0.3 * r),
    ),
    "dowg": lambda d, a, b, c, r: (DoWG(dim=d, initial_distance=0.1 * a), reference.dowg(d, 0.1 * a)),
    "dowg_ball": lambda d, a, b, c, r: (
        DoWG(dim=d, domain=L2Ball(radius=0.3 * r), initial_distance=0.1 * a),
        reference.dowg(d, 0.1 * a, 0.3 * r),
    ),
}


def draws(dim, rng, horizon=150):
    """Noise around a mean that changes its sign once, with some rounds of zeros and of tenfold size."""
    offsets = rng.standard_normal((horizon, dim)) + np.where(np.arange(horizon) < horizon // 2, 0.5, -0.5)[:, None]
    offsets[rng.uniform(size=horizon) < 0.05] = 0.0
    return offsets / (1.0 + np.linalg.norm(offsets, axis=1, keepdims=True))


@pytest.mark.quick_cases("*-2")
@pytest.mark.parametrize("dim", [2, 1, 5])
@pytest.mark.parametrize("name", MAKERS)
def test_matches_the_reference(name, dim, rng):
    radius = rng.uniform(0.5, 3.0)
    values = rng.uniform(0.5, 2.0, 3)
    offsets = draws(dim, rng)
    curved_offsets = 4.0 * offsets + 2.0
    for curved, inputs in ((False, offsets), (True, curved_offsets)):
        algorithm, expected = MAKERS[name](dim, *values, radius)
        ours = plays_of(algorithm, inputs, curved)
        theirs = reference.run(expected, gradient_of(inputs, curved), len(inputs))
        scale = max(1.0, np.abs(theirs).max())
        np.testing.assert_allclose(ours, theirs, rtol=0.0, atol=1e-10 * scale, err_msg=f"curved={curved}")
        assert np.abs(theirs).max() > 1e-3  # the learner moves
        if isinstance(getattr(algorithm, "domain", None), L2Ball):
            assert (np.linalg.norm(ours, axis=1) <= algorithm.domain.radius * (1.0 + 4e-16)).all()


def test_dowg_on_the_whole_space_runs_after_a_constant_gradient():
    """Its play grows by the root of q^3 = q^2 + q + 1 a round: why its example has a domain."""
    plays = plays_of(DoWG(dim=1), np.ones((60, 1)), False)[:, 0]
    root = max(np.roots([1.0, -1.0, -1.0, -1.0]).real)
    np.testing.assert_allclose(plays[-1] / plays[-2], root, rtol=1e-12)


@pytest.mark.slow
def test_the_projections_and_the_constraint_were_needed(rng):
    """On the draws above, so that the comparison covers both sides of each branch."""
    offsets = 4.0 * draws(2, rng) + 2.0
    for name in ("omd", "ftrl_2022", "ftrl_2023", "adagrad_norm", "kt_ball", "pfmd_ball", "dog_ball", "dowg_ball"):
        algorithm, _ = MAKERS[name](2, 1.0, 1.0, 1.0, 1.0)
        length = np.linalg.norm(plays_of(algorithm, offsets, True), axis=1)
        radius = float(algorithm.domain.radius)
        assert (length > 0.999 * radius).any() and (length < 0.9 * radius).any(), name
    plays = plays_of(MAKERS["clipped"](2, 1.0, 1.0, 1.0, 1.0)[0], offsets, True)
    norms = np.linalg.norm([gradient_of(offsets, True)(t + 1, x) for t, x in enumerate(plays)], axis=1)
    hints = np.maximum(0.3, np.maximum.accumulate(norms))
    radii = np.sqrt(1.0 + np.concatenate([[0.0], np.cumsum(norms / hints)[:-1]]))
    length = np.linalg.norm(plays, axis=1)
    assert (np.abs(length - radii) < 1e-12).any() and (length < 0.9 * radii).any()
    assert (length <= radii * (1.0 + 1e-15)).all()


@pytest.mark.quick_cases("dog", "omd", "kt_ball", "clipped_halved")
@pytest.mark.parametrize("name", MAKERS)
def test_dense_vectors(name, rng):
    """The form for large d."""
    offsets = draws(20, rng, 60)
    algorithm, expected = MAKERS[name](20, 1.0, 1.0, 1.0, 1.0)
    theirs = reference.run(expected, gradient_of(offsets, False), 60)
    np.testing.assert_allclose(plays_of(algorithm, offsets), theirs, rtol=0.0, atol=1e-11 * max(1.0, theirs.max()))


# Benchmark numbers: recorded draws, so the recorded digits ------------------------------------------------------------


def matches_print(value, printed):
    """Equal to a printed number up to half a unit of its last digit."""
    decimals = len(printed.partition(".")[2])
    return abs(value - float(printed)) <= 0.5 * 10.0**-decimals * (1.0 + 1e-6)


def sphere(rng, horizon, dim):
    noise = rng.standard_normal((horizon, dim))
    return noise / np.linalg.norm(noise, axis=1, keepdims=True)


def sea_gradients(kind, seed, *, mean, noise=0.0, period=1, flips=0, pool=64, horizon=2048, dim=5):
    """Linear losses of the stochastically extended adversarial model `[T, d]`."""
    rng, first, t = np.random.default_rng(seed), np.eye(dim)[0], np.arange(horizon)
    if kind == "random_order":
        vectors = mean * first + noise * sphere(rng, pool, dim)
        return np.concatenate([vectors[rng.permutation(pool)] for _ in range(horizon // pool)])
    sign, direction = np.ones(horizon), np.tile(first, (horizon, 1))
    if kind == "adversarial":
        sign = np.where(t // period % 2, -1.0, 1.0)
    elif kind == "corrupted":
        sign[np.linspace(0, horizon - 1, flips + 2).astype(int)[1:-1]] = -1.0
    elif kind == "drift":
        angle = 2.0 * np.pi * 0.25 / horizon * t
        direction = np.cos(angle)[:, None] * first + np.sin(angle)[:, None] * np.eye(dim)[1]
    return mean * sign[:, None] * direction + noise * sphere(rng, horizon, dim)


E1_LEARNERS = {
    "omd": OptimisticOMD(dim=5),
    "ftrl_2023": OptimisticFTRL2023(dim=5),
    "ftrl_2022": OptimisticFTRL2022(dim=5, offset=2.0),
    "ogd": OGD(dim=5),
    "adagrad_norm": AdaGradNorm(dim=5),
}
E1 = [  # regret against the best fixed point of the unit ball, mean over default_rng(100), (101), in that order
    ("iid", {"mean": 0.1, "noise": 0.9}, "34.7 17.7 23.1 39.1 33.1"),
    ("iid", {"mean": 0.1, "noise": 0.3}, "9.8 3.0 3.7 5.1 9.0"),
    ("iid", {"mean": 0.1, "noise": 0.1}, "2.5 0.5 0.8 0.9 1.8"),
    ("iid", {"mean": 0.1, "noise": 0.0}, "0.52 0.10 0.47 0.45 0.10"),
    ("adversarial", {"mean": 1.0, "period": 1}, "132.4 132.1 47.5 88.7 63.0"),
    ("adversarial", {"mean": 1.0, "period": 8}, "-94.1 -52.0 -23.7 60.5 48.3"),
    ("adversarial", {"mean": 1.0, "period": 64}, "-1822 -7.8 -16.4 -1069 -674"),
    ("corrupted", {"mean": 0.1, "noise": 0.3, "flips": 64}, "10.1 3.1 3.85 5.3 9.3"),
    ("random_order", {"mean": 0.1, "noise": 0.9, "pool": 64}, "49.7 16.1 20.8 60.1 49.5"),
    ("drift", {"mean": 0.1, "noise": 0.3}, "-12.5 3.0 3.7 -16.1 -13.4"),
]


@pytest.mark.slow_after_first
@pytest.mark.parametrize("column", range(len(E1_LEARNERS)), ids=list(E1_LEARNERS))
def test_benchmark_e1(column):
    algorithm = list(E1_LEARNERS.values())[column]
    for kind, arguments, printed in E1:
        regret = []
        for seed in (100, 101):
            grads = sea_gradients(kind, seed, **arguments)
            regret.append((grads * plays_of(algorithm, grads)).sum() + np.linalg.norm(grads.sum(axis=0)))
        assert matches_print(np.mean(regret), printed.split()[column]), (kind, arguments, np.mean(regret))


E2_RADII = (1, 2, 4, 8, 16, 32)
# Regret at u = U e_1 on pseudo-Huber losses around U e_1 + 0.2 sphere, d = 2, default_rng(200). At U = 32 the path of
# KT is chaotic: in 100 digits its regret is 2468.7, in float64 any number within two per cent.
E2 = {
    "kt": (KTBetting(dim=2), "3.2 6.6 19.0 90.3 535"),
    "pfmd": (ParameterFreeMD(dim=2), "58 233 713.5 1854 4414 10034"),
    "clipped": (ClippedParameterFreeMD(dim=2), "58 233 713.5 1854 4414 13538"),
    "scale_free": (ScaleFreeFTRL(dim=2), "4.9 6.1 18.0 131 1162 10018"),
    "dog": (DoG(dim=2), "12.8 37.3 103 266 660 1640"),
    "dowg": (DoWG(dim=2), "11.8 27.8 75.6 188 537 1415"),
    "misspecified_omd": (OptimisticOMD(dim=2), "7.8 833 4396 12396 28701 61433"),
}


@pytest.mark.quick_cases("pfmd")
@pytest.mark.parametrize("name", E2)
def test_benchmark_e2(name):
    algorithm, printed = E2[name]
    noise = sphere(np.random.default_rng(200), 2048, 2)
    for radius, digits in zip(E2_RADII, printed.split(), strict=False):
        targets = radius * np.eye(2)[0] + 0.2 * noise

        def loss(x, targets=targets):
            return (np.sqrt(1.0 + ((x - targets) ** 2).sum(axis=1)) - 1.0).sum()

        regret = loss(plays_of(algorithm, targets, True)) - loss(radius * np.eye(2)[0])
        assert matches_print(regret, digits), (radius, regret)


def test_benchmark_e4():
    """Losses of another unit: the regret in that unit, against u = -2 e_1."""
    grads = sea_gradients("iid", 7, mean=0.2, noise=0.8, dim=2)
    printed = {0.01: "874.7", 0.1: "803.2", 1.0: "876.6", 10.0: "876.5", 100.0: "876.5"}
    for unit, digits in printed.items():
        for algorithm, expected in ((ClippedParameterFreeMD(dim=2), digits), (ScaleFreeFTRL(dim=2), "-2562.6")):
            play = plays_of(algorithm, unit * grads)
            assert matches_print((grads * (play - [-2.0, 0.0])).sum(), expected), (unit, algorithm)


# By hand --------------------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_by_hand():
    def line(algorithm, *grads):
        return plays_of(algorithm, np.array(grads)[:, None])[:, 0]

    # KT, eps = G = 1: bets -1/2 of wealth 1; loses half; coins cancel; bets -1/4 of 1/2.
    np.testing.assert_array_equal(line(KTBetting(dim=1), 1.0, -1.0, 1.0, 0.0), [0.0, -0.5, 0.0, -0.125])
    # OMD, D = 2, G = delta = 1: x'_2 = -1/2 * 2/sqrt 5, and another 1/2 * 2/sqrt(5 + 1/4) for the hint.
    second = -1.0 / np.sqrt(5.0) - 1.0 / np.sqrt(5.25)
    np.testing.assert_allclose(line(OptimisticOMD(dim=1), 0.5, 0.0), [0.0, second], rtol=1e-15)
    # 2022, nu = 2: eta_1 = 2, N_1 = 2 + 2/16, x_2 = -(4 / N_1) / 2 * (1/4 + 1/4).
    np.testing.assert_allclose(line(OptimisticFTRL2022(dim=1, offset=2.0), 0.25, 0.0), [0.0, -1.0 / 2.125], rtol=1e-15)
    np.testing.assert_allclose(line(OptimisticFTRL2022(dim=1), 0.25, 0.0), [0.0, -1.0 / (4.0 + 1.0 / 16.0)], rtol=1e-15)
    # 2023: eta_1 is infinite, N_1 = 2 * 1, a perfect second hint adds nothing.
    plays = line(OptimisticFTRL2023(dim=1, step_scale=0.1), 1.0, 1.0, 1.0)
    np.testing.assert_allclose(plays, [0.0, -0.4, -0.6], rtol=1e-15)
    # AdaGrad-norm: the first step has length D / sqrt 2 whatever the gradient.
    plays = line(AdaGradNorm(dim=1, step_scale=0.5), 7.0, -7.0, 0.0)
    np.testing.assert_allclose(plays, [0.0, -np.sqrt(0.5), -np.sqrt(0.5) + 0.5], rtol=1e-15)
    # DoG and DoWG: the first step has length r_eps.
    for algorithm in (DoG(dim=1), DoWG(dim=1)):
        np.testing.assert_allclose(line(algorithm, 5.0, 0.0), [0.0, -1e-3], rtol=1e-15)
    # Scale-free: -(sum) / root of the energy.
    np.testing.assert_allclose(line(ScaleFreeFTRL(dim=1), 3.0, 4.0, 0.0), [0.0, -1.0, -7.0 / 5.0], rtol=1e-15)
    # PFMD: V = 5, theta = -1, E = 1/180.
    second = -np.expm1(1.0 / 180.0) / (np.sqrt(5.0) * np.log(5.0) ** 2)
    np.testing.assert_allclose(line(ParameterFreeMD(dim=1), 1.0, 0.0), [0.0, second], rtol=1e-14)
    # Clipped: 3 is clipped to the hint 1, then G = 3 and V = 4 * 9.
    second = -0.5 * np.expm1(1.0 / 36.0**2) / np.log(4.0) ** 2
    np.testing.assert_allclose(line(ClippedParameterFreeMD(dim=1), 3.0, 0.0), [0.0, second], rtol=1e-13)


def test_the_far_branch_of_mirror_descent():
    """Where ||theta|| > 6 V / G the exponent is linear, continuously."""
    algorithm = ParameterFreeMD(dim=1, lipschitz=0.1)
    grads = np.full((800, 1), -0.01)
    theirs = reference.run(reference.parameter_free_md(1, 0.1), gradient_of(grads, False), 800)
    np.testing.assert_allclose(plays_of(algorithm, grads), theirs, rtol=1e-11)
    length, variance = 0.01 * np.arange(800), 0.04 + 0.0001 * np.arange(800)
    far = length > 6.0 * variance / 0.1
    assert 50 < far.sum() < 750


# Invariances ----------------------------------------------------------------------------------------------------------

UNIT = {name: MAKERS[name](2, 1.0, 1.0, 1.0, 1.0)[0] for name in MAKERS}


@pytest.mark.parametrize("name", UNIT)
def test_rotation_and_reflection(name, rng):
    offsets = draws(2, rng)
    angle = rng.uniform(0.0, 2.0 * np.pi)
    rotation = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
    for isometry in (rotation, rotation @ np.diag([1.0, -1.0])):
        plays = plays_of(UNIT[name], offsets @ isometry.T)
        expected = plays_of(UNIT[name], offsets) @ isometry.T
        np.testing.assert_allclose(plays, expected, rtol=0.0, atol=1e-11 * max(1.0, np.abs(expected).max()))
    np.testing.assert_array_equal(plays_of(UNIT[name], -offsets), -plays_of(UNIT[name], offsets))


@pytest.mark.parametrize("name", UNIT)
def test_zero_gradients_stay_at_the_origin(name):
    plays = plays_of(UNIT[name], np.concatenate([np.zeros((149, 2)), np.ones((1, 2))]))
    np.testing.assert_array_equal(plays, 0.0)


@pytest.mark.parametrize("learner", [OGD, AdaGradNorm, OptimisticFTRL2022, OptimisticFTRL2023, OptimisticOMD])
def test_a_domain_of_one_point(learner, rng):
    point = CappedSimplex(dim=3, total=3.0)  # (1, 1, 1) is its only point, so that the diameter is 0
    plays = plays_of(learner(dim=3, domain=point), rng.standard_normal((4, 3)), False)
    np.testing.assert_allclose(plays, 1.0, rtol=1e-12)


def _plays_on_box(name, grads):
    """Return the plays `[T + 1, d]` of the formulas in the headers of the modules, on the box [0.2, 1]^d."""
    d = grads.shape[1]
    diameter = 0.8 * np.sqrt(d)
    total, hint, energy, reach, weighted, variation = np.zeros(d), np.zeros(d), 0.0, 1e-3, 0.0, 0.0
    nu, n_2023 = 2.0 * diameter, 0.0
    first = x = center = np.full(d, 0.2)
    plays = [x]
    for g in grads:
        error = np.linalg.norm(g - hint)
        reach = max(reach, np.linalg.norm(x - first))
        energy, weighted, total = energy + g @ g, weighted + reach**2 * (g @ g), total + g
        if name == "scale_free_ftrl":
            x = np.clip(-total / np.sqrt(energy), 0.2, 1.0)
        elif name == "dog":
            x = np.clip(x - reach / np.sqrt(energy) * g, 0.2, 1.0)
        elif name == "dowg":
            x = np.clip(x - reach**2 / np.sqrt(weighted) * g, 0.2, 1.0)
        elif name == "ftrl_2022":
            nu = nu + diameter**2 / nu * error**2
            x = np.clip(-(diameter**2 / nu) / 2.0 * (total + g), 0.2, 1.0)
        elif name == "ftrl_2023":
            n_2023 += min(diameter**2 / n_2023 * error**2 / 2.0, diameter * error) if n_2023 else diameter * error
            x = np.clip(-(diameter**2) / n_2023 * (total + g), 0.2, 1.0)
        else:
            center = np.clip(center - diameter / np.sqrt(1.0 + 4.0 + variation) * g, 0.2, 1.0)
            variation += error**2
            x = np.clip(center - diameter / np.sqrt(1.0 + 4.0 + variation) * g, 0.2, 1.0)
        hint = g
        plays.append(x)
    return np.stack(plays)


@pytest.mark.parametrize("name", ["scale_free_ftrl", "dog", "dowg", "ftrl_2022", "ftrl_2023", "omd"])
def test_the_first_point_of_a_domain_is_neither_a_gradient_nor_a_hint(name, rng):
    makers = {
        "scale_free_ftrl": ScaleFreeFTRL,
        "dog": DoG,
        "dowg": DoWG,
        "ftrl_2022": OptimisticFTRL2022,
        "ftrl_2023": OptimisticFTRL2023,
        "omd": OptimisticOMD,
    }
    grads = rng.standard_normal((6, 3))
    learner = makers[name](dim=3, domain=Box(dim=3, low=0.2, high=1.0))
    plays = plays_of(learner, np.append(grads, grads[:1], axis=0), False)
    np.testing.assert_allclose(plays, _plays_on_box(name, grads), rtol=0.0, atol=1e-9)


def test_proposals_whose_squares_overflow_are_not_played_as_zero():
    learner = ClippedParameterFreeMD(dim=2)
    state = learner.init(None)._replace(y=jnp.array([1e200, 0.0]))
    assert np.isnan(learner.point(jnp.int32(0), state)).any()
    far = learner.init(None)._replace(y=jnp.array([1e150, 0.0]))
    np.testing.assert_allclose(learner.point(jnp.int32(0), far), [1.0, 0.0], rtol=1e-15)


@pytest.mark.parametrize("exponent", [-20, 9])
def test_the_unit_of_the_losses(exponent, rng):
    """Bit for bit on powers of two: without any constant, or with the constant in the same unit."""
    unit, offsets = 2.0**exponent, draws(2, rng)
    for one, other in (
        (ScaleFreeFTRL(dim=2), ScaleFreeFTRL(dim=2)),
        (OptimisticFTRL2023(dim=2), OptimisticFTRL2023(dim=2)),
        (AdaGradNorm(dim=2), AdaGradNorm(dim=2)),
        (DoG(dim=2), DoG(dim=2)),
        (DoWG(dim=2), DoWG(dim=2)),
        (KTBetting(dim=2), KTBetting(dim=2, lipschitz=unit)),
        (ParameterFreeMD(dim=2), ParameterFreeMD(dim=2, lipschitz=unit)),
        (ClippedParameterFreeMD(dim=2), ClippedParameterFreeMD(dim=2, initial_hint=unit)),
        (OptimisticFTRL2022(dim=2), OptimisticFTRL2022(dim=2, lipschitz=unit)),
        (OptimisticOMD(dim=2), OptimisticOMD(dim=2, lipschitz=unit, offset=unit**2)),
    ):
        np.testing.assert_array_equal(plays_of(one, offsets), plays_of(other, unit * offsets), err_msg=str(one))


# What the analyses promise, path by path ------------------------------------------------------------------------------


def paths(rng, dim=2, horizon=150):
    """Gradients of norm at most 1: noise, drift, switching, and one against every learner that follows the last."""
    noise = rng.standard_normal((horizon, dim))
    switching = np.where(np.arange(horizon) // 7 % 2, 1.0, -1.0)[:, None] * np.eye(dim)[0]
    alternating = np.where(np.arange(horizon) % 2, 1.0, -1.0)[:, None] * np.eye(dim)[0]
    for offsets in (noise, 0.1 * noise + np.eye(dim)[0], switching, alternating, np.tile(np.eye(dim)[0], (horizon, 1))):
        yield offsets / np.maximum(1.0, np.linalg.norm(offsets, axis=1))[:, None]


def test_adagrad_norm_bound(rng):
    for grads in paths(rng):
        regret = (grads * plays_of(AdaGradNorm(dim=2), grads)).sum() + np.linalg.norm(grads.sum(axis=0))
        assert regret <= 2.0 * np.sqrt(2.0 * (grads**2).sum()) * (1.0 + 1e-12)


@pytest.mark.parametrize("radius", [None, 0.5])
def test_kt_bound(radius, rng):
    """Corollary 5 against comparators of every size (of the domain, where there is one)."""
    algorithm = KTBetting(dim=2, domain=WholeSpace() if radius is None else L2Ball(radius=radius), initial_wealth=0.3)
    for grads in paths(rng):
        horizon = len(grads)
        loss = (grads * plays_of(algorithm, grads)).sum()
        down = -grads.sum(axis=0) / max(np.linalg.norm(grads.sum(axis=0)), 1e-30)
        for size in (0.0, 0.01, 0.5) if radius else (0.0, 0.1, 1.0, 30.0, 1e4):
            bound = size * np.sqrt(horizon * np.log1p(24.0 * horizon**2 * size**2 / 0.3**2)) + 0.3
            assert loss - grads.sum(axis=0) @ (size * down) <= bound * (1.0 + 1e-9)


@pytest.mark.slow_after_first
@pytest.mark.parametrize("dim", [2, 1, 20])
def test_surrogate_gradient(dim, rng):
    """Never longer, and an upper bound of the regret for every point of the ball."""
    for _ in range(20):
        y, grad = 3.0 * rng.standard_normal(dim), rng.standard_normal(dim)
        x = reference.onto_ball(y, 1.0)
        told = np.asarray(surrogate_gradient(L2Ball(), *map(jnp.asarray, map(jnp.asarray, (grad, y, x)))))
        np.testing.assert_allclose(told, reference.surrogate(grad, y, x), rtol=0.0, atol=1e-13)
        assert np.linalg.norm(told) <= np.linalg.norm(grad) * (1.0 + 1e-14)
        for _ in range(10):
            u = reference.onto_ball(rng.standard_normal(dim), 1.0)
            assert grad @ (x - u) <= told @ (y - u) + 1e-13


@pytest.mark.parametrize(
    ("domain", "y"),
    [
        (Shrunk(base=L2Ball(), shrink=0.3), [[0.1, 0.2], [0.3, 0.07]]),
        (Shrunk(base=Box(dim=(2, 2), low=-0.4, high=1.0), shrink=0.3), [[0.1, 0.2], [0.3, 0.07]]),
        (Spectrahedron(), [[0.31, 0.17], [0.17, 0.41]]),
        (Spectrahedron(), [[0.07, 0.21], [0.21, 0.63]]),  # of rank one, up to rounding errors
    ],
)
def test_surrogate_gradient_inside_is_the_gradient(domain, y, rng):
    """Rounding errors of a projection that moves points of the set would remove a component of every gradient."""
    y, grad = jnp.asarray(y), jnp.asarray(rng.standard_normal((2, 2)))
    for sign in (1.0, -1.0):
        found = surrogate_gradient(domain, sign * grad, y, domain.project(y))
        np.testing.assert_array_equal(found, sign * grad)


@pytest.mark.slow
def test_exponential_growth_is_capped():
    """Constant gradients: the wealth would overflow after 1024 rounds, the square of the play after 12800."""
    grads = np.tile([1.0, 0.0], (30_000, 1))
    for algorithm in (KTBetting(dim=2), ParameterFreeMD(dim=2)):
        plays = plays_of(algorithm, grads)
        assert np.isfinite(plays).all() and np.isfinite((plays**2).sum(axis=1)).all()
        assert plays.min() < -1e100
    capped = plays_of(KTBetting(dim=2, wealth_cap=50.0), grads[:100])
    assert (np.abs(capped) <= 50.0).all() and np.abs(capped).max() > 25.0
    capped = plays_of(ParameterFreeMD(dim=2, exponent_cap=1e-3), grads[:100])
    free = plays_of(ParameterFreeMD(dim=2), grads[:100])
    assert np.linalg.norm(capped[-1]) < 0.1 * np.linalg.norm(free[-1])


def test_ranges():
    for algorithm in UNIT.values():
        validate(algorithm)
        with pytest.raises(InputError):
            validate(type(algorithm)(dim=0))
    for wrong in (
        lambda: OptimisticOMD(dim=2, offset=0.0),
        lambda: OptimisticFTRL2022(dim=2, offset=-1.0),
        lambda: OptimisticFTRL2023(dim=2, domain=L2Ball(radius=0.0)),
        lambda: AdaGradNorm(dim=2, step_scale=0.0),
        lambda: KTBetting(dim=2, lipschitz=0.0),
        lambda: KTBetting(dim=2, domain=L2Ball(radius=-1.0)),
        lambda: ParameterFreeMD(dim=2, scale=0.0),
        lambda: ClippedParameterFreeMD(dim=2, initial_hint=0.0),
        lambda: DoG(dim=2, initial_distance=0.0),
        lambda: DoWG(dim=2, initial_distance=-1.0),
    ):
        with pytest.raises(InputError):
            validate(wrong())


@pytest.mark.parametrize("learner", [OGD, AdaGradNorm, OptimisticOMD, OptimisticFTRL2022, OptimisticFTRL2023])
def test_steps_that_are_multiples_of_the_diameter_need_a_bounded_domain(learner):
    message = f"{learner.__name__}.domain must be bounded, .* WholeSpace is not: use a bounded set such as L2Ball"
    with pytest.raises(InputError, match=message) as caught:
        validate(learner(dim=2, domain=WholeSpace()))
    assert "\n" not in str(caught.value)
    validate(learner(dim=2, domain=Box(dim=2)))


@pytest.mark.parametrize("learner", [ScaleFreeFTRL, DoG, DoWG, KTBetting, ParameterFreeMD])
def test_steps_without_a_diameter_stay_finite_on_the_whole_space(learner, rng):
    algorithm = learner(dim=2, domain=WholeSpace())
    validate(algorithm)
    assert np.isfinite(plays_of(algorithm, rng.normal(size=(30, 2)))).all()
