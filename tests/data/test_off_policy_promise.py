"""The promises of `evaluate` on its intervals, over laws, numbers of events and methods (their docstring has them)."""

import warnings
from typing import NamedTuple

import numpy as np
import pytest

from jaxbandits.data import evaluate

LEVEL, STANDARD_ERRORS = 0.95, 4.0


class Law(NamedTuple):
    """Contexts of equal probability: logging policy, mean rewards (Bernoulli) and evaluated policy of each, [X, K]."""

    logging: np.ndarray
    means: np.ndarray
    policy: np.ndarray

    @property
    def value(self):
        return (self.policy * self.means).sum(axis=1).mean()

    @property
    def max_weight(self):
        return (self.policy / self.logging).max()


def law(logging, means, policy):
    return Law(*(np.atleast_2d(np.asarray(part, float)) for part in (logging, means, policy)))


LAWS = {
    "p in .1, .5": law([[0.1, 0.9], [0.5, 0.5]], [[0.8, 0.3], [0.6, 0.4]], [[0.9, 0.1], [0.9, 0.1]]),
    "p = .01": law([0.01, 0.99], [0.5, 0.5], [0.5, 0.5]),
    "rare arm": law([0.05, 0.95], [0.7, 0.3], [1.0, 0.0]),
    "three arms": law([0.1, 0.5, 0.4], [0.9, 0.2, 0.5], [0.8, 0.1, 0.1]),
    "rare reward": law([0.1, 0.9], [0.1, 0.3], [1.0, 0.0]),
    "clicks": law([0.5, 0.5], [0.06, 0.02], [1.0, 0.0]),
    "even": law([0.3, 0.7], [0.9, 0.6], [0.7, 0.3]),
}


def check_coverage(law, n, seed, interval):
    """Return by method whether the interval covers, and whether `evaluate` warned; None where it refused."""
    draws = np.random.default_rng([seed, n])
    context = draws.integers(len(law.logging), size=n)
    action = (draws.random(n)[:, None] > law.logging[context].cumsum(axis=1)).sum(axis=1)
    reward = (draws.random(n) < law.means[context, action]).astype(float)
    policy, propensity = law.policy[context], law.logging[context, action]
    if not policy[np.arange(n), action].any():
        return None
    bounds = {"max_weight": law.max_weight, "reward_range": (0.0, 1.0)} if interval == "bernstein" else {}
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        model = 0.7 * law.means[context] + 0.1
        rows = evaluate(action, reward, propensity, policy, model=model, level=LEVEL, interval=interval, **bounds)
    return {row.method: row.low <= law.value <= row.high for row in rows}, bool(told)


@pytest.mark.parametrize("n", [20, 200])
@pytest.mark.parametrize("name", LAWS)
def test_bernstein_intervals_hold_their_level(name, n):
    """Of any number of events; also where warnings are given."""
    found = [check_coverage(LAWS[name], n, seed, "bernstein") for seed in range(200)]
    for method in ("IPS", "SNIPS", "DR"):
        share = np.mean([hit[0][method] for hit in found if hit is not None])
        assert share >= LEVEL - STANDARD_ERRORS * np.sqrt(LEVEL * (1 - LEVEL) / len(found)), (method, share)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "n"), [("even", 200), ("p in .1, .5", 1000), ("three arms", 1000), ("rare reward", 3000), ("clicks", 1000)]
)
def test_bootstrap_intervals_hold_theirs_where_nothing_is_told(name, n, reps=80):
    """Without a warning, that is with an effective sample size of 50 or more."""
    found = [check_coverage(LAWS[name], n, seed, "bootstrap") for seed in range(reps)]
    quiet = [hits for hits, told in filter(None, found) if not told]
    assert len(quiet) > reps / 2
    for method in ("IPS", "SNIPS", "DR"):
        share, least = np.mean([hits[method] for hits in quiet]), LEVEL - 0.03
        assert share >= least - STANDARD_ERRORS * np.sqrt(least * (1 - least) / len(quiet)), (method, share)


@pytest.mark.slow
def test_large_rewards_that_the_log_rarely_contains_are_not_covered():
    """One reward in 400 is 1,000, so that 61 % of the logs contain none: their docstring says half."""
    covered = []
    for seed in range(60):
        draws = np.random.default_rng(seed)
        reward = (draws.random(200) < 0.3) + 1000.0 * (draws.random(200) < 1 / 400)
        row = evaluate(draws.integers(2, size=200), reward, np.full(200, 0.5), [0.5, 0.5])[0]
        covered.append(row.low <= 0.3 + 2.5 <= row.high)
    assert 0.3 < np.mean(covered) < 0.7


def test_rare_rewards_give_a_warning():
    """One click is expected: intervals of the bootstrap are too short, and so are intervals of no width."""
    rare = law([0.5, 0.5], [0.001, 0.002], [1.0, 0.0])
    found = [check_coverage(rare, 2000, seed, "student") for seed in range(20)]
    assert all(told for _, told in found)
    action = np.arange(200) % 2
    reward = (action == 0) * (np.arange(200) % 20 // 2 / 10 + 0.5)
    with pytest.warns(UserWarning, match=r"0 of the 100 events with a positive weight have a reward other than 0 "):
        rows = evaluate(action, reward, np.full(200, 0.5), [0.0, 1.0])
    assert rows[0].low == rows[0].high == 0.0
    paid = np.where(action == 0, 1.0, 2.0)  # which the model knows: DR is the same in all events
    with pytest.warns(UserWarning, match=r"the interval has width 0 for DR, switch-DR, .* with reward_range"):
        evaluate(action, paid, np.full(200, 0.5), [0.5, 0.5], model=[1.0, 2.0])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        evaluate(action, reward, np.full(200, 0.5), [0.0, 1.0], interval="bernstein", reward_range=(0, 2), max_weight=2)


def test_few_effective_events_give_a_warning():
    """At n = 200, where Student's intervals of these laws cover 0.28 to 0.93, all but a few logs are warned of."""
    for name in ("p = .01", "rare arm", "rare reward"):
        found = [check_coverage(LAWS[name], 200, seed, "student") for seed in range(50)]
        assert np.mean([told for _, told in filter(None, found)]) > 0.9, name
