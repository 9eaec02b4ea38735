"""Quadratics on a ball: golden values, optimality conditions, eigenvectors with bisection, float32, special cases.

Optimality is checked backwards: `(a + mu I) x = b` to rounding of its own terms, with `||x|| = radius` and `mu >= 0`,
is what a solver can promise at any condition number. Distance to the oracle is checked at the accuracy that the
condition number leaves, and at 1e-12 for diagonal matrices, whose eigenvalues are exact.
"""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jaxbandits.numerics.projection import minimise_on_ball, project_ball, proximal_on_ball

EPS = {"float32": np.finfo(np.float32).eps, "float64": np.finfo(np.float64).eps}
DIMS = [1, 5, 2, 3, 4, *range(6, 13), 20]
PROBLEMS = 48


def oracle_minimise(a, b, radius):
    """`(x, mu)` by eigenvectors and bisection."""
    values, vectors = np.linalg.eigh(a)
    c = vectors.T @ b
    return _bisect(lambda mu: c / (values + mu), vectors, radius, np.linalg.norm(b) / radius)


def oracle_project(inverse, y, radius):
    """The same for the projection of y in the norm of V, from the eigenvectors of `V^{-1}`."""
    values, vectors = np.linalg.eigh(inverse)
    c = vectors.T @ y
    return _bisect(lambda mu: c / (1.0 + mu * values), vectors, radius, np.linalg.norm(y) / radius / values.min())


def _bisect(coordinates, vectors, radius, high):
    low = 0.0
    if np.linalg.norm(coordinates(0.0)) <= radius:
        return vectors @ coordinates(0.0), 0.0
    while True:
        middle = 0.5 * (low + high) if low > 0.0 else high * 1e-3
        if middle in (low, high) or high < 1e-300:
            return vectors @ coordinates(high), high
        low, high = (middle, high) if np.linalg.norm(coordinates(middle)) > radius else (low, middle)


def dense_solver(solver):
    """A solver on plain arrays, for one problem: jitted over a batch of problems by `solve`."""

    def run(matrix, vector, radius):
        return solver(matrix, vector, radius)

    return run


QUICK = {"xla_backend_optimization_level": 0, "xla_llvm_disable_expensive_passes": True}  # compiles 4 times faster
SOLVERS = {
    "project": jax.jit(jax.vmap(dense_solver(project_ball)), compiler_options=QUICK),
    "minimise": jax.jit(jax.vmap(dense_solver(minimise_on_ball)), compiler_options=QUICK),
}


def solve(name, matrix, vector, radius, dtype="float64"):
    """A batch of problems as arrays `[N, d, d]`, `[N, d]`, `[N]`."""
    out = SOLVERS[name](*(jnp.asarray(np.asarray(a), dtype) for a in (matrix, vector, radius)))
    assert out.dtype == dtype
    return np.asarray(out, float)


def draw(rng, dim, *, max_condition, diagonal=False, n=PROBLEMS, log_ratio=(-1.0, 4.0)):
    """Matrices of condition number up to `max_condition`, unconstrained minimisers 0.1 to 10^4 times too long."""
    matrices, minimisers, radii = [], [], []
    for k in range(n):
        condition = max_condition ** (k / (n - 1))
        values = condition ** -rng.permutation(np.linspace(0.0, 1.0, dim)) * 10.0 ** rng.uniform(-2, 2)
        q = np.eye(dim) if diagonal else np.linalg.qr(rng.standard_normal((dim, dim)))[0]
        matrix = (q * values) @ q.T
        radius = 10.0 ** rng.uniform(-2, 2)
        x = rng.standard_normal(dim)
        matrices.append(0.5 * (matrix + matrix.T))
        minimisers.append(x / np.linalg.norm(x) * radius * 10.0 ** rng.uniform(*log_ratio))
        radii.append(radius)
    return np.array(matrices), np.array(minimisers), np.array(radii)


def single(name, matrix, vector, radius, dtype="float64"):
    return solve(name, np.asarray(matrix)[None], np.asarray(vector)[None], np.asarray(radius)[None], dtype)[0]


# Golden values --------------------------------------------------------------------------------------------------------


def test_golden_values():
    v = np.array([[9.0, 2.0], [2.0, 1.0]])
    x = single("project", np.linalg.inv(v), [1.5, -2.0], 1.0)
    np.testing.assert_allclose(x, [0.9455015807192279, -0.3256175069885543], rtol=1e-14)
    x = single("minimise", v, v @ [1.5, -2.0], 1.0)
    np.testing.assert_allclose(x, [0.9455015807192279, -0.3256175069885543], rtol=1e-14)

    a = np.diag([1.0, 4.0])
    x = single("minimise", a, [3.0, 4.0], 1.0)
    np.testing.assert_allclose(x, [0.8042237227, 0.5943266810], rtol=1e-9)
    np.testing.assert_allclose(3.0 / x[0] - 1.0, 2.7303052810, rtol=1e-9)  # the multiplier

    x = single("project", np.diag([1.0, 0.25]), [3.0, 4.0], 2.0)
    np.testing.assert_allclose(x, [0.56220502, 1.91935549], rtol=1e-8)


def test_a_point_on_the_sphere_is_not_pulled_inwards(rng):
    """Online learners project their own estimate round after round: what rounding puts outside stays as it is."""
    inverse, y, radii = draw(rng, 3, max_condition=1e4)
    eps = EPS["float32"]
    y = (y / np.linalg.norm(y, axis=1, keepdims=True) * (radii * (1.0 + 2.0 * eps))[:, None]).astype(np.float32)
    radii = radii.astype(np.float32)
    np.testing.assert_array_equal(solve("project", inverse, y, radii, "float32"), y)


# Optimality and oracle ------------------------------------------------------------------------------------------------


@pytest.mark.slow_after_first
@pytest.mark.parametrize("dim", DIMS)
def test_minimise_is_optimal(dim, rng):
    a, minimisers, radii = draw(rng, dim, max_condition=1e10)
    b = np.einsum("nij,nj->ni", a, minimisers)
    check_minimise(a, b, radii, solve("minimise", a, b, radii), EPS["float64"])


def check_minimise(matrices, vectors, radii, solutions, eps):
    outside = 0
    for a, b, radius, x in zip(matrices, vectors, radii, solutions, strict=True):
        expected, expected_mu = oracle_minimise(a, b, radius)
        values = np.linalg.eigvalsh(a) + expected_mu
        forward = max(20.0 * len(b) * eps * values.max() / max(values.min(), 1e-30), 20.0 * eps)
        assert np.linalg.norm(x) <= radius * (1.0 + 10.0 * eps)  # 8, and those of this norm
        np.testing.assert_allclose(x, expected, rtol=0.0, atol=forward * radius)
        residual = b - a @ x
        scale = np.linalg.norm(a, 2) * np.linalg.norm(x) + np.linalg.norm(b)
        if expected_mu > 0.0:
            outside += 1
            mu = (residual @ x) / (x @ x)
            assert mu >= -20.0 * eps * scale / radius
            residual = residual - mu * x
        assert np.linalg.norm(residual) <= 20.0 * len(b) * eps * scale
    assert outside >= len(radii) // 4  # not vacuous


@pytest.mark.quick_cases("1", "5")
@pytest.mark.parametrize("dim", DIMS)
def test_project_is_optimal(dim, rng):
    inverse, y, radii = draw(rng, dim, max_condition=1e10)
    check_project(inverse, y, radii, solve("project", inverse, y, radii), EPS["float64"])


def check_project(inverses, points, radii, solutions, eps):
    outside = 0
    for inverse, y, radius, x in zip(inverses, points, radii, solutions, strict=True):
        assert np.linalg.norm(x) <= radius * (1.0 + 10.0 * eps)  # 8, and those of this norm
        if np.linalg.norm(y) <= radius:
            np.testing.assert_array_equal(x, y)
            continue
        outside += 1
        expected, expected_mu = oracle_project(inverse, y, radius)
        values = 1.0 + expected_mu * np.linalg.eigvalsh(inverse)
        forward = max(20.0 * len(y) * eps * values.max() / values.min(), 20.0 * eps)
        np.testing.assert_allclose(x, expected, rtol=0.0, atol=forward * radius)
        slope = inverse @ x  # V (y - x) = mu x
        mu = ((y - x) @ slope) / (slope @ slope)
        assert mu > 0.0
        scale = (mu * np.linalg.norm(inverse, 2) + 1.0) * np.linalg.norm(x) + np.linalg.norm(y)
        assert np.linalg.norm(y - x - mu * slope) <= 20.0 * len(y) * eps * scale
    assert outside >= len(radii) // 4


@pytest.mark.quick_cases("project-5", "minimise-5")
@pytest.mark.parametrize("dim", [5, 1, 2, 20])
@pytest.mark.parametrize("name", ["project", "minimise"])
def test_diagonal_matrices_to_1e12(name, dim, rng):
    matrices, minimisers, radii = draw(rng, dim, max_condition=1e10, diagonal=True)
    vectors = minimisers if name == "project" else np.einsum("nij,nj->ni", matrices, minimisers)
    oracle = oracle_project if name == "project" else oracle_minimise
    solutions = solve(name, matrices, vectors, radii)
    for matrix, vector, radius, x in zip(matrices, vectors, radii, solutions, strict=True):
        np.testing.assert_allclose(x, oracle(matrix, vector, radius)[0], rtol=0.0, atol=1e-12 * radius)


@pytest.mark.slow
@pytest.mark.parametrize("dim", [2, 1, 5])
def test_float32(dim, rng):
    """To rounding of the given matrix: condition numbers up to 1e4 (1e10 for the projection, which never inverts)."""
    a, minimisers, radii = (p.astype(np.float32).astype(float) for p in draw(rng, dim, max_condition=1e4))
    b = np.einsum("nij,nj->ni", a, minimisers).astype(np.float32).astype(float)
    check_minimise(a, b, radii, solve("minimise", a, b, radii, "float32"), EPS["float32"])
    a, minimisers, radii = (p.astype(np.float32).astype(float) for p in draw(rng, dim, max_condition=1e4))
    check_project(a, minimisers, radii, solve("project", a, minimisers, radii, "float32"), EPS["float32"])
    inverse, y, radii = (p.astype(np.float32).astype(float) for p in draw(rng, dim, max_condition=1e10, diagonal=True))
    check_project(inverse, y, radii, solve("project", inverse, y, radii, "float32"), EPS["float32"])


@pytest.mark.parametrize("size", [1e9, 1e12, 3e12, 1e13, 1e15])
def test_points_far_outside_in_float32(size, rng):
    """The squares of such points are far from overflow; the multiplier's numerator must be, too."""
    for condition in (1.0, 1e3):
        inverse = np.diag([1.0, 1.0 / condition]).astype(np.float32)
        y = (size * rng.standard_normal(2)).astype(np.float32)
        x = np.asarray(single("project", inverse, y, np.float32(33.0), "float32"), float)
        expected = oracle_project(inverse.astype(float), y.astype(float), 33.0)[0]
        np.testing.assert_allclose(x, expected, rtol=0.0, atol=33.0 * 1e-3)


def test_rescaling_would_be_another_point():
    """The mistake these functions exist to avoid costs much more than rounding."""
    v, y = np.array([[9.0, 2.0], [2.0, 1.0]]), np.array([1.5, -2.0])
    x, rescaled = single("project", np.linalg.inv(v), y, 1.0), y / np.linalg.norm(y)
    assert (x - y) @ v @ (x - y) < 0.6 * (rescaled - y) @ v @ (rescaled - y)


# Exact special cases --------------------------------------------------------------------------------------------------


@pytest.mark.quick_cases("5-float32", "1-float64")
@pytest.mark.parametrize(
    ("dim", "dtype"), [(5, "float32"), (1, "float64"), (1, "float32"), (5, "float64"), (20, "float64")]
)
def test_zero_inside_and_on_the_sphere_are_returned_unchanged(dim, dtype):
    on_sphere = np.zeros(dim)
    on_sphere[: min(dim, 2)] = [5.0] if dim == 1 else [3.0, 4.0]
    inverse = np.diag(1.0 + np.arange(dim))
    for y in (np.zeros(dim), 0.5 * on_sphere, on_sphere):
        np.testing.assert_array_equal(single("project", inverse, y, 5.0, dtype), y)
    np.testing.assert_array_equal(single("minimise", inverse, np.zeros(dim), 5.0, dtype), np.zeros(dim))
    for y in (0.5 * on_sphere, on_sphere):  # powers of two: the solve is exact
        np.testing.assert_array_equal(single("minimise", 4.0 * np.eye(dim), 4.0 * y, 5.0, dtype), y)


@pytest.mark.slow
@pytest.mark.parametrize("dim", [5, 1, 2, 20])
def test_multiple_of_the_identity_is_the_euclidean_projection(dim, rng):
    for c in (1e-6, 1.0, 1e6):
        y = rng.standard_normal(dim)
        y *= 30.0 / np.linalg.norm(y)
        expected = y / 30.0 * 0.7
        np.testing.assert_allclose(single("project", np.eye(dim) / c, y, 0.7), expected, rtol=1e-13)
        np.testing.assert_allclose(single("minimise", np.eye(dim) * c, c * y, 0.7), expected, rtol=1e-13)


def test_one_dimension_is_a_clip(rng):
    a, b = rng.uniform(0.1, 10.0, PROBLEMS), rng.uniform(-10.0, 10.0, PROBLEMS)
    x = solve("minimise", a[:, None, None], b[:, None], np.ones(PROBLEMS))
    np.testing.assert_allclose(x[:, 0], np.clip(b / a, -1.0, 1.0), rtol=1e-14)
    x = solve("project", a[:, None, None], b[:, None], np.ones(PROBLEMS))
    np.testing.assert_allclose(x[:, 0], np.clip(b, -1.0, 1.0), rtol=1e-14)


@pytest.mark.slow_after_first
@pytest.mark.parametrize("dim", [5, 2, 20])
def test_idempotent_and_neighbours_do_not_interfere(dim, rng):
    """A projected point projects to itself, and each problem of a batch has the answer that it has alone."""
    inverse, y, radii = draw(rng, dim, max_condition=1e6)
    once = solve("project", inverse, y, radii)
    np.testing.assert_allclose(solve("project", inverse, once, radii), once, rtol=0.0, atol=4e-15 * radii.max())
    for k in (0, PROBLEMS // 2, PROBLEMS - 1):
        same = [np.stack([p[k]] * PROBLEMS) for p in (inverse, y, radii)]
        np.testing.assert_allclose(solve("project", *same)[0], once[k], rtol=0.0, atol=1e-14 * radii[k])


def test_a_nan_in_one_problem_stays_there(rng):
    inverse, y, radii = draw(rng, 2, max_condition=1e4)
    broken = y.copy()
    broken[3] = np.nan
    x, clean = solve("project", inverse, broken, radii), solve("project", inverse, y, radii)
    assert np.isnan(x[3]).all()
    np.testing.assert_array_equal(np.delete(x, 3, axis=0), np.delete(clean, 3, axis=0))


# The proximal form ----------------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("dim", [5, 1, 2, 20])
def test_proximal_step_is_the_same_minimiser(dim, rng):
    a, centers, radii = draw(rng, dim, max_condition=1e4, log_ratio=(-1.0, 0.0))
    slopes = np.einsum("nij,nj->ni", a, rng.standard_normal((PROBLEMS, dim))) * radii[:, None]

    def run(a, center, slope, radius):
        sym, center, slope = a, center, slope
        return proximal_on_ball(sym, center, slope, radius)

    solver = jax.jit(jax.vmap(run), compiler_options=QUICK)
    solutions = np.asarray(solver(*map(jnp.asarray, (a, centers, slopes, radii))))
    check_minimise(a, np.einsum("nij,nj->ni", a, centers) - slopes, radii, solutions, EPS["float64"])


@pytest.mark.slow
def test_proximal_step_keeps_small_steps_in_float32():
    """Solving for the point instead of the step would lose the step: A (x' + step) is rounded at A x'."""
    a = jnp.asarray([[1e5, 9e4], [9e4, 1e5]], jnp.float32)
    center = jnp.asarray([0.5, -0.25], jnp.float32)
    slope = jnp.asarray([1.0, 2.0], jnp.float32)
    step = np.asarray(proximal_on_ball(a, center, slope, jnp.float32(1.0)), float) - [0.5, -0.25]
    exact = -np.linalg.solve([[1e5, 9e4], [9e4, 1e5]], [1.0, 2.0])
    np.testing.assert_allclose(step, exact, rtol=0.0, atol=4e-8)  # half a unit in the last place of the point


@settings(max_examples=25)
@given(
    seed=st.integers(0, 2**32 - 1),
    log_condition=st.floats(0.0, 10.0),
    log_ratio=st.floats(0.0, 4.0),
    log_scale=st.floats(-3.0, 3.0),
)
def test_feasible_points_are_never_better(seed, log_condition, log_ratio, log_scale):
    rng = np.random.default_rng(seed)
    q = np.linalg.qr(rng.standard_normal((2, 2)))[0]
    a = (q * (10.0**log_scale * np.array([1.0, 10.0**-log_condition]))) @ q.T
    a = 0.5 * (a + a.T)
    free = rng.standard_normal(2)
    b = a @ (free / np.linalg.norm(free) * 10.0**log_ratio)
    x = single("minimise", a, b, 1.0)
    others = rng.standard_normal((200, 2))
    others /= np.maximum(1.0, np.linalg.norm(others, axis=1))[:, None]

    def cost(p):
        return 0.5 * np.einsum("...i,ij,...j->...", p, a, p) - p @ b

    assert cost(x) <= cost(others).min() + 1e-13 * (np.linalg.norm(b) + np.linalg.norm(a))
