"""Bounds for K arms: against numbers by hand, and against each other."""

import numpy as np
import pytest
import scipy.stats as st

from jaxbandits.base.errors import InputError
from jaxbandits.duels import DuelingArms
from jaxbandits.theory import classics


def test_the_constant_of_lai_and_robbins():
    assert classics.divergence(0.0, 0.5) == pytest.approx(np.log(2.0))
    assert classics.divergence(0.25, 0.5) == pytest.approx(0.25 * np.log(0.5) + 0.75 * np.log(1.5))
    assert classics.divergence(1.0, 1.0) == 0.0 and classics.divergence(0.5, 0.0) == np.inf
    assert classics.lai_robbins([1.0, 0.5]) == 0.0
    assert classics.lai_robbins([0.5, 0.25, 0.5]) == pytest.approx(0.25 / classics.divergence(0.25, 0.5))
    assert classics.lai_robbins([0.9, 0.8]) == pytest.approx(2.252, abs=5e-4)  # Garivier & Cappe, Figure 1


@pytest.mark.parametrize("gap", [1e-4, 1e-7, 1e-9])
def test_constants_of_close_means_do_not_cancel(gap):
    """kl(p, p - gap) is 2 gap^2 for p = 1/2, up to terms of the order gap^3."""
    means = [0.5, 0.5 - gap]
    assert classics.lai_robbins(means) == pytest.approx(0.5 / gap, rel=1e-6)
    w, time = classics.optimal_proportions(means)
    assert time == pytest.approx(2.0 / gap**2, rel=1e-6)
    np.testing.assert_allclose(w, 0.5, rtol=1e-4)


def test_the_regret_of_etc_is_the_probability_of_the_wrong_arm():
    gap, n, m = 0.3, 1000, 80
    wrong = st.norm.cdf(-gap * np.sqrt(m / 2))
    assert classics.etc_regret(gap, n, m) == pytest.approx(gap * (m + (n - 2 * m) * wrong))
    assert classics.etc_bound(0.01, n) == 10.0  # n D
    assert classics.etc_bound(1.0, n) == pytest.approx(1 + 4 * (1 + np.log(250.0)))
    assert classics.ucb_bound(0.5, n) == pytest.approx(1.5 + 32 * np.log(1000.0))


@pytest.mark.parametrize("means", [[0.5, 0.45, 0.43, 0.4], [0.2, 0.6], [0.5, 0.0], [0.0, 0.7, 0.0], [0.999, 0.0]])
def test_no_proportions_are_better_than_the_optimal_ones(means, rng):
    """T*^-1 is the largest of the least transport costs; at w* those of all arms are equal."""

    def costs(w):
        best = int(np.argmax(means))
        found = []
        for b in range(len(means)):
            if b != best:
                middle = (w[best] * means[best] + w[b] * means[b]) / (w[best] + w[b])
                found.append(
                    w[best] * classics.divergence(means[best], middle) + w[b] * classics.divergence(means[b], middle)
                )
        return found

    w, time = classics.optimal_proportions(means)
    assert w.sum() == pytest.approx(1.0)
    np.testing.assert_allclose(costs(w), 1.0 / time, rtol=1e-9)
    for other in rng.dirichlet(np.ones(len(means)), size=50):
        assert min(costs(other)) <= 1.0 / time
    wanted = time * classics.divergence(0.1, 0.9)
    assert classics.least_stopping_time(means, 0.1) == pytest.approx(wanted)


def test_an_error_that_guessing_has_needs_no_plays():
    """A coin that picks one of two arms errs with probability 1/2, after no play at all."""
    assert classics.least_stopping_time([0.6, 0.4], 0.49) > 0.0
    assert [classics.least_stopping_time([0.6, 0.4], delta) for delta in (0.5, 0.51, 0.9)] == [0.0] * 3


def test_bounds_outside_of_their_range_are_refused():
    for bound in (classics.etc_bound, classics.ucb_bound):
        for gap in (0.0, -0.5, np.nan):
            with pytest.raises(InputError, match=r"gap must lie in \(0, inf\)"):
                bound(gap, 100)
        with pytest.raises(InputError, match=r"horizon must be a whole number in \[1, inf\), got 0"):
            bound(0.5, 0)
    with pytest.raises(InputError, match=r"delta must lie in \(0, 1\), got 1.0"):
        classics.least_stopping_time([0.5, 0.4], 1.0)
    assert classics.etc_regret(0.5, 40, 20) == pytest.approx(10.0)
    with pytest.raises(InputError, match="horizon must be at least 40"):  # the formula would give more than 39 D
        classics.etc_regret(0.5, 39, 20)
    with pytest.raises(InputError, match="Condorcet winner"):
        classics.duel_constant(np.array([[0.5, 0.6, 0.4], [0.4, 0.5, 0.6], [0.6, 0.4, 0.5]]))


def test_proportions_need_a_unique_best_arm():
    with pytest.raises(InputError, match="one largest entry"):
        classics.optimal_proportions([0.5, 0.2, 0.5])
    with pytest.raises(InputError, match="at least one other"):
        classics.optimal_proportions([0.5])
    _, time = classics.optimal_proportions([1.0, 0.0])  # by symmetry each arm has half of the plays
    assert time == pytest.approx(1.0 / np.log(2.0))


@pytest.mark.parametrize(("best", "other"), [
    (0.3, 0.0), (0.02, 0.0), (1e-5, 0.0), (1e-12, 0.0), (0.3, 1e-300), (0.02, 1e-200),
])  # fmt: skip
def test_proportions_of_arms_whose_other_means_are_nearly_zero(best, other):
    """Against a fine grid: the rate of both arms is w kl(mu, m) + (1 - w) kl(0, m) for m = w mu."""
    w = np.linspace(0.3, 0.5, 20_001)
    rate = [s * classics.divergence(best, s * best) + (1.0 - s) * classics.divergence(0.0, s * best) for s in w]
    found, time = classics.optimal_proportions([best, other])
    assert found[0] == pytest.approx(w[np.argmax(rate)], abs=2e-5)
    assert time == pytest.approx(1.0 / np.max(rate), rel=1e-8)


def test_constants_of_numbers_that_are_no_probabilities_are_refused():
    for constant in (classics.lai_robbins, classics.optimal_proportions):
        with pytest.raises(InputError, match=r"means must be finite, but row 1"):
            constant([0.5, np.nan, 0.4])
        with pytest.raises(InputError, match=r"means must lie in \[0, 1\], got 1.5"):
            constant([1.5, 0.4])
    preferences = np.array([[0.5, 0.6, 0.7], [0.4, 0.5, 0.9], [0.3, 0.1, 0.5]])
    with pytest.raises(InputError, match="1/2 on the diagonal"):  # the sum over opponents would contain the arm itself
        classics.duel_constant(preferences - 0.5 * np.eye(3))
    with pytest.raises(InputError, match=r"shape \[K, K\]"):
        classics.duel_constant(preferences[:2])


def test_lower_bounds_of_duels():
    """By hand for three arms, and the constants of the instances of Komiyama et al. and of Wu and Liu."""
    p = np.array([[0.5, 0.6, 0.7], [0.4, 0.5, 0.9], [0.3, 0.1, 0.5]])
    second = 0.05 / classics.divergence(0.4, 0.5)
    third = min(0.1 / classics.divergence(0.3, 0.5), 0.15 / classics.divergence(0.1, 0.5))
    assert classics.duel_constant(p) == pytest.approx(second + third)
    assert classics.duel_constant(p, against_winner=True) == pytest.approx(second + 0.1 / classics.divergence(0.3, 0.5))
    found = [classics.duel_constant(np.asarray(made().preferences)) for made in (
        DuelingArms.arxiv, DuelingArms.arithmetic, DuelingArms.mslr, DuelingArms.cyclic,
    )]  # fmt: skip
    np.testing.assert_allclose(found, [20.73, 12.71, 11.12, 0.82], atol=6e-3)
    cyclic = np.asarray(DuelingArms.cyclic().preferences)
    assert classics.duel_constant(cyclic, against_winner=True) == pytest.approx(7.45, abs=5e-3)
