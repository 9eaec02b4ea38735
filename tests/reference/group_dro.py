"""Group DRO (`smd`, `online`) in plain NumPy: weights kept as weights, every iterate kept, averages at the end."""

import numpy as np


def logistic(w, x, y):
    """Loss and gradient of one row."""
    v = -y * float(x @ w)
    return float(np.logaddexp(v, 0.0)), -y * x / (1.0 + np.exp(-v))


def into_ball(w, radius):
    norm = float(np.sqrt(np.sum(w**2)))
    return w if norm <= radius else w * (radius / norm)


def multiplicative(q, exponent):
    p = q * np.exp(exponent - np.max(exponent))
    return p / np.sum(p)


def inverse_cdf(q, u):
    return int(min(np.searchsorted(np.cumsum(q), u, side="right"), len(q) - 1))


def smd_m(x, y, step_w, step_q, radius, w=None, q=None):
    """Algorithm 1 on rows x[t, i], y[t, i]; returns w_1..w_{T+1} and q_1..q_{T+1}."""
    horizon, m, d = x.shape
    ws, qs = [np.zeros(d) if w is None else w], [np.full(m, 1.0 / m) if q is None else q]
    for t in range(horizon):
        w, q = ws[-1], qs[-1]
        gradient, losses = np.zeros(d), np.zeros(m)
        for i in range(m):
            losses[i], row = logistic(w, x[t, i], y[t, i])
            gradient += q[i] * row
        ws.append(into_ball(w - step_w * gradient, radius))
        qs.append(multiplicative(q, step_q * losses))
    return np.array(ws), np.array(qs)


def online_1(x, y, u, step_w, step_q, gamma, radius, w=None, q=None, clip=False):
    """Algorithm 2; u[t] makes i_t, whose row x[t, i_t], y[t, i_t] is used; returns iterates and indices."""
    horizon, m, d = x.shape
    ws, qs, chosen = [np.zeros(d) if w is None else w], [np.full(m, 1.0 / m) if q is None else q], []
    for t in range(horizon):
        w, q = ws[-1], qs[-1]
        i = inverse_cdf(q, u[t])
        loss, gradient = logistic(w, x[t, i], y[t, i])
        estimate = np.zeros(m)
        estimate[i] = (max(1.0 - loss, 0.0) if clip else 1.0 - loss) / (q[i] + gamma)
        ws.append(into_ball(w - step_w * gradient, radius))
        qs.append(multiplicative(q, -step_q * estimate))
        chosen.append(i)
    return np.array(ws), np.array(qs), np.array(chosen)


def running_means(iterates):
    """After each round, the mean of the iterates played so far (the newest one is not played yet)."""
    played = iterates[:-1]
    return np.array([np.mean(played[: t + 1], axis=0) for t in range(len(played))])


def golden_inputs(horizon=30, m=4, d=3):
    """The deterministic rows and uniforms of the golden traces: x [T, m, d], y [T, m], u [T, m]."""
    t, i, j = np.ogrid[1 : horizon + 1, 0:m, 0:d]
    x = np.sin(t + 2 * i + 3 * j)
    y = np.where(np.sin(2 * t[..., 0] + 3 * i[..., 0]) >= 0, 1.0, -1.0)
    u = (0.618034 * (4 * t[..., 0] + i[..., 0])) % 1.0
    return x, y, u


# Golden averages after 30 rounds: ball of radius 0.25, raw steps (0.4, 1.5), gamma 0.3.
GOLDEN_STEPS = {"step_w": 0.4, "step_q": 1.5, "radius": 0.25}
GOLDEN = {
    "smd": ([-0.03350128834, 0.02750571958, -0.02095962365], [0.10312579874, 0.14774850693, 0.36747259137]),
    "online": ([0.11179168665, -0.04056594180, -0.03147173064], [0.17489264176, 0.30388100883, 0.26396031522]),
}

# Hand cases: x = (1, 0), (0, 1), (1, 1), y = +1, -1, +1, from w = 0 and uniform q, steps 0.5 and 1, no ball.
HAND_X = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
HAND_Y = np.array([1.0, -1.0, 1.0])
