"""The theorems' step sizes: ten printed digits, the NumPy forms at other sizes, multipliers, presets, refusals."""

import dataclasses

import numpy as np
import pytest

from jaxbandits.algorithms import ALGORITHMS
from jaxbandits.algorithms.dro import steps as theorems
from jaxbandits.base.errors import InputError
from jaxbandits.base.pytree import validate
from jaxbandits.domains import L2Ball, Spectrahedron, WholeSpace
from jaxbandits.dro import (
    SMD,
    SMPA,
    AnytimeATkRO1,
    AnytimeATkROm,
    AnytimeOnline,
    AnytimeSMD,
    ATkROk,
    ATkROm,
    Online,
    SagawaSMD,
    SMDr,
    Soma,
)
from tests.reference import dro_methods as methods
from tests.reference import dro_steps as reference

NAMES = [name for name in ALGORITHMS if name.startswith("dro/")]
TEN = {"rtol": 0, "atol": 6e-11}
PROBLEM = {"dim": 3, "n_groups": 20, "domain": L2Ball(radius=2.0), "lipschitz": 3.0}  # D^2 = B^2 / 2 = 2
BUDGETS = tuple(1000 * (21 - i) for i in range(1, 21))


def drop_none(steps):
    return [step for step in steps if step is not None]


class TestPrintedValues:
    """m = 20, k = 3, D^2 = 2, G = 3."""

    @pytest.mark.parametrize(
        ("learner", "expected"),
        [
            (SMD(**PROBLEM, horizon=1000), (0.0174592054, 0.0261515525)),
            (ATkROm(**PROBLEM, k=3, horizon=1000), (0.0179347314, 0.0170121687)),
            (Online(**PROBLEM, horizon=1000), (0.0133333333, 0.0122387342, 0.0061193671)),
            (ATkROk(**PROBLEM, k=3, horizon=1000), (0.0133333333, 0.0211981094, 0.0211981094 / 2)),
            (SagawaSMD(**PROBLEM, horizon=1000), (0.0174592054 / 20, 0.0261515525 / 20)),
        ],
        ids=lambda value: type(value).__name__ if hasattr(value, "domain") else "",
    )
    def test_with_a_horizon(self, learner, expected):
        np.testing.assert_allclose(drop_none(learner.steps()), expected, **TEN)

    @pytest.mark.parametrize(
        ("learner", "expected"),
        [
            (AnytimeSMD(**PROBLEM), (0.1951998503, 0.2923832457)),  # not ...8424..., which is not (log m / D^2) eta_w
            (AnytimeATkROm(**PROBLEM, k=3), (0.2005163932, 0.1902018284)),
            (AnytimeOnline(**PROBLEM), (0.1490711985, 0.1223873415, 0.1223873415 / 2)),
            (AnytimeATkRO1(**PROBLEM, k=3), (0.1490711985, 0.1223873415, 0.1223873415 / 2)),
        ],
        ids=lambda value: type(value).__name__ if hasattr(value, "domain") else "",
    )
    def test_anytime_forms_in_round_ten(self, learner, expected):
        factors = theorems.inverse_root_steps(np.int32(9))
        np.testing.assert_allclose(factors.step * np.array(drop_none(learner.steps())), expected, **TEN)

    def test_both_anytime_steps_are_in_proportion(self):
        """(19): eta_q / eta_w = log m / D^2, which decides between two readings of its tenth digit."""
        w, q, _ = AnytimeSMD(**PROBLEM).steps()
        np.testing.assert_allclose(q / w, np.log(20) / 2, rtol=1e-14)
        np.testing.assert_allclose(0.1951998503 * np.log(20) / 2, 0.2923832457, rtol=0, atol=1e-10)

    def test_mirror_prox(self):
        b = theorems.budget_weights(BUDGETS)
        np.testing.assert_allclose(b[[0, 9, 19]], (4.0419405910, 3.0967190420, 1.0), **TEN)
        learner = SMPA(dim=3, budgets=BUDGETS, domain=L2Ball(radius=2.0), lipschitz=3.0)
        np.testing.assert_allclose(drop_none(learner.steps()), (0.0130181712, 0.0194994777), **TEN)
        assert theorems.batch_sizes(BUDGETS) == tuple(range(20, 0, -1))
        adult = tuple(n - 364 for n in (27020, 11883, 2144, 2084, 1363, 728))
        assert theorems.batch_sizes(adult) == (73, 31, 4, 4, 2, 1)
        assert SMPA(dim=3, budgets=adult).rounds == 364
        assert SMDr(dim=3, budgets=adult).rounds == 26656


def test_steps_equal_the_references(rng):
    """All theorems at sizes of their own."""
    for _ in range(20):
        m = int(rng.integers(2, 30))
        k, t = int(rng.integers(1, m + 1)), float(rng.integers(1, 10**6))
        geometry = rng.uniform(0.1, 5.0), rng.uniform(0.1, 5.0)
        budgets = tuple(int(n) for n in rng.integers(1, 10**4, m))
        b, smooth = methods.budget_weights(budgets), rng.uniform(0.1, 5.0, 3)
        for ours, theirs in (
            (theorems.theorem_1(m, t, *geometry, k), reference.theorem_1(m, t, *geometry, k)),
            (theorems.equation_19(m, *geometry, k), reference.equation_19(m, 1, *geometry, k)),
            (theorems.theorem_5(m, t, *geometry, k), reference.theorem_5(m, t, *geometry, k)),
            (theorems.equation_30(m, *geometry), reference.equation_30(m, 1, *geometry)),
            (theorems.sagawa(m, t, *geometry), reference.sagawa(m, t, *geometry)),
            (theorems.theorem_10(budgets, *geometry, *smooth), reference.theorem_10(budgets, b, *geometry, *smooth)),
        ):
            np.testing.assert_allclose(drop_none(ours), theirs, rtol=1e-13)
        np.testing.assert_allclose(theorems.budget_weights(budgets), b, rtol=1e-13)


def test_the_step_of_soma_minimises_its_bound():
    horizon, m = 1000.0, 7
    step = np.exp(np.linspace(-8, 0, 4001))
    best = step[np.argmin(2 * np.sqrt(m) / step + step * np.sqrt(m) * horizon)]
    np.testing.assert_allclose(Soma(dim=2, n_groups=m, horizon=horizon).steps().q, best, rtol=0.002)


def test_falling_steps_and_their_averages():
    """The factor is 1 / sqrt(t), the fraction that of a mean weighted with it, whatever the round."""
    t = np.array([0, 1, 5, 30, 31, 32, 33, 1000, 99_999])
    root = 1.0 / np.sqrt(np.arange(1.0, 100_001.0))
    factors = np.array([theorems.inverse_root_steps(np.int32(i)) for i in t], float)
    np.testing.assert_allclose(factors[:, 0], root[t], rtol=1e-14)
    np.testing.assert_allclose(factors[:, 1], (root / np.cumsum(root))[t], rtol=1e-12)
    np.testing.assert_allclose([theorems.constant_steps(np.int32(i)).average for i in t], 1.0 / (t + 1), rtol=1e-15)


@pytest.mark.parametrize("name", NAMES)
class TestEveryLearner:
    def test_presets_and_multipliers(self, name):
        """`theory` is unscaled, gamma follows eta_q, what is given is taken as it is."""
        example = ALGORITHMS[name].example
        sizes = {f: getattr(example, f) for f in ("dim", "n_groups", "k", "horizon", "budgets") if _has(example, f)}
        theory, practical = type(example).theory(**sizes), type(example).practical(**sizes)
        plain = np.array(drop_none(theory.steps()))
        np.testing.assert_array_equal(drop_none(example.steps()), plain)
        scales = [practical.w_scale, practical.q_scale, practical.q_scale][: len(plain)]
        np.testing.assert_allclose(np.array(drop_none(practical.steps())), plain * scales, rtol=1e-14)
        taken = dataclasses.replace(practical, step_w=0.5, step_q=0.25).steps()
        np.testing.assert_array_equal(drop_none(taken), [0.5, 0.25, 0.125][: len(plain)])
        if hasattr(example, "gamma"):
            assert dataclasses.replace(practical, gamma=0.7).steps().gamma == 0.7

    def test_the_range_of_a_set_whose_first_point_is_no_centre(self, name):
        """The origin is a corner of the spectrahedron: ||w - w_1||^2 / 2 is at most half of the squared diameter."""
        learner = dataclasses.replace(ALGORITHMS[name].example, dim=(3, 3), domain=Spectrahedron(radius=2.0))
        assert float(learner.geometry()[0]) == pytest.approx(4.0)

    def test_where_w_has_no_diameter(self, name):
        example = dataclasses.replace(ALGORITHMS[name].example, domain=WholeSpace())
        with pytest.raises(InputError, match=f"{type(example).__name__}.diameter_sq must be given, or else step_w"):
            validate(example)
        validate(dataclasses.replace(example, diameter_sq=2.0))
        known = dataclasses.replace(example, step_w=0.1, step_q=0.2)
        validate(known)
        np.testing.assert_array_equal(drop_none(known.steps())[:2], (0.1, 0.2))

    def test_what_is_wrong_is_said(self, name):
        example = ALGORITHMS[name].example

        def refuses(match, **fields):
            with pytest.raises(InputError, match=f"{type(example).__name__}.{match}"):
                validate(dataclasses.replace(example, **fields))

        refuses("dim( or .*start)? must be given", dim=None)
        refuses("start must have shape", start=np.zeros(2))
        refuses("start must lie in the domain", start=np.array([3.0, 0.1, 0.0]))
        refuses("domain must be an object such as L2Ball", domain=3.0)
        refuses("w_scale must lie in", w_scale=-1.0)
        if hasattr(example, "k"):
            refuses("k must be at most n_groups = 4, got 5", k=5)
            refuses("k must lie in", k=0)
        if hasattr(example, "sampler"):
            refuses("sampler must be one of dep_round, systematic, got 'poisson'", sampler="poisson")
        if hasattr(example, "budgets"):
            refuses("budgets must be a sequence of at least two whole numbers", budgets=(5,))
            refuses("budgets must lie in", budgets=(5, 0))
            refuses("budgets is static and must be hashable", budgets=[5, 5])
        else:
            refuses("n_groups must lie in", n_groups=1)


def _has(example, field):
    return field in {f.name for f in dataclasses.fields(example)}


def test_geometry_of_a_domain():
    """From the centre of a ball D^2 = B^2 / 2; from elsewhere at most half the square of its diameter."""
    base = {"n_groups": 4, "horizon": 100}
    centre = SMD(dim=4, domain=L2Ball(radius=2.0), **base).steps()
    told = SMD(dim=4, domain=L2Ball(radius=2.0), diameter_sq=2.0, lipschitz=2.0, **base).steps()
    np.testing.assert_allclose(centre[:2], told[:2], rtol=1e-14)
    start = np.array([1.0, 0.0, 0.0, 0.0])
    elsewhere = SMD(dim=4, start=start, domain=L2Ball(radius=2.0), **base).steps()
    told = SMD(dim=4, domain=L2Ball(radius=2.0), diameter_sq=8.0, lipschitz=2.0, **base).steps()
    np.testing.assert_allclose(elsewhere[:2], told[:2], rtol=1e-14)
