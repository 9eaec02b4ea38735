"""The maximum-likelihood learners (`glm_ucb`, `rs_glincb`, `ofuglb`, `ofulog_r`) as plain NumPy float64 loops.

Every round is kept, every sum is taken afresh over all of them, V and H are summed and solved. The ball enters an
estimate by its multiplier (Newton without a ball inside Brent's root search), and a maximum over a likelihood set is
SLSQP's, as in the paper's experiments. `shortfall` needs no solver: it bounds how far a point is from that maximum.
"""

import numpy as np
from scipy.optimize import brentq, minimize, nnls

from tests.reference.glb_omd import Family


class Loss:
    """`sum [m(x'th) - r x'th] / g + lam |th|^2 / 2`."""

    def __init__(self, f: Family, X, r, lam=0.0):
        self.f, self.X, self.r, self.lam = f, np.asarray(X, float), np.asarray(r, float), lam

    def value(self, th):
        z = self.X @ th
        return np.sum(self.f.m(z) - self.r * z) / self.f.g + self.lam / 2 * th @ th

    def gradient(self, th):
        return self.X.T @ (self.f.mu(self.X @ th) - self.r) / self.f.g + self.lam * th

    def hessian(self, th):
        slope = np.broadcast_to(self.f.slope(self.X @ th), len(self.r))
        return (self.X.T * slope) @ self.X / self.f.g + self.lam * np.eye(len(th))


def newton(loss, start, largest=np.inf):
    """argmin without a ball; gives up beyond norm `largest`."""
    th = start
    for _ in range(500):
        g = loss.gradient(th)
        p = -np.linalg.lstsq(loss.hessian(th), g, rcond=1e-13)[0]
        step, slack = 1.0, 1e-14 * (1.0 + abs(loss.value(th)))
        while step > 1e-12 and not loss.value(th + step * p) <= loss.value(th) + 1e-4 * step * (g @ p) + slack:
            step /= 2
        th = th + step * p
        if np.linalg.norm(p) <= 1e-14 * (1e-2 + np.linalg.norm(th)) or np.linalg.norm(th) > largest:
            break
    return th


def fit(f, X, r, lam=0.0, S=None):
    """argmin over R^d, or over the ball: the multiplier mu is a further ridge."""
    d = X.shape[1]
    if len(r) == 0:
        return np.zeros(d)
    if S is None:
        return newton(Loss(f, X, r, lam), np.zeros(d))
    free = newton(Loss(f, X, r, lam), np.zeros(d), 10.0 * S)
    if np.linalg.norm(free) <= S:
        return free

    def excess(log_mu):
        return np.linalg.norm(newton(Loss(f, X, r, lam + np.exp(log_mu)), np.zeros(d), 10.0 * S)) - S

    low, high = -40.0, 0.0
    while excess(high) > 0:
        high += 3.0
    mu = np.exp(brentq(excess, low, high, xtol=1e-15, rtol=1e-15))
    return newton(Loss(f, X, r, lam + mu), np.zeros(d))


def maximise(loss, centre, slack, x, S=None):
    """max x'th over {loss <= loss(centre) + slack} and the ball, by SLSQP; the best of three starts."""
    top, best = loss.value(centre), -np.inf
    level = {
        "type": "ineq",
        "fun": lambda th: 1.0 - (loss.value(th) - top) / slack,
        "jac": lambda th: -loss.gradient(th) / slack,
    }
    ball = {"type": "ineq", "fun": lambda th: (1.0 - th @ th / S**2) / 2, "jac": lambda th: -th / S**2}
    constraints = [level] if S is None else [level, ball]
    for start in (0.9 * centre, 0.5 * centre, 0.9 * centre + 0.01 * x):
        found = minimize(
            lambda th: -x @ th, start, jac=lambda th: -x, method="SLSQP", constraints=constraints,
            options={"ftol": 1e-14, "maxiter": 500},
        )  # fmt: skip
        inside = all(c["fun"](found.x) > -1e-9 for c in constraints)
        if inside and np.isfinite(found.fun):
            best = max(best, -found.fun)
    return best


def shortfall(loss, centre, slack, x, th, S=None):
    """Bounds on how far th is from the maximum of x'th: (by how much it may fall short, by how much exceed it).

    For multipliers y >= 0 and the residual `res = x - y1 grad - y2 th` of the stationarity condition, convexity gives
    `max <= x'th + |res| |max - th| + y1 (slack - excess) + y2 (S^2 - |th|^2) / 2`, and a point whose loss exceeds the
    level by e can be pulled towards the centre until it does not, at the price of about y1 e.
    """
    gradient, excess = loss.gradient(th), loss.value(th) - loss.value(centre)
    room = [slack - excess]
    normals = [gradient]
    if S is not None:
        room.append((S**2 - th @ th) / 2)
        normals.append(th)
    scale = [np.linalg.norm(n) + 1e-300 for n in normals]
    # A constraint with room r > 0 costs y r: it enters the least squares as one more equation.
    room, normals, scale = np.array(room), np.array(normals), np.array(scale)
    A = np.vstack([normals.T / scale, np.diag(np.maximum(room, 0.0) / scale)])
    y = nnls(A, np.concatenate([x, np.zeros(len(room))]))[0] / scale
    residual = np.linalg.norm(x - y @ normals)
    reach = S if S is not None else np.linalg.norm(th - centre)
    return residual * 2.0 * reach + y @ np.maximum(room, 0.0), y @ np.maximum(-room, 0.0)


def exact_maximum(loss, centre, slack, x, near, S=None):
    """max x'th in 80 bits: Newton's method on the conditions of optimality, from a point near the maximiser.

    With the constraint on the loss, on the norm, or both active: the first of them whose solution is feasible and has
    multipliers >= 0. Linear systems are solved in float64, residuals are exact.
    """
    L = np.longdouble
    loss = Loss(loss.f, loss.X.astype(L), loss.r.astype(L), L(loss.lam))
    level, x, d = loss.value(centre.astype(L)) + L(slack), x.astype(L), len(x)
    at_level = (lambda th: loss.value(th) - level, loss.gradient, loss.hessian)
    on_sphere = None if S is None else (lambda th: (th @ th - L(S) ** 2) / 2, lambda th: th, lambda th: np.eye(d))
    for active in ((at_level,), (at_level, on_sphere), (on_sphere,)):
        if None in active:
            continue
        th = near.astype(L)
        y = np.linalg.lstsq(np.array([g(th) for _, g, _ in active], float).T, x.astype(float))[0].astype(L)
        with np.errstate(all="ignore"):
            for _ in range(12):
                normals = np.array([g(th) for _, g, _ in active])
                residual = np.concatenate([x - y @ normals, [f(th) for f, _, _ in active]])
                curvature = sum(multiplier * h(th) for multiplier, (_, _, h) in zip(y, active, strict=True))
                system = np.block([[-curvature, -normals.T], [normals, np.zeros((len(y), len(y)))]]).astype(float)
                if not np.isfinite(system).all():
                    break
                step = np.linalg.lstsq(system, -residual.astype(float))[0]
                th, y = th + step[:d], y + step[d:]
        solved = np.isfinite(th.astype(float)).all() and abs(residual).max() < 1e-9 and y.min() > -1e-12
        if (
            solved
            and loss.value(th) <= level + 1e-15 * abs(level)
            and (S is None or th @ th <= L(S) ** 2 * (1 + 1e-15))
        ):
            return x @ th
    return None


class Rounds:
    """What every learner keeps; `t` is the round about to be played, from 1."""

    def __init__(self, f, d, S, delta=0.05):
        self.f, self.d, self.S, self.delta = f, d, S, delta
        self.X, self.r, self.t = np.zeros((0, d)), np.zeros(0), 1

    def update(self, x, r):
        self.X, self.r, self.t = np.vstack([self.X, x]), np.append(self.r, r), self.t + 1


class OFUGLB(Rounds):
    """`name` chooses the Lipschitz constant of the loss: "bernoulli", "poisson", or "data"."""

    def __init__(self, f, d, S, name, delta=0.05):
        super().__init__(f, d, S, delta)
        self.name = name

    def theta(self):
        return fit(self.f, self.X, self.r, 0.0, self.S)

    def beta(self):
        d, n, S = self.d, self.t - 1, self.S
        if self.name == "bernoulli":
            steep = n
        elif self.name == "poisson":
            steep = np.exp(S) * n + np.log(d / self.delta)
        else:
            steep = sum(max(abs(self.f.mu(S) - r), abs(self.f.mu(-S) - r)) for r in self.r) / self.f.g
        c = min(1.0, d / (2 * S * steep)) if steep > 0 else 1.0  # the minimiser of d ln(1/c) + 2 S steep c
        return np.sqrt(np.log(1 / self.delta) + d * np.log(1 / c) + 2 * S * steep * c)

    def loss(self):
        return Loss(self.f, self.X, self.r)


class OFULogR(Rounds):
    def lam(self):
        return self.d * np.log(1 + self.t)

    def theta(self):
        return fit(self.f, self.X, self.r, self.lam())

    def beta(self):
        lam, d = self.lam(), self.d
        gam = np.sqrt(lam) * (self.S + 0.5)
        gam += d / np.sqrt(lam) * np.log(4 / self.delta * (1 + self.t / (16 * d * lam)))
        return gam + gam**2 / np.sqrt(lam)

    def loss(self):
        return Loss(self.f, self.X, self.r, self.lam())


class GLMUCB(Rounds):
    def __init__(self, f, d, S, radius="filippi", T=None, R_max=1.0, R_sub=1.0, delta=0.05):
        super().__init__(f, d, S, delta)
        self.radius, self.T, self.R_max, self.R_sub = radius, T, R_max, R_sub
        ends = np.broadcast_to(f.slope(np.linspace(-S, S, 100_001)), 100_001)
        self.ratio = ends.max() / ends.min()  # C_mu / c_mu

    def lam(self):
        return self.d * np.log(1 + self.t)

    def theta(self):
        return fit(self.f, self.X, self.r, self.lam(), self.S)

    def gram(self):
        return self.lam() * np.eye(self.d) + self.X.T @ self.X

    def beta(self):
        lam, d = self.lam(), self.d
        if self.radius == "filippi":
            kappa0 = np.sqrt(3 + 2 * np.log(1 + 2 / lam))
            spread = 2 * d * np.log(max(self.t, 2)) * np.log(2 * d * self.T / self.delta)
            return 2 * self.ratio * kappa0 * self.R_max * np.sqrt(spread)
        growth = np.linalg.slogdet(self.gram())[1] - d * np.log(lam)
        return self.ratio * self.R_sub * np.sqrt(2 * np.log(1 / self.delta) + growth) + np.sqrt(lam) * self.S

    def scores(self, X):
        widths = np.sqrt(np.einsum("kd,kd->k", X, np.linalg.solve(self.gram(), X.T).T))
        return self.f.mu(X @ self.theta()) + self.beta() * widths


class RSGLinCB(Rounds):
    """Algorithm 2 in its own order: the determinant is looked at when a round that is not warm-up begins."""

    def __init__(self, f, d, S, T, R=1.0, kappa=1.0, lam=None, threshold=None, ratio=2.0, gamma=1.0, beta=1.0,
                 centre="late", reuse=False, delta=0.05, discount=np.e):  # fmt: skip
        super().__init__(f, d, S, delta)
        log_term = d * np.log(T / delta)
        self.gamma, self.beta = gamma * 25 * R * S * np.sqrt(log_term), beta * 150 * np.sqrt(log_term)
        self.lam = log_term / R**2 if lam is None else lam
        self.kappa, self.ratio, self.centre, self.reuse, self.discount = kappa, ratio, centre, reuse, discount
        self.threshold = 1 / (self.gamma**2 * kappa * R**2) if threshold is None else threshold
        self.V, self.H, self.H_tau = (self.lam * np.eye(d) for _ in range(3))
        self.th_o, self.th_tau = np.zeros(d), np.zeros(d)
        self.warm = np.zeros(0, bool)
        self.refits = 0

    def norms(self, X):
        return np.einsum("kd,kd->k", X, np.linalg.solve(self.V, X.T).T)

    def explores(self, X):
        return self.norms(X).max() >= self.threshold

    def begin(self, X):
        """The refit, if one is due; then the scores, -inf where an arm is out."""
        if self.explores(X):
            return self.norms(X)
        self.refit()
        width = self.gamma * np.sqrt(self.kappa * self.norms(X))
        alive = X @ self.th_o + width >= np.max(X @ self.th_o - width)
        th = self.th_tau if self.centre == "late" else (self.th_o + self.th_tau) / 2
        bonus = self.beta * np.sqrt(np.einsum("kd,kd->k", X, np.linalg.solve(self.H_tau, X.T).T))
        return np.where(alive, X @ th + bonus, -np.inf)

    def refit(self):
        if np.linalg.slogdet(self.H)[1] > np.log(self.ratio) + np.linalg.slogdet(self.H_tau)[1]:
            used = np.ones(len(self.r), bool) if self.reuse else ~self.warm
            self.H_tau, self.refits = self.H.copy(), self.refits + 1
            self.th_tau = fit(self.f, self.X[used], self.r[used], self.lam, self.S)

    def end(self, X, k, r):
        warm = self.explores(X)
        self.update(X[k], r)
        self.warm = np.append(self.warm, warm)
        if warm:
            self.V = self.V + np.outer(X[k], X[k])
            self.th_o = fit(self.f, self.X[self.warm], self.r[self.warm], self.lam)
        else:
            self.H = self.H + self.f.slope(X[k] @ self.th_o) / self.discount * np.outer(X[k], X[k])
