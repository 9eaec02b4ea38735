"""Bounds in group DRO with losses in [0, 1] (Zhang et al., JMLR, arXiv:2302.09267).

The functions for duality gaps and for the regrets of the players return two bounds after `rounds` rounds with m groups:
the first is a bound on the expected value, and the second holds with probability 1 - delta. `product` is D^2 G^2, where
D^2 is the range of ||w - w_1||^2 / 2 over W and G bounds the norms of the gradients; k is the number of largest risks
that ATkRO averages. Regrets are means over the rounds: for fixed steps they are the printed sums divided by T, and for
anytime forms they are the means of (31). Whole numbers m >= 1 and 1 <= k <= m are required, and m >= 2 for weights that
are learned from single samples, since their bounds are infinite for m = 1.

For unequal budgets n_i, `theorem_9` and `theorem_10` return a bound on the risk of each group.
"""

import math
from collections.abc import Sequence

import numpy as np

from jaxbandits.base import ranges


def theorem_1(m: int, rounds: float, k: int = 1, *, product: float, delta: float) -> tuple[float, float]:
    """Return the bounds on the duality gap of SMD(m), or for k > 1 of ATkRO(m) (Theorem 12).

    The first bound is on the expected value, and the second bound holds with probability 1 - delta.
    """
    _check_groups(m, k)
    factor = math.sqrt(10.0 * (product + math.log(m / k)) / rounds)
    return 2.0 * factor, (8.0 + 2.0 * math.log(2.0 / delta)) * factor


def theorem_2(m: int, rounds: float, k: int = 1, *, product: float, delta: float) -> tuple[float, float]:
    """Return the bounds on the duality gap of SMD(m)_a, or for k > 1 of ATkRO(m)_a (Theorem 13).

    The first bound is on the expected value, and the second bound holds with probability 1 - delta.
    """
    _check_groups(m, k)
    log_t, certain = math.log(rounds), math.log(2.0 / delta)
    factor = math.sqrt(product + math.log(m / k)) / (math.sqrt(2.0) * (math.sqrt(rounds + 1.0) - 1.0))
    return factor * (5.0 + 3.0 * log_t), factor * (9.0 + 11.0 * certain + 7.0 * log_t + 3.0 * certain * log_t)


def theorem_5(m: int, rounds: float, k: int = 1, *, product: float, delta: float) -> tuple[float, float]:
    """Return the bounds on the duality gap of Online(1), which do not depend on k.

    The first bound is on the expected value, and the second bound holds with probability 1 - delta.
    """
    del k
    _check_groups(m, least=2)
    log_m, d_g, noise = math.log(m), math.sqrt(product), math.sqrt(1.0 / (2.0 * rounds))
    players = 3.0 * math.sqrt(m * log_m / rounds) + noise
    tail = math.sqrt(m / (rounds * log_m)) + noise + 1.0 / rounds
    model = math.sqrt(1.0 / rounds) * (2.0 * math.sqrt(5.0) + 8.0 * math.sqrt(math.log(2.0 / delta)))
    mean = 2.0 * d_g * math.sqrt(5.0 / rounds) + players + 3.0 * tail
    return mean, d_g * model + players + tail * math.log(6.0 / delta)


def theorem_8(m: int, rounds: float, k: int = 1, *, product: float, delta: float) -> tuple[float, float]:
    """Return the bounds on the duality gap of Online(1)_a and of ATkRO(1)_a (Theorem 16), which do not depend on k.

    The first bound is on the expected value, and the second bound holds with probability 1 - delta.
    """
    del k
    _check_groups(m, least=2)
    log_m, log_t, d_g = math.log(m), math.log(rounds), math.sqrt(product)
    weights, ratio, noise = (3.0 + log_t) * math.sqrt(m * log_m), math.sqrt(m / log_m), math.sqrt((1.0 + log_t) / 2.0)
    factor = 2.0 * (math.sqrt(rounds + 1.0) - 1.0)
    mean = weights + 6.0 * ratio + 4.0 * noise + d_g * (5.0 + 3.0 * log_t)
    likely = weights + (2.0 * ratio + noise) * math.log(6.0 / delta) + noise
    return mean / factor, (likely + d_g * (9.0 + 7.0 * log_t + 4.0 * math.log(2.0 / delta))) / factor


def theorem_15(m: int, rounds: float, k: int = 1, *, product: float, delta: float) -> tuple[float, float]:
    """Return the bounds on the duality gap of ATkRO(k); the part for the weights is Theorem 14.

    The first bound is on the expected value, and the second bound holds with probability 1 - delta.
    """
    _check_groups(m, k, least=2)
    log_m, d_g, noise = math.log(m), math.sqrt(product), math.sqrt(1.0 / (2.0 * rounds))
    ratio, entropy, each = math.sqrt(m / (k * rounds * log_m)), math.sqrt(m * log_m / (k * rounds)), m / (k * rounds)
    mean = 2.0 * d_g * math.sqrt(5.0 / rounds) + 3.0 * noise + 2.0 * ratio + 3.0 * entropy + each * (2.0 + log_m)
    model = math.sqrt(1.0 / rounds) * (2.0 * math.sqrt(5.0) + 8.0 * math.sqrt(math.log(2.0 / delta)))
    likely = (noise + each + ratio) * math.log(4.0 / delta) + 3.0 * entropy + each * log_m
    return mean, d_g * model + noise + likely


def theorem_3(m: int, rounds: float, k: int = 1, *, product: float, delta: float) -> tuple[float, float]:
    """Return the bounds on the regret of the first player (the model) of Online(1) and of ATkRO(k), divided by T.

    The first bound is on the expected value, and the second bound holds with probability 1 - delta.
    """
    del m, k
    factor = math.sqrt(product / rounds)
    return 2.0 * math.sqrt(5.0) * factor, factor * (2.0 * math.sqrt(5.0) + 8.0 * math.sqrt(math.log(1.0 / delta)))


def theorem_4(m: int, rounds: float, k: int = 1, *, product: float, delta: float) -> tuple[float, float]:
    """Return the bounds on the regret of the second player (the weights) of Online(1), divided by T.

    The first bound is on the expected value, and the second bound holds with probability 1 - delta.
    """
    del k, product
    _check_groups(m, least=2)
    log_m = math.log(m)
    first = 3.0 * math.sqrt(m * rounds * log_m) + math.sqrt(rounds / 2.0)
    tail = math.sqrt(m * rounds / log_m) + math.sqrt(rounds / 2.0) + 1.0
    return (first + 3.0 * tail) / rounds, (first + tail * math.log(3.0 / delta)) / rounds


def theorem_6(m: int, rounds: float, k: int = 1, *, product: float, delta: float) -> tuple[float, float]:
    """Return the bounds on O_1 of (31), the weighted mean regret of the model of Online(1)_a and of ATkRO(1)_a.

    The first bound is on the expected value, and the second bound holds with probability 1 - delta.
    """
    del m, k
    factor, log_t = math.sqrt(product) / (math.sqrt(rounds + 1.0) - 1.0), math.log(rounds)
    mean, likely = 9.0 / 4.0 + 5.0 / 4.0 * log_t, 17.0 / 4.0 + 13.0 / 4.0 * log_t + 2.0 * math.log(1.0 / delta)
    return factor * mean, factor * likely


def theorem_7(m: int, rounds: float, k: int = 1, *, product: float, delta: float) -> tuple[float, float]:
    """Return the bounds on O_2 of (31), the weighted mean regret of the weights of Online(1)_a.

    The first bound is on the expected value, and the second bound holds with probability 1 - delta.
    """
    del k, product
    _check_groups(m, least=2)
    log_m, log_t = math.log(m), math.log(rounds)
    weights, ratio, noise = (3.0 + log_t) * math.sqrt(m * log_m), math.sqrt(m / log_m), math.sqrt((1.0 + log_t) / 2.0)
    factor = 2.0 * (math.sqrt(rounds + 1.0) - 1.0)
    mean = weights + 6.0 * ratio + 4.0 * noise
    return mean / factor, (weights + (2.0 * ratio + noise) * math.log(3.0 / delta) + noise) / factor


def theorem_14(m: int, rounds: float, k: int = 1, *, product: float, delta: float) -> tuple[float, float]:
    """Return the bounds on the regret of the second player (the weights) of ATkRO(k), divided by T.

    The first bound is on the expected value, and the second bound holds with probability 1 - delta.
    """
    del product
    _check_groups(m, k, least=2)
    log_m, noise, each = math.log(m), math.sqrt(rounds / 2.0), m / k
    ratio, entropy = math.sqrt(m * rounds / (k * log_m)), 3.0 * math.sqrt(m * rounds * log_m / k)
    mean = 3.0 * noise + 2.0 * each + 2.0 * ratio + entropy + each * log_m
    likely = noise + (noise + each + ratio) * math.log(2.0 / delta) + entropy + each * log_m
    return mean / rounds, likely / rounds


def theorem_9(budgets: Sequence[int], *, product: float, delta: float) -> np.ndarray:
    """Return the bounds `[m]` of SMD_r on $R_i - (n_1 / n_i) p*$, which hold jointly with probability 1 - delta."""
    n, m = np.asarray(budgets, np.float64), len(budgets)
    mu = 8.0 + 2.0 * math.log(2.0 / delta)
    return mu * math.sqrt(10.0 * (product + math.log(m)) * n.max()) / n


def theorem_10(
    budgets: Sequence[int],
    weights: Sequence[float] | np.ndarray,
    *,
    diameter_sq: float,
    lipschitz: float,
    smoothness: float,
    delta: float,
    regularity: float = 1.0,
    constant: float = 1.0,
) -> np.ndarray:
    """Return the bounds `[m]` of SMPA_m on $R_i - p* / b_i$, which hold jointly with probability 1 - delta.

    Args:
      budgets: `[m]` n_i, number of samples of each group.
      weights: `[m]` b_i, the factors of the risks (p_i in the paper).
      diameter_sq: D^2.
      lipschitz: G.
      smoothness: L, smoothness of the risks.
      delta: failure probability.
      regularity: kappa, regularity of the dual norm.
      constant: c, an absolute constant that the theorem does not specify.
    """
    n, b, log_m = np.asarray(budgets, np.float64), np.asarray(weights, np.float64), math.log(len(budgets))
    least = n.min()
    smooth = 2.0 * math.sqrt(2.0) * b.max() * diameter_sq * (smoothness + lipschitz * math.sqrt(log_m))  # L~
    largest = np.max(b * b * least / n)  # omega_max
    variance = 2.0 * constant * largest * (regularity * diameter_sq * lipschitz**2 + log_m**2)  # sigma^2
    log_delta = math.log(2.0 / delta)
    factor = 14.0 * math.sqrt(2.0 / 3.0) + 7.0 * math.sqrt(3.0 * log_delta) + 14.0 / least * log_delta
    return (7.0 * smooth / least + math.sqrt(variance / least) * factor) / b


def _check_groups(m: int, k: int = 1, least: int = 1) -> None:
    """Raise InputError unless m is a whole number of at least `least`, and k is one from 1 to m."""
    ranges.integer("m", m, f"[{least}, inf)")
    ranges.integer("k", k, f"[1, {m}]")
