"""Presets of the generalised linear methods: `theory` is what the papers state, `practical` differs in multipliers."""

import dataclasses
import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxbandits.algorithms.glm.ada_ofu_ecolog import AdaOFUECOLog
from jaxbandits.algorithms.glm.ecolog import ECOLog
from jaxbandits.algorithms.glm.glm_ucb import GLMUCB
from jaxbandits.algorithms.glm.gloc import GLOC
from jaxbandits.algorithms.glm.multipliers import MULTIPLIERS
from jaxbandits.algorithms.glm.ofuglb import OFUGLB
from jaxbandits.algorithms.glm.oful_mlogb import OFULMLogB
from jaxbandits.algorithms.glm.ofulog_r import OFULogR
from jaxbandits.base.pytree import validate
from jaxbandits.estimation.links import Gaussian, Poisson

D, S, DELTA, T = 3, 4.0, 0.05, 500
TOLD = {"dim": D, "norm_bound": S, "delta": DELTA}
C_MU = 1.0 / (2.0 + 2.0 * math.cosh(S))  # least mu' on [-S, S]

PRESETS = {  # class: what else it must be told, the multipliers of `practical`
    ECOLog: ({}, MULTIPLIERS["ecolog"]),
    AdaOFUECOLog: ({"n_arms": 7}, MULTIPLIERS["ada_ofu_ecolog"]),
    GLOC: ({}, MULTIPLIERS["gloc"]),
    GLMUCB: ({"n_arms": 7, "horizon": T}, MULTIPLIERS["glm_ucb"]),
    OFUGLB: ({"n_arms": 7}, MULTIPLIERS["ofuglb"]),
    OFULogR: ({"n_arms": 7}, MULTIPLIERS["ofulog_r"]),
    OFULMLogB: ({}, MULTIPLIERS["oful_mlogb"]),
}


def _radius(cls, t, **told):
    algorithm = cls.theory(**TOLD, **PRESETS[cls][0], **told)
    return float(algorithm.radius(jnp.asarray(t), algorithm.init(jax.random.key(0))))


def _level(ridge, count):
    gamma = math.sqrt(ridge) * (S + 0.5) + D / math.sqrt(ridge) * math.log(4 / DELTA * (1 + count / (16 * D * ridge)))
    return gamma + gamma**2 / math.sqrt(ridge)


def _gloc(k, noise):
    bound = 2.0 * S**2 * D  # B_1 / k
    root = math.sqrt(1 + 2 * bound + 4 * (noise / k) ** 4 / DELTA**2)
    return math.sqrt(D * S**2 + 1 + 4 * bound + 8 * (noise / k) ** 2 * math.log(2 / DELTA * root))


class TestTheory:
    """Radii of the round t = 12 before any reward, where the state is the initial one, from the formulas by hand."""

    def test_ecolog(self):
        assert _radius(ECOLog, 11) == pytest.approx(math.sqrt(4 * D * S**2 + (2 + 2 * S) * math.log(1 / DELTA)))

    def test_ecolog_as_published(self):
        """Lemmas 4 and 5 with D = 2S, and the public code's D = S, before any reward."""
        nu = 0.5 + 2 * math.log(2 * math.sqrt(1 + 12 / (4 * D)) / DELTA)
        for algorithm, wide in ((ECOLog.published(**TOLD), 2 * S), (ECOLog(**TOLD, radius_rule="code"), S)):
            inner = (2 + wide) * nu / 4 + wide**2 / (2 + wide)
            want = math.sqrt(4 * D * S**2 + 2 * (2 + wide) * inner + 4 * math.log(1 + 12))
            assert float(algorithm.radius(jnp.asarray(11), algorithm.init(jax.random.key(0)))) == pytest.approx(want)
        assert ECOLog.published(**TOLD, diameter=3.0).diameter == 3.0

    def test_ada_ofu_ecolog(self):
        assert _radius(AdaOFUECOLog, 11) == pytest.approx(math.sqrt(4 * D * S**2 + (2 + 2 * S) * math.log(1 / DELTA)))
        algorithm = AdaOFUECOLog.theory(**TOLD, n_arms=7)
        assert float(algorithm.warmup_radius(jnp.asarray(11.0))) == pytest.approx(_level(D, 12))
        assert algorithm.curvature_ratio == 2.0 and float(algorithm._kappa) == pytest.approx(1.0 / C_MU)

    def test_gloc(self):
        assert _radius(GLOC, 11) == pytest.approx(_gloc(C_MU, 0.5))
        assert _radius(GLOC, 11, link=Gaussian(variance=0.09)) == pytest.approx(_gloc(1.0, 0.3))
        assert _radius(GLOC, 11, link=Poisson()) == pytest.approx(_gloc(math.exp(-S), math.exp(S / 2)))

    @pytest.mark.parametrize("t", [1, 2, 12])
    def test_glm_ucb(self, t):
        ridge, read = D * math.log(1 + t), max(t, 2)
        spread = math.sqrt(2 * D * math.log(read) * math.log(2 * D * T / DELTA))
        want = 2 * 0.25 / C_MU * math.sqrt(3 + 2 * math.log(1 + 2 / ridge)) * spread
        assert _radius(GLMUCB, t - 1) == pytest.approx(want)
        assert _radius(GLMUCB, t - 1, reward_bound=100.0) == pytest.approx(100 * want)

    def test_ofuglb(self):
        assert _radius(OFUGLB, 11) == pytest.approx(math.sqrt(math.log(1 / DELTA) + D * (1 + math.log(2 * S * 11 / D))))
        lip = math.exp(S) * 11 + math.log(D / DELTA)
        want = math.sqrt(math.log(1 / DELTA) + D * (1 + math.log(2 * S * lip / D)))
        assert _radius(OFUGLB, 11, link=Poisson()) == pytest.approx(want)

    @pytest.mark.parametrize("t", [1, 12])
    def test_ofulog_r(self, t):
        assert _radius(OFULogR, t - 1) == pytest.approx(_level(D * math.log(1 + t), t))

    def test_oful_mlogb(self):
        """Its eta; the constants of the radius are ours."""
        assert float(OFULMLogB.theory(**TOLD)._step_size) == pytest.approx(math.log(2) / 2 + S + 1)
        want = 2 * math.sqrt(D) * S + math.sqrt(D) * math.log(13 / DELTA)
        assert _radius(OFULMLogB, 11) == pytest.approx(want)


@pytest.mark.parametrize("cls", PRESETS)
def test_practical_is_the_theory_but_for_its_multipliers(cls):
    told, multipliers = PRESETS[cls]
    theory, practical = cls.theory(**TOLD, **told), cls.practical(**TOLD, **told)
    names = [f.name for f in dataclasses.fields(cls) if f.name != "link"]
    differing = {n: getattr(practical, n) for n in names if getattr(practical, n) != getattr(theory, n)}
    assert differing == {name: value for name, value in multipliers.items() if value != 1.0}
    assert all(getattr(theory, name) == 1.0 for name in multipliers)
    for name in multipliers:  # what is given stays
        assert getattr(cls.practical(**TOLD, **told, **{name: 0.5}), name) == 0.5
    for algorithm in (theory, practical):
        validate(algorithm)
    arrays = [np.asarray(a) for a in jax.tree.leaves(practical.init(jax.random.key(0))) if hasattr(a, "dtype")]
    assert all(np.isfinite(a).all() for a in arrays if a.dtype.kind == "f" and a.ndim < 2)
