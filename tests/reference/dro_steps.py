"""Step sizes and bounds of the theorems, as printed; D^2 = diameter_sq, G = lipschitz, t = rounds finished so far."""

import math


def theorem_1(m, horizon, diameter_sq, lipschitz, k=1):
    """SMD(m); with k, Theorem 12 for ATkRO(m): (eta_w, eta_q)."""
    entropy = math.log(m / k)
    r = math.sqrt(8 / (5 * horizon * (diameter_sq * lipschitz**2 + entropy)))
    return diameter_sq * r, entropy * r


def equation_19(m, t, diameter_sq, lipschitz, k=1):
    """SMD(m)_a; with k, (52) for ATkRO(m)_a."""
    entropy = math.log(m / k)
    r = math.sqrt(2 / (t * (diameter_sq * lipschitz**2 + entropy)))
    return diameter_sq * r, entropy * r


def theorem_5(m, horizon, diameter_sq, lipschitz, k=1):
    """Online(1); with k, Theorem 15 for ATkRO(k): (eta_w, eta_q, gamma)."""
    step_q = math.sqrt(k * math.log(m) / (m * horizon))
    return 2 * math.sqrt(diameter_sq) / (lipschitz * math.sqrt(5 * horizon)), step_q, step_q / 2


def equation_30(m, t, diameter_sq, lipschitz):
    """Online(1)_a and ATkRO(1)_a."""
    step_q = math.sqrt(math.log(m) / (m * t))
    return math.sqrt(diameter_sq) / (lipschitz * math.sqrt(t)), step_q, step_q / 2


def sagawa(m, horizon, diameter_sq, lipschitz):
    """SMD(1): Theorem 1 with gradients m times as large."""
    step_w, step_q = theorem_1(m, horizon, diameter_sq, lipschitz)
    return step_w / m, step_q / m


def theorem_10(budgets, b, diameter_sq, lipschitz, smoothness, regularity=1.0, constant=1.0):
    """SMPA_m; b are the weights (45), `constant` is the theorem's unspecified c."""
    m, least = len(budgets), min(budgets)
    b_max, omega = max(b), max(b_i**2 * least / n for b_i, n in zip(b, budgets, strict=True))
    curvature = 2 * math.sqrt(2) * b_max * (diameter_sq * smoothness + diameter_sq * lipschitz * math.sqrt(math.log(m)))
    variance = 2 * constant * omega * (regularity * diameter_sq * lipschitz**2 + math.log(m) ** 2)
    e = min(1 / (math.sqrt(3) * curvature), 2 / math.sqrt(7 * variance * least))
    return 2 * diameter_sq * e, 2 * e * math.log(m)


# Bounds on the expected duality gap.


def bound_theorem_1(m, horizon, diameter_sq, lipschitz, k=1):
    return 2 * math.sqrt(10 * (diameter_sq * lipschitz**2 + math.log(m / k)) / horizon)


def bound_theorem_2(m, t, diameter_sq, lipschitz, k=1):
    scale = math.sqrt(diameter_sq * lipschitz**2 + math.log(m / k))
    return scale * (5 + 3 * math.log(t)) / (math.sqrt(2) * (math.sqrt(t + 1) - 1))


def bound_theorem_4(m, horizon, diameter_sq, lipschitz):
    d_g, log_m = math.sqrt(diameter_sq) * lipschitz, math.log(m)
    first = 2 * d_g * math.sqrt(5 / horizon) + 3 * math.sqrt(m * log_m / horizon) + math.sqrt(1 / (2 * horizon))
    return first + 3 * (math.sqrt(m / (horizon * log_m)) + math.sqrt(1 / (2 * horizon)) + 1 / horizon)


def bound_theorem_8(m, t, diameter_sq, lipschitz):
    d_g, log_m, log_t = math.sqrt(diameter_sq) * lipschitz, math.log(m), math.log(t)
    weights = (3 + log_t) * math.sqrt(m * log_m) + 6 * math.sqrt(m / log_m) + 4 * math.sqrt((1 + log_t) / 2)
    return (weights + d_g * (5 + 3 * log_t)) / (2 * (math.sqrt(t + 1) - 1))


def bound_theorem_14(m, horizon, diameter_sq, lipschitz, k):
    d_g, log_m = math.sqrt(diameter_sq) * lipschitz, math.log(m)
    first = 2 * d_g * math.sqrt(5 / horizon) + 3 * math.sqrt(1 / (2 * horizon))
    second = 2 * math.sqrt(m / (k * horizon * log_m)) + 3 * math.sqrt(m * log_m / (k * horizon))
    return first + second + m * (2 + log_m) / (k * horizon)
