"""The NumPy references of the projection-free family against traces recorded from another implementation.

Unit Euclidean ball of R^2; the numbers hold to the digits given.
"""

import numpy as np
import pytest

from tests.reference import ofw_tvc
from tests.reference.bfw_tvc import BFWTVC
from tests.reference.convex_sets import L2Ball
from tests.reference.loo_bogd import LOOBOGD
from tests.reference.lpm import LPM
from tests.reference.lyapunov import Exponential
from tests.reference.opdp import OPDP
from tests.reference.scbfw_tvc import SCBFWTVC
from tests.reference.scofw_tvc import SCOFWTVC
from tests.reference.sinha_vaze import SinhaVaze

BALL, ORIGIN, DG = L2Ball(), np.zeros(2), np.array([1.0, -0.5])
EIGHT, TEN = 6e-9, 6e-11  # digits printed


def rounds():
    """t = 1..12: gradient of the loss, value and gradient of the constraint."""
    return [(t, np.array([np.cos(t), np.sin(2 * t)]), 0.8 * np.sin(1.3 * t), DG) for t in range(1, 13)]


def trace(learner, read):
    """Return the values of `read` after each round."""
    seen = {}
    for t, df, g, dg in rounds():
        learner.step(df, g, dg) if not isinstance(learner, LOOBOGD) else learner.step(df)
        seen[t] = read(learner)
    return seen


def test_ofw_tvc():
    learner = ofw_tvc.OFWTVC(ORIGIN, BALL.lmo, 2.0, 16, 1.2, 2.0, 0.5, 0.25, 1.0)
    rows = {t: learner.step(df, g, dg) for t, df, g, dg in rounds()}
    points = {
        1: (-0.92041284, -0.39094782),
        5: (-0.73297732, -0.29169024),
        10: (0.38067031, 0.25212984),
        11: (-0.89361657, 0.44883119),
        12: (0.99086368, -0.13486725),
    }
    for t, x in points.items():
        np.testing.assert_allclose(rows[t]["x"], x, atol=EIGHT)
    np.testing.assert_allclose([rows[1]["Q"], rows[11]["Q"]], [0.77084655, 3.53500820], atol=EIGHT)
    np.testing.assert_allclose([rows[1]["w"], rows[10]["w"]], [0.36755913, 0.98659166], atol=EIGHT)
    assert [rows[t]["level"] for t in (1, 10, 11, 12)] == [4.0, 4.0, 8.0, 8.0]
    assert [rows[t]["s"] for t in (1, 10, 11, 12)] == [1, 1, 11, 11]
    assert 2.0 / (2.0 * 4.0 * 16**0.75) == 0.03125  # eta at t = 1, and half of it from t = 11 on
    assert min(1.0, 2.0 / np.sqrt(5)) == pytest.approx(0.89442719, abs=EIGHT)


def test_scofw_tvc():
    learner = SCOFWTVC(BALL, [0.1, 0.0], alpha=2.0, beta=0.05, gamma=2.0)
    rows = trace(learner, lambda a: (a.w, a.sigma, *a.x))
    np.testing.assert_allclose(rows[1], (1.07708465, 0.57626166, -0.45323589, -0.29402125), atol=EIGHT)
    np.testing.assert_allclose(rows[2][1:], (0.17344769, -0.39481594, -0.07075567), atol=EIGHT)
    np.testing.assert_allclose(rows[12], (1.36212111, 0.11742780, -0.50229022, 0.08991962), atol=EIGHT)


def bandit(learner):
    """Values fed whatever is played, t = 0..15; y after each block of 4."""
    seen = []
    for t in range(16):
        learner.play([np.cos(2 * np.pi * t / 7), np.sin(2 * np.pi * t / 7)])
        learner.step(0.5 + 0.4 * np.sin(t), 0.3 * np.cos(1.7 * t))
        if t % 4 == 3:
            seen.append(learner.y)
    return np.array(seen)


def test_bfw_tvc():
    levels = []

    class BFWTVCWithTrace(BFWTVC):
        def end_block(self):
            super().end_block()
            levels.append(self.level)

    learner = BFWTVCWithTrace(BALL, ORIGIN, T=16, K=4, G=1.0, M=1.0, c=1.0, beta=2.0, gamma=0.5, lam=0.25, eps=0.01)
    expected = [
        (-0.0549413456, -0.2209770895),
        (-0.1567175146, -0.1468144332),
        (-0.1431874817, -0.3235873069),
        (-0.2679394533, -0.3218877743),
    ]
    np.testing.assert_allclose(bandit(learner), expected, atol=TEN)
    assert levels == [2.0, 2.0, 2.0, 4.0]
    np.testing.assert_allclose(learner.Q, 1.7170397522, atol=TEN)


FIRST = (-0.2111519830, -0.5649818097)


@pytest.mark.parametrize(
    ("recenter", "expected"),
    [
        (
            True,
            [FIRST, (-0.5408335985, -0.2669992959), (-0.0533054748, -0.6007895901), (-0.4278444068, -0.4251338246)],
        ),
        (
            False,
            [FIRST, (-0.5600374493, -0.2239367337), (0.0311430874, -0.6023451779), (-0.4390650122, -0.4135353919)],
        ),
    ],
)
def test_scbfw_tvc(recenter, expected):
    learner = SCBFWTVC(BALL, ORIGIN, T=16, K=4, L=5, alpha=0.5, beta=2.0, gamma=0.5, recenter=recenter)
    np.testing.assert_allclose(bandit(learner), expected, atol=TEN)


def test_loo_bogd():
    learner = LOOBOGD(BALL, ORIGIN, eta=0.5, eps=0.002, K=3)
    rows = trace(learner, lambda a: a.x)
    np.testing.assert_allclose(rows[6], (0.13612941, 0.08211167), atol=EIGHT)
    np.testing.assert_allclose(rows[12], (0.29102904, 0.12684514), atol=EIGHT)
    assert learner.calls == 6


def test_lpm():
    learner = LPM(BALL, ORIGIN, eta=0.5, eps=0.002, K=3, theta=0.2, eta_l=0.4)
    rows = trace(learner, lambda a: (*a.x, a.l))
    np.testing.assert_allclose(rows[6], (-0.29396781, 0.31482620, 0.74807955), atol=EIGHT)
    np.testing.assert_allclose(rows[12], (-0.75462245, 0.54377678, 0.99439712), atol=EIGHT)
    assert learner.calls == 13


@pytest.mark.parametrize(
    ("hard", "sixth", "last"),
    [
        (False, (0.30507005, 0.59889622, 0.38286520), (0.08998610, 0.39951964, 0.43878824)),
        (True, (0.29640873, 0.60330797, None), (0.02103704, 0.42818944, 0.93312080)),
    ],
)
def test_opdp(hard, sixth, last):
    rows = trace(OPDP(BALL, ORIGIN, 16, 1.2, mu=0.4, theta=0.2, hard=hard), lambda a: (*a.x, a.l))
    known = [i for i, value in enumerate(sixth) if value is not None]
    np.testing.assert_allclose([rows[6][i] for i in known], [sixth[i] for i in known], atol=EIGHT)
    np.testing.assert_allclose(rows[12], last, atol=EIGHT)


def test_sinha_vaze():
    rows = trace(SinhaVaze(BALL, ORIGIN, b=1.0, lam=0.25), lambda a: a.x)
    np.testing.assert_allclose(rows[6], (-0.52891332, 0.60083867), atol=EIGHT)
    np.testing.assert_allclose(rows[12], (-0.76701516, 0.64162898), atol=EIGHT)


def test_inequality_7():
    """sum of surrogate differences >= gamma beta regret + Phi(beta Q_T), against the mean of the centres (feasible)."""
    beta, gamma, phi = 2.0, 0.5, Exponential(0.25)
    learner = ofw_tvc.OFWTVC([1.0, 0.0], BALL.lmo, 2.0, 40, 2.0, beta, gamma, 0.25, 1.0)
    t = np.arange(1, 41)
    centres, offsets = np.stack([np.cos(t), np.sin(2 * t)], axis=1), 0.3 + 0.2 * np.sin(1.3 * t)
    best = centres.mean(axis=0)
    assert np.max(best @ DG - offsets) <= 0.0
    left = regret = 0.0
    for centre, offset in zip(centres, offsets, strict=True):
        x = learner.x
        g = x @ DG - offset
        difference = 0.5 * np.sum((x - centre) ** 2) - 0.5 * np.sum((best - centre) ** 2)
        w = learner.step(x - centre, g, DG)["w"]
        left += gamma * beta * difference + w * beta * max(g, 0.0)
        regret += difference
    right = gamma * beta * regret + phi.value(beta * learner.Q)
    np.testing.assert_allclose([left, right], [2405.4160, 2004.4947], atol=6e-5)
    np.testing.assert_allclose(learner.Q, 15.186721, atol=6e-7)
