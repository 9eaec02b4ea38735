"""Bounds on duality gaps in group DRO with losses in [0, 1] (Zhang et al., JMLR, arXiv:2302.09267).

Each function returns two bounds after `rounds` rounds with m groups: on the expected duality gap, and on the gap that
holds with probability 1 - delta. `product` is D^2 G^2, the squared diameter of W times the squared Lipschitz constant;
k is the number of largest risks that ATkRO averages.
"""

import math


def theorem_1(m: int, rounds: float, k: int = 1, *, product: float, delta: float) -> tuple[float, float]:
    """Return the bounds of SMD(m), and of ATkRO(m) (Theorem 12)."""
    factor = math.sqrt(10.0 * (product + math.log(m / k)) / rounds)
    return 2.0 * factor, (8.0 + 2.0 * math.log(2.0 / delta)) * factor


def theorem_2(m: int, rounds: float, k: int = 1, *, product: float, delta: float) -> tuple[float, float]:
    """Return the bounds of SMD(m)_a, and of ATkRO(m)_a (Theorem 13)."""
    log_t, certain = math.log(rounds), math.log(2.0 / delta)
    factor = math.sqrt(product + math.log(m / k)) / (math.sqrt(2.0) * (math.sqrt(rounds + 1.0) - 1.0))
    return factor * (5.0 + 3.0 * log_t), factor * (9.0 + 11.0 * certain + 7.0 * log_t + 3.0 * certain * log_t)


def theorem_5(m: int, rounds: float, k: int = 1, *, product: float, delta: float) -> tuple[float, float]:
    """Return the bounds of Online(1)."""
    del k
    log_m, d_g, noise = math.log(m), math.sqrt(product), math.sqrt(1.0 / (2.0 * rounds))
    players = 3.0 * math.sqrt(m * log_m / rounds) + noise
    tail = math.sqrt(m / (rounds * log_m)) + noise + 1.0 / rounds
    model = math.sqrt(1.0 / rounds) * (2.0 * math.sqrt(5.0) + 8.0 * math.sqrt(math.log(2.0 / delta)))
    mean = 2.0 * d_g * math.sqrt(5.0 / rounds) + players + 3.0 * tail
    return mean, d_g * model + players + tail * math.log(6.0 / delta)


def theorem_8(m: int, rounds: float, k: int = 1, *, product: float, delta: float) -> tuple[float, float]:
    """Return the bounds of Online(1)_a, and of ATkRO(1)_a (Theorem 16), which do not depend on k."""
    del k
    log_m, log_t, d_g = math.log(m), math.log(rounds), math.sqrt(product)
    weights, ratio, noise = (3.0 + log_t) * math.sqrt(m * log_m), math.sqrt(m / log_m), math.sqrt((1.0 + log_t) / 2.0)
    factor = 2.0 * (math.sqrt(rounds + 1.0) - 1.0)
    mean = weights + 6.0 * ratio + 4.0 * noise + d_g * (5.0 + 3.0 * log_t)
    likely = weights + (2.0 * ratio + noise) * math.log(6.0 / delta) + noise
    return mean / factor, (likely + d_g * (9.0 + 7.0 * log_t + 4.0 * math.log(2.0 / delta))) / factor


def theorem_14(m: int, rounds: float, k: int = 1, *, product: float, delta: float) -> tuple[float, float]:
    """Return the bounds of ATkRO(k) (Theorem 15 with the regret of the weights from Theorem 14)."""
    log_m, d_g, noise = math.log(m), math.sqrt(product), math.sqrt(1.0 / (2.0 * rounds))
    ratio, entropy, each = math.sqrt(m / (k * rounds * log_m)), math.sqrt(m * log_m / (k * rounds)), m / (k * rounds)
    mean = 2.0 * d_g * math.sqrt(5.0 / rounds) + 3.0 * noise + 2.0 * ratio + 3.0 * entropy + each * (2.0 + log_m)
    model = math.sqrt(1.0 / rounds) * (2.0 * math.sqrt(5.0) + 8.0 * math.sqrt(math.log(2.0 / delta)))
    likely = (noise + each + ratio) * math.log(4.0 / delta) + 3.0 * entropy + each * log_m
    return mean, d_g * model + noise + likely
