"""IPS, SNIPS and doubly robust estimates, an event at a time, from the formulas of the papers."""


def evaluate(action, reward, propensity, policy, model):
    n = len(action)
    ips = weight_sum = dr = 0.0
    for i in range(n):
        weight = policy[i][action[i]] / propensity[i]
        ips += weight * reward[i]
        weight_sum += weight
        direct = sum(policy[i][k] * model[i][k] for k in range(len(policy[i])))
        dr += direct + weight * (reward[i] - model[i][action[i]])
    return {"IPS": ips / n, "SNIPS": ips / weight_sum, "DR": dr / n}
