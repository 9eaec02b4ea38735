"""Off-policy estimates, an event at a time, from the formulas of the papers."""

import math


def evaluate(action, reward, propensity, policy, model, largest):
    n = len(action)
    sums = dict.fromkeys(("IPS", "clipped IPS", "DR", "switch-DR"), 0.0)
    weight_sum = 0.0
    for i in range(n):
        weight = policy[i][action[i]] / propensity[i]
        weight_sum += weight
        direct = sum(policy[i][k] * model[i][k] for k in range(len(policy[i])))
        rest = weight * (reward[i] - model[i][action[i]])
        sums["IPS"] += weight * reward[i]
        sums["clipped IPS"] += min(weight, largest) * reward[i]
        sums["DR"] += direct + rest
        sums["switch-DR"] += direct + (rest if weight <= largest else 0.0)
    return {name: total / n for name, total in sums.items()} | {"SNIPS": sums["IPS"] / weight_sum}


def bernstein(values, length, level):
    """Empirical-Bernstein interval of a mean of values in an interval of this length (Maurer & Pontil, Theorem 4)."""
    n = len(values)
    mean = sum(values) / n
    variance = sum((v - w) ** 2 for v in values for w in values) / (2.0 * n * (n - 1))
    logarithm = math.log(2.0 / ((1.0 - level) / 2.0))
    half = math.sqrt(2.0 * variance * logarithm / n) + 7.0 * length * logarithm / (3.0 * (n - 1))
    return mean - half, mean + half


def replay(arms_of, index, reward, kept, learner):
    """Rewards of the events that count: the learner plays the logged arm, and the event is kept."""
    counted = []
    for i in range(len(index)):
        if kept[i] and learner.choose(arms_of(i)) == index[i]:
            learner.learn(arms_of(i)[index[i]], reward[i])
            counted.append(reward[i])
    return counted
