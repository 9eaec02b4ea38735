"""Every method of the group-DRO paper in plain NumPy, fed by recorded rows and uniforms.

`smd` is SMD(m) and, with k > 1, ATkRO(m); `online` is Online(1) and, with k > 1, the update of ATkRO(1)_a; `sagawa` is
`sagawa_smd`. The anytime forms (`anytime_smd`, `anytime_online`, `anytime_atkro_m`, `anytime_atkro_1`) are the same
with steps that fall: a step is a number or an array [T]. Rows are x [T, m, d], y [T, m]; uniforms u [T, m], of which a
method takes the first that it needs. Weights are kept as weights, every iterate is kept, and averages are taken at the
end.
"""

from typing import NamedTuple

import numpy as np

from tests.reference import dro_weights as weights


class Run(NamedTuple):
    """Iterates (the initial one first), their averages after each round, and what was sampled."""

    w: np.ndarray  # [T + 1, d]
    q: np.ndarray  # [T + 1, m]
    mean_w: np.ndarray  # [T, d]
    mean_q: np.ndarray  # [T, m]
    samples: np.ndarray  # [T, m]  rows drawn of each group


def logistic(w, x, y):
    """Losses [n] and gradients [n, d] of rows x [n, d] with labels y [n] in {-1, 1}."""
    v = -y * (x @ w)
    return np.logaddexp(v, 0.0), (-y / (1.0 + np.exp(-v)))[:, None] * x


def squared_mean(w, x, y):
    """Example 1: (w - z)^2 on rows z = x [n, 1]."""
    del y
    return np.sum((w - x) ** 2, axis=1), 2.0 * (w - x)


def ball(radius):
    """Projection onto the Euclidean ball."""

    def into(w):
        norm = np.sqrt(np.sum(w**2))
        return w if norm <= radius else w * (radius / norm)

    return into


def interval(low, high):
    return lambda w: np.clip(w, low, high)


def weighted_means(iterates, steps):
    """(20): after each round, the mean of what was played so far weighted by its step."""
    total = np.cumsum(steps)
    sums = np.cumsum(steps[:, None] * iterates[:-1], axis=0)
    plain = np.cumsum(iterates[:-1], axis=0) / np.arange(1, len(steps) + 1)[:, None]
    return np.where(total[:, None] > 0, sums / np.where(total > 0, total, 1.0)[:, None], plain)


def _play(estimate, horizon, m, d, step_w, step_q, project, k, start, q_step=None):
    """Both players move at the same (w_t, q_t) with what `estimate(t, w, q)` returns: gradient, gain, counts."""
    step_w, step_q = (np.broadcast_to(np.asarray(s, float), (horizon,)) for s in (step_w, step_q))
    w, q = (np.zeros(d), np.full(m, 1.0 / m)) if start is None else start
    ws, qs, drawn = [w], [q], []
    for t in range(horizon):
        gradient, gain, counts = estimate(t, ws[-1], qs[-1])
        ws.append(project(ws[-1] - step_w[t] * gradient))
        qs.append((q_step or (lambda q, step: weights.mirror(q, step, k)))(qs[-1], step_q[t] * gain))
        drawn.append(counts)
    ws, qs = np.array(ws), np.array(qs)
    return Run(ws, qs, weighted_means(ws, step_w), weighted_means(qs, step_q), np.array(drawn))


def smd(x, y, step_w, step_q, project, k=1, loss=logistic, start=None):
    """Algorithms 1 and 5, (12)-(16), (51): one row of every group."""
    horizon, m, d = x.shape

    def estimate(t, w, q):
        losses, gradients = loss(w, x[t], y[t])
        return q @ gradients, losses, np.ones(m)

    return _play(estimate, horizon, m, d, step_w, step_q, project, k, start)


def sagawa(x, y, u, step_w, step_q, project, loss=logistic, start=None):
    """SMD(1), (17) with (14), (15): a uniform group, importance m in both gradients."""
    horizon, m, d = x.shape

    def estimate(t, w, q):
        i = weights.uniform_index(m, u[t, 0])
        losses, gradients = loss(w, x[t, i : i + 1], y[t, i : i + 1])
        e = np.eye(m)[i]
        return m * q[i] * gradients[0], m * losses[0] * e, e

    return _play(estimate, horizon, m, d, step_w, step_q, project, 1, start)


def online(x, y, u, step_w, step_q, gamma, project, k=1, clip=False, loss=logistic, start=None):
    """Algorithms 2 and 7, (24)-(26), (60): one group from q_t, Exp3-IX."""
    horizon, m, d = x.shape
    gamma = np.broadcast_to(np.asarray(gamma, float), (horizon,))

    def estimate(t, w, q):
        i = weights.inverse_cdf(q, u[t, 0])
        losses, gradients = loss(w, x[t, i : i + 1], y[t, i : i + 1])
        e = np.eye(m)[i]
        reward = max(1.0 - losses[0], 0.0) if clip else 1.0 - losses[0]
        return gradients[0], -reward / (q[i] + gamma[t]) * e, e

    return _play(estimate, horizon, m, d, step_w, step_q, project, k, start)


def smd_r(x, y, u, budgets, step_w, step_q, project, loss=logistic, start=None):
    """Algorithm 3, (35): group i's row with probability n_i / n_1, no importance weight."""
    horizon, m, d = x.shape
    share = np.asarray(budgets) / np.max(budgets)

    def estimate(t, w, q):
        mask = (u[t] < share).astype(float)
        losses, gradients = loss(w, x[t], y[t])
        return (mask * q) @ gradients, mask * losses, mask

    return _play(estimate, horizon, m, d, step_w, step_q, project, 1, start)


def atkro_k(x, y, u, step_w, step_q, gamma, project, k, sampler=weights.dep_round, loss=logistic, start=None):
    """Algorithm 6, (54)-(57): k groups by DepRound, combinatorial Exp3-IX."""
    horizon, m, d = x.shape

    def estimate(t, w, q):
        chosen = sampler(q, k, u[t, : m - 1])
        losses, gradients = loss(w, x[t, chosen], y[t, chosen])
        estimates, counts = np.zeros(m), np.zeros(m)
        estimates[chosen] = (1.0 - losses) / (k * q[chosen] + gamma)
        counts[chosen] = 1.0
        return np.mean(gradients, axis=0), -estimates, counts

    return _play(estimate, horizon, m, d, step_w, step_q, project, k, start)


def batch_sizes(budgets):
    return np.asarray(budgets) // np.min(budgets)


def budget_weights(budgets):
    """(45): b_i = (1/sqrt(n_m) + 1) / (1/sqrt(n_m) + sqrt(n_m / n_i))."""
    n, least = np.asarray(budgets, float), np.min(budgets)
    return (1 / np.sqrt(least) + 1) / (1 / np.sqrt(least) + np.sqrt(least / n))


class MirrorProx(NamedTuple):
    """Iterates of SMPA_m; means are of the extrapolated points alone."""

    w: np.ndarray  # [T, d]  extrapolated points w_2 .. w_{T+1}
    q: np.ndarray  # [T, m]
    anchor_w: np.ndarray  # [T + 1, d]
    anchor_q: np.ndarray  # [T + 1, m]
    mean_w: np.ndarray  # [T, d]
    mean_q: np.ndarray  # [T, m]
    samples: np.ndarray  # [T, m]


def smpa(x, y, budgets, step_w, step_q, project, loss=logistic):
    """Algorithm 4, (37)-(42): x [T, 2, sum of batch sizes, d], y [T, 2, ...], rows in the order of the groups."""
    sizes, b = batch_sizes(budgets), budget_weights(budgets)
    group, m, d = np.repeat(np.arange(len(sizes)), sizes), len(sizes), x.shape[-1]

    def gradients(w, q, rows, labels):
        losses, slopes = loss(w, rows, labels)
        per_group = np.array([[np.mean(losses[group == i]), *np.mean(slopes[group == i], axis=0)] for i in range(m)])
        return (q * b) @ per_group[:, 1:], b * per_group[:, 0]

    anchors, points = [(np.zeros(d), np.full(m, 1.0 / m))], []
    for t in range(len(x)):
        anchor_w, anchor_q = anchors[-1]
        g_w, g_q = gradients(anchor_w, anchor_q, x[t, 0], y[t, 0])
        w, q = project(anchor_w - step_w * g_w), weights.mirror(anchor_q, step_q * g_q)
        points.append((w, q))
        g_w, g_q = gradients(w, q, x[t, 1], y[t, 1])
        anchors.append((project(anchor_w - step_w * g_w), weights.mirror(anchor_q, step_q * g_q)))
    ws, qs = (np.array(part) for part in zip(*points, strict=True))
    anchor_w, anchor_q = (np.array(part) for part in zip(*anchors, strict=True))
    count = np.arange(1, len(x) + 1)[:, None]
    means = (np.cumsum(part, axis=0) / count for part in (ws, qs))
    return MirrorProx(ws, qs, anchor_w, anchor_q, *means, np.tile(2.0 * sizes, (len(x), 1)))


# Comparators that the paper discusses and does not run.


def haghtalab(x, y, block_x, block_y, u, step_w, step_q, project, loss=logistic):
    """Comparator (Haghtalab et al. 2022 v1, (18)): w from one row of a group drawn from q_t; q from a block of one row
    a group, block_x [ceil(T / m), m, d], that serves m rounds, its losses taken at w_t (biased from the third on)."""
    horizon, m, d = x.shape

    def estimate(t, w, q):
        i = weights.inverse_cdf(q, u[t, 0])
        _, gradients = loss(w, x[t, i : i + 1], y[t, i : i + 1])
        losses, _ = loss(w, block_x[t // m], block_y[t // m])
        return gradients[0], losses, np.eye(m)[i] + (t % m == 0)

    return _play(estimate, horizon, m, d, step_w, step_q, project, 1, None)


def soma(x, y, u, step_w, step_q, project, loss=logistic):
    """Comparator (Soma et al. 2022): Online(1) with 1/2-Tsallis entropy for q and the unbiased estimate (1 - l) / q."""
    horizon, m, d = x.shape

    def estimate(t, w, q):
        i = weights.inverse_cdf(q, u[t, 0])
        losses, gradients = loss(w, x[t, i : i + 1], y[t, i : i + 1])
        e = np.eye(m)[i]
        return gradients[0], (1.0 - losses[0]) / q[i] * e, e

    return _play(estimate, horizon, m, d, step_w, step_q, project, 1, None, q_step=weights.tsallis)


# Inputs of the golden traces, and of the hand cases: x = (1, 0), (0, 1), (1, 1), y = +1, -1, +1.

HAND_X = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
HAND_Y = np.array([1.0, -1.0, 1.0])


def golden_rows(horizon=30, m=4, d=3):
    """x [T, m, d], y [T, m], u [T, m]."""
    t, i, j = np.ogrid[1 : horizon + 1, 0:m, 0:d]
    x = np.sin(t + 2 * i + 3 * j)
    y = np.where(np.sin(2 * t[..., 0] + 3 * i[..., 0]) >= 0, 1.0, -1.0)
    u = (0.618034 * (4 * t[..., 0] + i[..., 0])) % 1.0
    return x, y, u


def golden_batches(horizon=30, rows=5, d=3):
    """SMPA_m's two batches a round: x [T, 2, 5, d], y [T, 2, 5]."""
    t, h, r, j = np.ogrid[1 : horizon + 1, 0:2, 0:rows, 0:d]
    x = np.sin(t + 2 * r + 3 * j + 5 * h)
    y = np.where(np.sin(2 * t + 3 * r + h)[..., 0] >= 0, 1.0, -1.0)
    return x, y


# Golden averages after 30 rounds, mean_w [3] and the first three of mean_q [4]: ball of radius .25; raw steps: fixed
# (eta_w, eta_q, gamma) = (.4, 1.5, .3), anytime (.8, 4.5, .6) / sqrt(t); k = 3; budgets (4, 3, 2, 1), for SMPA_m
# (2, 1, 1, 1).
GOLDEN = {
    "smd_m": ((-0.03350128834, 0.02750571958, -0.02095962365), (0.10312579874, 0.14774850693, 0.36747259137)),
    "smd_m_a": ((-0.06737035215, 0.06612870651, -0.06356349436), (0.11176264517, 0.13573976816, 0.35608539935)),
    "smd_1": ((-0.06772658028, 0.11202021361, -0.15407176160), (0.06259539243, 0.63031024916, 0.03714079454)),
    "online_1": ((0.11179168665, -0.04056594180, -0.03147173064), (0.17489264176, 0.30388100883, 0.26396031522)),
    "online_1_a": ((0.02750846204, 0.02289977216, -0.07284966726), (0.19186546941, 0.11128746009, 0.36212787430)),
    "atkro_m": ((-0.04467064934, 0.04010327176, -0.03473322692), (0.14107366542, 0.23387455790, 0.31619716537)),
    "atkro_m_a": ((-0.06354329005, 0.06048699611, -0.05622005453), (0.15899589717, 0.22085997611, 0.31460859929)),
    "atkro_k": ((0.01323349789, -0.01001865881, 0.00660329620), (0.15275474998, 0.23153157389, 0.31648291598)),
    "atkro_1_a": ((0.03364672003, 0.04449771443, -0.12175152684), (0.25757711766, 0.18833090075, 0.28624579700)),
    "smd_r": ((-0.01635690856, 0.01054365942, -0.00451937887), (0.86401698523, 0.09353722992, 0.02660185853)),
    "smpa_m": ((0.01573799845, -0.02323742545, 0.03027175521), (0.62789808859, 0.12760773782, 0.14028994892)),
}
