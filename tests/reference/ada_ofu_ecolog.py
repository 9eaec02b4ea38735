"""ada-OFU-ECOLog (`ada_ofu_ecolog`) as a plain float64 loop: every inner problem is a general constrained problem.

Steps, the estimate of the warm-up rounds and the projection are all minimised by SLSQP over the ball and the ellipsoid,
and then polished: the equations of Karush, Kuhn and Tucker are solved for the set of active constraints whose solution
is feasible with nonnegative multipliers, which for a convex problem is the minimiser.
"""

import itertools

import numpy as np
from scipy.optimize import minimize, root
from scipy.special import expit


def logistic(x, count, total):
    """count log(1 + e^z) - total z with its gradient and Hessian."""
    x = np.asarray(x, float)
    return (
        lambda th: count * np.logaddexp(0.0, x @ th) - total * (x @ th),
        lambda th: (count * expit(x @ th) - total) * x,
        lambda th: count * expit(x @ th) * expit(-x @ th) * np.outer(x, x),
    )


def quadratic(A, center):
    """|th - center|_A^2 / 2."""
    return (lambda th: 0.5 * (th - center) @ A @ (th - center), lambda th: A @ (th - center), lambda th: A)


def add(*terms):
    return tuple((lambda th, fs=fs: sum(f(th) for f in fs)) for fs in zip(*terms, strict=True))


class Theta:
    """{|th| <= S, |th - c|_V <= b}: constraints as quadratics g(th) <= 0."""

    def __init__(self, S, ellipsoid=None):
        self.S, self.ellipsoid = S, ellipsoid

    def constraints(self, d):
        yield quadratic(np.eye(d), np.zeros(d)), 0.5 * self.S**2
        if self.ellipsoid is not None:
            V, center, width = self.ellipsoid
            yield quadratic(V, center), 0.5 * width**2

    def contains(self, th, slack=1e-9):
        return all(g(th) <= level * (1.0 + slack) for (g, _, _), level in self.constraints(len(th)))

    def minimise(self, objective, start):
        f, gradient, hessian = objective
        d, cons = len(start), list(self.constraints(len(start)))
        slsqp = [
            {"type": "ineq", "fun": lambda th, g=g, b=b: 1.0 - g[0](th) / b, "jac": lambda th, g=g, b=b: -g[1](th) / b}
            for g, b in cons
        ]
        near = minimize(f, start, jac=gradient, constraints=slsqp, method="SLSQP", options={"ftol": 1e-14}).x
        for size in range(len(cons) + 1):
            for active in itertools.combinations(cons, size):

                def equations(v, active=active):
                    th, mu = v[:d], v[d:]
                    first = gradient(th) + sum(m * g[1](th) / b for m, (g, b) in zip(mu, active, strict=True))
                    return np.concatenate([first, [g[0](th) / b - 1.0 for g, b in active]])

                def jacobian(v, active=active):
                    th, mu = v[:d], v[d:]
                    top = hessian(th) + sum(m * g[2](th) / b for m, (g, b) in zip(mu, active, strict=True))
                    side = np.array([g[1](th) / b for g, b in active]).reshape(-1, d)
                    return np.block([[top, side.T], [side, np.zeros((len(active), len(active)))]])

                side = np.array([g[1](near) / b for g, b in active]).reshape(-1, d)
                guess = np.linalg.lstsq(side.T, -gradient(near), rcond=None)[0] if active else []
                found = root(equations, np.concatenate([near, guess]), jac=jacobian, tol=1e-15)
                scale = 1.0 + np.linalg.norm(gradient(near)) + np.linalg.norm(hessian(near))
                if np.max(np.abs(equations(found.x))) > 1e-10 * scale or np.any(found.x[d:] < -1e-9):
                    continue
                if self.contains(found.x[:d]):
                    return found.x[:d]
        raise RuntimeError("no solution of the optimality conditions found")


class AdaOFUECOLog:
    """The state and one round; `warm` says after `update` whether the round went to the warm-up set."""

    def __init__(self, d, S, lam=None, delta=0.05, warmup_scale=1.0, ratio=2.0):
        self.d, self.S, self.delta, self.warmup_scale, self.ratio = d, S, delta, warmup_scale, ratio
        self.lam = float(d) if lam is None else lam
        self.D, self.kappa = 2.0 * S, 2.0 + 2.0 * np.cosh(S)
        self.theta, self.W, self.cum = np.zeros(d), self.lam * np.eye(d), 0.0
        self.X, self.r, self.theta_H, self.warm = [], [], np.zeros(d), False
        self.set = Theta(S)

    @property
    def metric(self):
        X = np.asarray(self.X).reshape(-1, self.d)
        return self.lam * np.eye(self.d) + X.T @ X / self.kappa

    def width(self):
        n, lam = len(self.r) + 1, self.lam
        gamma = np.sqrt(lam) * (self.S + 0.5)
        gamma += self.d / np.sqrt(lam) * np.log(4.0 / self.delta * (1.0 + n / (16.0 * self.d * lam)))
        return self.warmup_scale * (gamma + gamma**2 / np.sqrt(lam))

    def sigma(self):
        return np.sqrt(4.0 * self.lam * self.S**2 + (2.0 + self.D) * (np.log(1.0 / self.delta) + self.cum))

    def scores(self, X):
        return X @ self.theta + self.sigma() * np.sqrt(np.einsum("kd,dk->k", X, np.linalg.solve(self.W, X.T)))

    def step(self, x, count, total):
        near = quadratic(2.0 / (2.0 + self.D) * self.W, self.theta)
        return self.set.minimise(add(near, logistic(x, count, total)), self.theta)

    def update(self, x, r):
        ends, bar = [self.step(x, 1.0, u) for u in (0.0, 1.0)], self.step(x, 2.0, 1.0)

        def slope(th):
            return expit(x @ th) * expit(-x @ th)

        self.margin = slope(bar) / min(slope(th) for th in ends) / self.ratio  # above 1: warm-up
        self.warm = self.margin > 1.0
        if not self.warm:
            self.theta, loss = ends[int(r)], logistic(x, 1.0, r)[0]
            self.cum += loss(bar) - loss(self.theta)
            self.W = self.W + slope(self.theta) * np.outer(x, x)
            return
        self.X.append(x)
        self.r.append(r)
        rounds = [logistic(x, 1.0, r) for x, r in zip(self.X, self.r, strict=True)]
        ridge = quadratic(self.lam * np.eye(self.d), np.zeros(self.d))
        self.theta_H = Theta(self.S).minimise(add(ridge, *rounds), self.theta_H)
        self.set = Theta(self.S, (self.metric, self.theta_H, self.width()))
        self.theta = self.set.minimise(quadratic(self.W, self.theta), self.theta_H)
