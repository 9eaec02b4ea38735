"""Convex sets with linear oracle and projection, one class a set, in plain NumPy: dense SVD, eigenvectors, sorting.

`lmo(c)` is a minimiser of `<c, v>` over the set, `project(y)` the nearest point, `excess(x)` how far x is outside (0 up
to rounding inside), `outer` and `inner` radii R and r of balls around the origin (0 where there is none), `diameter`
the largest distance of two points. Matrices use the Frobenius inner product.
"""

import numpy as np
from scipy.optimize import nnls


def inner(x, y):
    return float(np.sum(np.asarray(x) * np.asarray(y)))


def norm(x):
    return float(np.sqrt(np.sum(np.asarray(x) ** 2)))


def project_simplex(y, total=1.0):
    """Nearest point of {x >= 0, sum x = total}, by sorting (Held, Wolfe & Crowder 1974)."""
    y = np.asarray(y, float)
    high = np.sort(y)[::-1]
    threshold = (np.cumsum(high) - total) / np.arange(1, len(y) + 1)
    return np.maximum(y - threshold[np.nonzero(high > threshold)[0][-1]], 0.0)


class L2Ball:
    def __init__(self, radius=1.0):
        self.radius = self.outer = self.inner = radius
        self.diameter = 2.0 * radius

    def lmo(self, c):
        length = norm(c)
        return -self.radius * np.asarray(c) / length if length > 0 else np.zeros_like(c, float)

    def project(self, y):
        return np.asarray(y) * min(1.0, self.radius / max(norm(y), 1e-300))

    def excess(self, x):
        return max(norm(x) - self.radius, 0.0)


class L1Ball:
    def __init__(self, dim, radius=1.0):
        self.radius = self.outer = radius
        self.inner, self.diameter = radius / np.sqrt(dim), 2.0 * radius

    def lmo(self, c):
        i, v = np.argmax(np.abs(c)), np.zeros_like(c, float)
        v[i] = -self.radius * np.sign(c[i])
        return v

    def project(self, y):
        y = np.asarray(y, float)
        return y if np.abs(y).sum() <= self.radius else np.sign(y) * project_simplex(np.abs(y), self.radius)

    def excess(self, x):
        return max(np.abs(x).sum() - self.radius, 0.0)


class Box:
    def __init__(self, dim, radius=1.0):
        self.radius = self.inner = radius
        self.outer = radius * np.sqrt(dim)
        self.diameter = 2.0 * self.outer

    def lmo(self, c):
        return -self.radius * np.sign(c)

    def project(self, y):
        return np.clip(y, -self.radius, self.radius)

    def excess(self, x):
        return max(np.abs(x).max() - self.radius, 0.0)


class Simplex:
    """{x >= 0, sum x = total}; the origin is outside, so there is no inner ball."""

    def __init__(self, dim, total=1.0):
        self.total = self.outer = total
        self.inner, self.diameter = 0.0, total * np.sqrt(2.0) * (dim > 1)

    def lmo(self, c):
        v = np.zeros_like(c, float)
        v[np.argmin(c)] = self.total
        return v

    def project(self, y):
        return project_simplex(y, self.total)

    def excess(self, x):
        return max(abs(x.sum() - self.total), -x.min(), 0.0)


class CappedSimplex:
    """{0 <= x <= cap, sum x = total} with total <= cap dim."""

    def __init__(self, dim, total=1.0, cap=1.0):
        assert total <= cap * dim
        self.total, self.cap = total, cap
        vertex = np.sort(self._fill(np.arange(dim)))
        self.outer, self.inner = norm(vertex), 0.0
        # Vertices are the permutations of one; two are farthest apart when their large entries avoid each other.
        self.diameter = np.sqrt(2.0 * (inner(vertex, vertex) - inner(vertex, vertex[::-1])))

    def _fill(self, order):
        """Caps in the given order until the total is spent."""
        v = np.zeros(len(order))
        v[order] = np.clip(self.total - self.cap * np.arange(len(order)), 0.0, self.cap)
        return v

    def lmo(self, c):
        return self._fill(np.argsort(c, kind="stable"))

    def project(self, y):
        """x = clip(y - s, 0, cap): the sum is piecewise linear and decreasing in s, with kinks at y and y - cap."""
        y = np.asarray(y, float)
        kinks = np.sort(np.concatenate([y, y - self.cap]))
        sums = np.clip(y[:, None] - kinks, 0.0, self.cap).sum(axis=0)
        k = np.clip(np.searchsorted(-sums, -self.total, side="right") - 1, 0, len(kinks) - 2)
        slope = (sums[k + 1] - sums[k]) / max(kinks[k + 1] - kinks[k], 1e-300)
        shift = kinks[k] + (self.total - sums[k]) / slope if slope < 0 else kinks[k]
        return np.clip(y - shift, 0.0, self.cap)

    def excess(self, x):
        return max(abs(x.sum() - self.total), -x.min(), x.max() - self.cap, 0.0)


class Polytope:
    """The convex hull of the rows of `vertices`."""

    def __init__(self, vertices):
        self.vertices = np.asarray(vertices, float)
        self.outer = max(map(norm, self.vertices))
        self.inner = 0.0  # not known without the facets
        self.diameter = max(norm(v - w) for v in self.vertices for w in self.vertices)

    def lmo(self, c):
        return self.vertices[np.argmin(self.vertices @ c)].copy()

    def project(self, y):
        """Least distance programming (Lawson & Hanson 1974).

        `min ||(V - y)' u||^2 + (s - s sum u)^2` over u >= 0 is solved along the ray of the best convex weights, for
        any s > 0.
        """
        shifted = self.vertices - y
        scale = max(np.abs(shifted).max(), 1e-300)
        system = np.vstack([shifted.T / scale, np.ones(len(shifted))])
        weights, _ = nnls(system, np.append(np.zeros(len(y)), 1.0))
        return weights @ self.vertices / weights.sum()

    def excess(self, x):
        return norm(self.project(x) - x)


class TraceNormBall:
    """{X [m, n]: sum of singular values <= radius}."""

    def __init__(self, shape, radius=1.0):
        self.radius = self.outer = radius
        self.inner, self.diameter = radius / np.sqrt(min(shape)), 2.0 * radius

    def lmo(self, c):
        if not np.any(c):
            return np.zeros_like(c, float)
        u, _, vt = np.linalg.svd(c, full_matrices=False)
        return -self.radius * np.outer(u[:, 0], vt[0])

    def project(self, y):
        u, s, vt = np.linalg.svd(y, full_matrices=False)
        return (u * L1Ball(len(s), self.radius).project(s)) @ vt

    def excess(self, x):
        return max(np.linalg.svd(x, compute_uv=False).sum() - self.radius, 0.0)


class Spectrahedron:
    """{X [n, n] symmetric positive semidefinite, tr X <= radius}."""

    def __init__(self, side, radius=1.0):
        self.radius = self.outer = radius
        self.inner, self.diameter = 0.0, radius * (np.sqrt(2.0) if side > 1 else 1.0)

    def lmo(self, c):
        values, vectors = np.linalg.eigh(0.5 * (c + c.T))
        v = vectors[:, 0]
        return self.radius * np.outer(v, v) if values[0] < 0 else np.zeros_like(c, float)

    def project(self, y):
        values, vectors = np.linalg.eigh(0.5 * (y + y.T))
        kept = np.maximum(values, 0.0)
        if kept.sum() > self.radius:
            kept = project_simplex(values, self.radius)
        return (vectors * kept) @ vectors.T

    def excess(self, x):
        return max(np.trace(x) - self.radius, -np.linalg.eigvalsh(x)[0], norm(x - x.T), 0.0)


class Shrunk:
    """`factor` K: every point multiplied; factor = 1 - delta / r for the bandit algorithms."""

    def __init__(self, base, factor):
        self.base, self.factor = base, factor
        self.outer, self.inner, self.diameter = factor * base.outer, factor * base.inner, factor * base.diameter

    def lmo(self, c):
        return self.factor * self.base.lmo(c)

    def project(self, y):
        return self.factor * self.base.project(np.asarray(y) / self.factor)

    def excess(self, x):
        return self.factor * self.base.excess(x / self.factor)
