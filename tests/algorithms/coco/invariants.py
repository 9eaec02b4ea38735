"""What holds in every round of every run of the family; the replays of this directory check it on all they return."""

import numpy as np

from tests.algorithms.coco.sets import LinearOracleOnly


def outside(domain, x):
    """How far points `[T, ...]` are outside at most, relative to the size of the set; None for sets not known here."""
    if isinstance(domain, LinearOracleOnly):
        return outside(domain.base, x)
    flat = x.reshape(len(x), -1)
    name = type(domain).__name__
    if name == "L2Ball":
        return np.max(np.linalg.norm(flat, axis=1)) / domain.radius - 1.0
    if name == "L1Ball":
        return np.max(np.abs(flat).sum(axis=1)) / domain.radius - 1.0
    if name == "NuclearBall":
        return np.max(np.linalg.svd(x, compute_uv=False).sum(axis=-1)) / domain.radius - 1.0
    if name == "Box":
        return max(np.max(domain.low - x), np.max(x - domain.high)) / np.max(np.subtract(domain.high, domain.low))
    if name in ("Simplex", "CappedSimplex"):
        off = max(-flat.min(), np.abs(flat.sum(axis=1) - domain.total).max())
        return max(off, flat.max() - domain.cap if name == "CappedSimplex" else 0.0) / domain.total
    return None


def check(algorithm, points, centres, state, told):
    """Asserts them.

    Args:
      algorithm: the learner.
      points: `[T, ...]` what is played or asked.
      centres: `[T, ...]` of bandits, what is perturbed; else None.
      state: after each round.
      told: diagnostics after each round.
    """
    capped = np.max(getattr(algorithm, "step_cap", 1.0)) <= 1.0
    if capped:
        away = outside(algorithm.domain, np.asarray(points))
        assert away is None or away <= 1e-9
    if centres is not None and type(algorithm.domain).__name__ != "Box":  # a box may be around another point
        share = 1.0 - float(algorithm.radius) / float(algorithm.domain.inner_radius(algorithm.dim))
        away = outside(algorithm.domain, np.asarray(centres) / share)
        assert away is None or away <= 1e-9
    run = getattr(state, "run", state)
    step = getattr(run, "last", None)
    if step is not None and capped:
        sigma, gap = np.asarray(step.sigma), np.asarray(step.gap)
        assert sigma.min() >= 0.0 and sigma.max() <= 1.0
        assert gap.min() >= -1e-9 * max(gap.max(), 1.0)
    if hasattr(state, "queue"):
        total = np.asarray(state.queue.total)
        assert np.all(np.diff(total) >= -np.spacing(total[:-1]))  # what its sum carries beside it may take back one ulp
    if hasattr(state, "dual"):
        assert np.min(state.dual) >= 0.0
    if "gradient_bound" in told and hasattr(state, "surrogate"):
        level, target = told["gradient_bound"], _target(algorithm, state, told)
        doublings = np.log2(level / level[0])
        np.testing.assert_allclose(doublings, np.round(doublings), atol=1e-9)
        block = getattr(algorithm, "_block", 1)
        ends = np.arange(block - 1, len(level), block)
        assert np.all(level[ends] >= target[ends] * (1.0 - 1e-12))
        rose = np.flatnonzero(np.diff(level) > 0.0) + 1
        assert np.all(level[rose] < 2.0 * target[rose] * (1.0 + 1e-12))
    if hasattr(run, "y") and not np.any(run.unfinished):
        apart = (np.asarray(run.x) - np.asarray(run.y)).reshape(len(points), -1)
        assert np.max(np.sum(apart**2, axis=1)) <= 3.0 * _eps(algorithm) * (1.0 + 1e-9)


def _target(algorithm, state, told):
    """beta G (gamma + w), w = weight gamma."""
    surrogate = state.surrogate
    return np.asarray(surrogate.beta * surrogate.gamma) * algorithm.lipschitz * (1.0 + told["weight"])


def _eps(algorithm):
    """Accuracy of the close infeasible projections."""
    if centre_radius := getattr(algorithm, "radius", None):
        return float(centre_radius) ** 2 / 3.0
    if algorithm.eps is not None:
        return float(algorithm.eps)
    return 60.0 * float(algorithm.domain.outer_radius(algorithm.dim)) ** 2 * algorithm.horizon**-0.5
