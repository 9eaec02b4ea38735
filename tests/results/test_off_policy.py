"""Off-policy estimates: against a loop, unbiased, with intervals that cover, and clear about wrong input."""

import numpy as np
import pytest

from jaxbandits import InputError
from jaxbandits.data import evaluate
from tests.reference import off_policy as reference

K = 3


def _log(seed, n):
    """Return a log of a softmax policy, the policy to be evaluated, a biased model, and the true value."""
    draws = np.random.default_rng(seed)
    scores = draws.standard_normal((n, K))
    logging = np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True)
    action = np.array([draws.choice(K, p=p) for p in logging])
    means = 1.0 / (1.0 + np.exp(-scores @ np.array([[1.0, 0.2, 0], [0, -1.0, 0.3], [0.4, 0, 0.5]])))
    reward = (draws.uniform(size=n) < means[np.arange(n), action]).astype(float)
    policy = np.full((n, K), 0.1)
    policy[np.arange(n), means.argmax(axis=1)] = 0.8
    return (action, reward, logging[np.arange(n), action], policy), means + 0.1, (policy * means).sum(axis=1).mean()


def test_estimates_are_those_of_a_loop():
    log, model, _ = _log(0, 300)
    found = {row.method: row.value for row in evaluate(*log, model=model)}
    expected = reference.evaluate(*log, model)
    assert found.keys() == expected.keys()
    for method, value in expected.items():
        assert found[method] == pytest.approx(value, rel=1e-10)


def test_intervals_cover_the_value_of_the_policy():
    """95 % of 200 logs, within four standard errors; the doubly robust interval is the shortest."""
    covered, widths = dict.fromkeys(("IPS", "SNIPS", "DR"), 0), dict.fromkeys(("IPS", "SNIPS", "DR"), 0.0)
    for seed in range(200):
        log, model, truth = _log(seed, 400)
        for row in evaluate(*log, model=model):
            covered[row.method] += row.low <= truth <= row.high
            widths[row.method] += row.high - row.low
    assert all(count >= 200 * 0.95 - 4 * np.sqrt(200 * 0.95 * 0.05) for count in covered.values()), covered
    assert widths["DR"] < widths["IPS"]


def test_the_policy_that_logged_earns_the_mean_of_the_log():
    draws = np.random.default_rng(1)
    policy = np.tile([0.5, 0.3, 0.2], (100, 1))
    action, reward = draws.choice(K, size=100, p=policy[0]), draws.standard_normal(100)
    for row in evaluate(action, reward, policy[0][action], policy):
        assert row.value == pytest.approx(reward.mean()) and row.effective_events == pytest.approx(100)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"action": [0, 3]}, r"whole numbers in \[0, 3\), got 3"),
        ({"reward": [1.0, np.nan]}, r"reward must be finite, but row 1"),
        ({"propensity": [0.0, 0.5]}, r"propensity must lie in \(0, 1\]"),
        ({"propensity": [0.5]}, r"propensity must have one entry for each of the 2 rows"),
        ({"policy": [[0.5, 0.5, 0.5], [1.0, 0.0, 0.0]]}, r"rows of policy must sum to 1, but row 0 .* 1.5"),
        ({"policy": [[0.0, 0.0, 1.0], [0.0, 0.0, 1.0]]}, r"never plays an action of the log"),
        ({"model": [[1.0], [1.0]]}, r"model must have the shape of policy"),
    ],
)
def test_wrong_input_is_one_line(change, message):
    log = {"action": [0, 1], "reward": [1.0, 0.0], "propensity": [0.5, 0.5], "policy": [[0.2, 0.3, 0.5]] * 2}
    with pytest.raises(InputError, match=message):
        evaluate(**(log | change))


def test_actions_may_be_names():
    """Numbered in sorted order; where the log lacks one, columns of the policy cannot be told apart."""
    (action, *rest), _, _ = _log(0, 300)
    names = np.array(["ash", "beech", "cedar"])[action]
    assert list(evaluate(names, *rest)) == list(evaluate(action, *rest))
    assert list(evaluate(list(names), *rest)) == list(evaluate(action, *rest))
    few = np.where(names == "cedar", "ash", names)
    with pytest.raises(InputError, match=r"action names 2 actions \(ash, beech\), but policy has 3 columns"):
        evaluate(few, *rest)
