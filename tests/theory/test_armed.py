"""Regrets of K-armed learners: below their bounds, in the order of the papers' figures, equal to other packages'."""

import numpy as np
import pytest

from jaxbandits import compare
from jaxbandits.armed import (
    ETC,
    KLUCB,
    MOSS,
    UCB1,
    UCBV,
    BernoulliArms,
    Exp3,
    Exp3IX,
    NoisyArms,
    SwitchingArms,
    ThompsonBeta,
    TsallisINF,
)

LOW = np.array([0.1, *[0.05] * 3, *[0.02] * 3, *[0.01] * 3])  # Garivier & Cappe 2011, Figure 2


def finals(learners, env, horizon, seeds, metric="regret"):
    """Mean and standard error of the regret by label."""
    result = compare(learners, env, horizon, seeds, progress=False)
    values = {label: result[label].final(metric) for label in learners}
    return {label: (v.mean(), v.std() / np.sqrt(v.size)) for label, v in values.items()}


def test_ucb1_has_the_regret_that_other_packages_have():
    """61.4 to 61.65 after 1000 rounds, measured with a NumPy loop, river, SMPyBandits and pymab."""
    mean, error = finals({"UCB1": UCB1(n_arms=10)}, BernoulliArms.from_means(LOW), 1000, 4096)["UCB1"]
    assert 61.4 - 5.0 * error < mean < 61.65 + 5.0 * error


@pytest.mark.slow
def test_order_of_figure_2_and_bounds():
    """Garivier & Cappe 2011: KL-UCB below MOSS, UCB-V and UCB1; Thompson sampling is not above it."""
    horizon, gaps = 5000, (LOW.max() - LOW)[1:]
    learners = {
        "UCB1": UCB1(n_arms=10),
        "MOSS": MOSS(n_arms=10, horizon=horizon, noise_scale=0.5),
        "UCB-V": UCBV(n_arms=10),
        "KL-UCB": KLUCB(n_arms=10),
        "Thompson": ThompsonBeta(n_arms=10),
    }
    found = finals(learners, BernoulliArms.from_means(LOW), horizon, 64)
    for label in ("UCB1", "MOSS", "UCB-V"):
        assert found["KL-UCB"][0] + 5.0 * found["KL-UCB"][1] < found[label][0] - 5.0 * found[label][1], label
    assert found["Thompson"][0] < found["KL-UCB"][0]
    assert found["UCB1"][0] < 8.0 * np.sum(np.log(horizon) / gaps) + (1.0 + np.pi**2 / 3.0) * gaps.sum()
    assert found["MOSS"][0] < 39.0 * np.sqrt(10 * horizon) + gaps.sum()


@pytest.mark.parametrize("gap", [0.1, 0.2, 0.5, 1.0])
def test_etc_below_its_bound(gap):
    """The one that Lattimore & Szepesvari derive from m of Eq. (6.5), at n = 1000."""
    n = 1000
    bound = min(n * gap, gap + 4.0 / gap * (1.0 + max(0.0, np.log(n * gap**2 / 4.0))))
    env = NoisyArms.from_means([0.0, -gap])
    mean, error = finals({"ETC": ETC.theory(gap=gap, horizon=n)}, env, n, 2048)["ETC"]
    assert mean < bound + 5.0 * error


@pytest.mark.slow
def test_adversarial_rewards():
    """Bounds of Exp3 and Tsallis-INF; Tsallis-INF below Exp3 and UCB1 where the adversary keeps the gaps."""
    n, n_arms = 10_000, 4
    env = SwitchingArms.constrained(n_arms=n_arms, horizon=n, gap=0.1)
    learners = {
        "Exp3": Exp3.theory(n_arms=n_arms, horizon=n),
        "Exp3-IX": Exp3IX.theory(n_arms=n_arms, horizon=n),
        "Tsallis-INF": TsallisINF(n_arms=n_arms),
        "UCB1": UCB1(n_arms=n_arms),
    }
    found = finals(learners, env, n, 128, "fixed_arm_regret")
    assert found["Exp3"][0] < 2.0 * np.sqrt(n * n_arms * np.log(n_arms))
    assert found["Tsallis-INF"][0] < 4.0 * np.sqrt(n_arms * n)
    for label in ("Exp3", "UCB1"):
        assert found["Tsallis-INF"][0] + 5.0 * found["Tsallis-INF"][1] < found[label][0] - 3.0 * found[label][1], label
