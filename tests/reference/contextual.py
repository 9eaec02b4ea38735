"""Contextual learners as plain NumPy float64 loops, written from the papers: matrices are summed and solved anew."""

import copy

import numpy as np


class DisjointLinUCB:
    """Reference of disjoint_lin_ucb: Algorithm 1 of Li et al."""

    def __init__(self, n_arms, dim, alpha, ridge):
        self.A = [ridge * np.eye(dim) for _ in range(n_arms)]
        self.b = [np.zeros(dim) for _ in range(n_arms)]
        self.alpha = alpha

    def scores(self, x, z):
        return np.array(
            [
                x @ np.linalg.solve(A, b) + self.alpha * np.sqrt(x @ np.linalg.solve(A, x))
                for A, b in zip(self.A, self.b, strict=True)
            ]
        )

    def update(self, x, z, arm, reward):
        self.A[arm] += np.outer(x, x)
        self.b[arm] += reward * x


class HybridLinUCB:
    """Reference of hybrid_lin_ucb: Algorithm 2 of Li et al., line by line."""

    def __init__(self, n_arms, dim, shared_dim, alpha, ridge):
        self.A_0, self.b_0, self.alpha = ridge * np.eye(shared_dim), np.zeros(shared_dim), alpha
        self.A = [ridge * np.eye(dim) for _ in range(n_arms)]
        self.B = [np.zeros((dim, shared_dim)) for _ in range(n_arms)]
        self.b = [np.zeros(dim) for _ in range(n_arms)]

    def scores(self, x, z):
        found, inv_0 = [], np.linalg.inv(self.A_0)
        beta = inv_0 @ self.b_0
        for A, B, b, z_a in zip(self.A, self.B, self.b, z, strict=True):
            inv = np.linalg.inv(A)
            theta = inv @ (b - B @ beta)
            s = z_a @ inv_0 @ z_a - 2 * z_a @ inv_0 @ B.T @ inv @ x + x @ inv @ x
            s += x @ inv @ B @ inv_0 @ B.T @ inv @ x
            found.append(z_a @ beta + x @ theta + self.alpha * np.sqrt(s))
        return np.array(found)

    def update(self, x, z, arm, reward):
        A, B, b, z_a = self.A[arm], self.B[arm], self.b[arm], z[arm]
        self.A_0 += B.T @ np.linalg.inv(A) @ B
        self.b_0 += B.T @ np.linalg.inv(A) @ b
        A += np.outer(x, x)
        B += np.outer(x, z_a)
        b += reward * x
        self.A_0 += np.outer(z_a, z_a) - B.T @ np.linalg.inv(A) @ B
        self.b_0 += reward * z_a - B.T @ np.linalg.inv(A) @ b


class Oracle:
    """Projected online gradient descent on (x'W_a - reward)^2, step D / (G sqrt(t))."""

    def __init__(self, n_arms, dim, lipschitz, radius=1.0):
        self.W, self.G, self.R, self.t = np.zeros((n_arms, dim)), lipschitz, radius, 0

    def update(self, x, z, arm, reward):
        self.t += 1
        gradient = np.zeros_like(self.W)
        gradient[arm] = 2 * (self.W[arm] @ x - reward) * x
        self.W = self.W - 2 * self.R / (self.G * np.sqrt(self.t)) * gradient
        self.W *= min(1.0, self.R / max(np.linalg.norm(self.W), 1e-300))


class RegCB(Oracle):
    """Bounds of reg_cb: what weight of a virtual example is compatible with the losses so far, by bisection."""

    def bounds(self, x, available):
        low, high = self.low, self.high
        level = self.c * np.log(available.sum() * (self.t + 1)) * (high - low) ** 2
        return np.array(
            [
                (max(f - self.move(x, a, f, low - 1, level), low), min(f + self.move(x, a, f, high + 1, level), high))
                for a, f in enumerate(np.clip(self.W @ x, low, high))
            ]
        ).T

    def move(self, x, arm, f, target, level):
        other = copy.deepcopy(self)
        other.update(x, None, arm, target)
        s = abs((other.W[arm] - self.W[arm]) @ x)
        low, high = 0.0, abs(target - f) / s if s else 0.0  # of the weight w
        for _ in range(200):
            w = 0.5 * (low + high)
            gain = w * ((target - f) ** 2 - (abs(target - f) - s * w) ** 2)
            low, high = (w, high) if gain <= level else (low, w)
        return s * low


class RegCBElim(RegCB):
    """Reference of reg_cb_elim."""

    def probabilities(self, x, available):
        lower, upper = self.bounds(x, available)
        kept = available & (upper >= lower[available].max())
        return kept / kept.sum()


class RegCBOpt(RegCB):
    """Reference of reg_cb_opt."""

    def probabilities(self, x, available):
        _, upper = self.bounds(x, available)
        kept = available & (upper >= upper[available].max() - 1e-12)
        return kept / kept.sum()


class OracleEpsGreedy(Oracle):
    """Reference of oracle_eps_greedy."""

    def probabilities(self, x, available):
        scores = np.where(available, self.W @ x, -np.inf)
        eps = self.eps / (self.t + 1) ** self.decay
        return eps * available / available.sum() + (1 - eps) * (np.arange(len(scores)) == scores.argmax())


class SquareCB(Oracle):
    """Reference of square_cb."""

    def probabilities(self, x, available):
        scores = np.where(available, self.W @ x, -np.inf)
        b, gamma, K = int(scores.argmax()), self.scale * (self.t + 1) ** self.exponent, available.sum()
        p = np.array([1 / (K + gamma * (scores[b] - s)) if np.isfinite(s) else 0.0 for s in scores])
        p[b] = 0
        p[b] = 1 - p.sum()
        return p
