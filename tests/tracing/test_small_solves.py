"""`tracing.small_solves` against NumPy and against the primitives: both precisions, ill-conditioned, singular, NaN."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

from jaxbandits.tracing import small_solves

DTYPES = (np.float32, np.float64)
TRIALS = 6

cholesky, lu, eigh = map(jax.jit, (small_solves.cholesky, small_solves.lu, small_solves.eigh))
triangular_solve = jax.jit(
    small_solves.triangular_solve,
    static_argnames=("left_side", "lower", "transpose_a", "conjugate_a", "unit_diagonal"),
)


def front(x):
    return np.moveaxis(np.asarray(x), -1, 0)


def last(x, dtype):
    return jnp.asarray(np.moveaxis(x, 0, -1), dtype)


def over_last(f):
    return jax.vmap(f, in_axes=-1, out_axes=-1)


def close(x, y, dtype, factor=1.0):
    """Equal to some 100 units in the last place of the largest entry."""
    x, y = np.asarray(x, np.float64), np.asarray(y, np.float64)
    np.testing.assert_allclose(x, y, rtol=0, atol=100 * factor * np.finfo(dtype).eps * max(abs(y).max(), 1e-30))


def with_spectrum(rng, values):
    """Symmetric matrices of these eigenvalues, one a trial."""
    n = len(values)
    basis = np.linalg.qr(rng.standard_normal((TRIALS, n, n)))[0]
    return basis * values @ basis.transpose(0, 2, 1)


@pytest.mark.quick_cases("3-float32", "3-float64")
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("n", [3, 1, 2, 7, 16])
def test_cholesky_is_the_root_also_of_ill_conditioned_matrices(n, dtype, rng):
    for smallest in (1.0, 3e3 * np.finfo(dtype).eps):
        a = with_spectrum(rng, np.geomspace(smallest, 1.0, n))
        given = last(a, dtype)
        upper = np.triu(np.ones((n, n), bool), 1)[:, :, None]
        root = front(cholesky(jnp.where(upper, jnp.nan, given)))
        assert root.dtype == dtype
        assert not np.triu(root, 1).any()
        root = root.astype(np.float64)
        close(root @ root.transpose(0, 2, 1), front(given), dtype)


@pytest.mark.parametrize("dtype", DTYPES)
def test_cholesky_is_nan_where_the_primitive_is(dtype):
    a = np.array(
        [
            [[2.0, 1.0, 0.5], [1.0, 3.0, 0.2], [0.5, 0.2, 1.0]],
            [[1.0, 2.0, 0.0], [2.0, 1.0, 0.0], [0.0, 0.0, 1.0]],
            [[1.0, 1.0, 0.0], [1.0, 1.0, 0.0], [0.0, 0.0, 1.0]],
            [[-0.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]],
            [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, -1.0]],
            [[4.0, 2.0, 0.0], [2.0, 2.0, 1.0], [0.0, 1.0, 2.0]],
        ]
    )
    given = last(a, dtype)
    expected = over_last(lambda x: lax.linalg.cholesky(x, symmetrize_input=False))(given)
    root = cholesky(given)
    np.testing.assert_array_equal(np.isnan(root), np.isnan(expected))
    close(root[..., 0], expected[..., 0], dtype)


@pytest.mark.slow_after_first
@pytest.mark.parametrize(
    "n, k, dtype", [(3, 2, np.float32), *((*nk, d) for nk in ((1, 1), (2, 3), (5, 1)) for d in DTYPES)]
)
def test_triangular_solve_is_the_primitive(n, k, dtype, rng):
    a = last(rng.standard_normal((TRIALS, n, n)) + 3.0 * np.sqrt(n) * np.eye(n), dtype)

    @jax.jit
    def ours_and_theirs(a, left, right):
        pairs = []
        for flags in np.ndindex(2, 2, 2, 2):
            names = ("left_side", "lower", "transpose_a", "unit_diagonal")
            options = dict(zip(names, map(bool, flags), strict=True), conjugate_a=False)
            triangle = (jnp.tril if options["lower"] else jnp.triu)(jnp.ones((n, n), bool))
            b = left if options["left_side"] else right
            ours = small_solves.triangular_solve(jnp.where(triangle[:, :, None], a, jnp.nan), b, **options)
            theirs = over_last(lambda a, b, o=options: lax.linalg.triangular_solve(a, b, **o))(a, b)
            pairs.append((ours, theirs))
        return pairs

    left, right = (last(rng.standard_normal((TRIALS, *shape)), dtype) for shape in ((n, k), (k, n)))
    for ours, theirs in ours_and_theirs(a / 4, left, right):
        assert ours.dtype == theirs.dtype == dtype
        close(ours, theirs, dtype, factor=10)


def test_triangular_solve_divides_by_zero_as_the_primitive():
    a = np.array([[0.0, 1.0], [1.0, 1.0]])
    b = np.array([[1.0, 0.0, -1.0], [1.0, 1.0, 0.0]])
    for lower in (False, True):
        options = {"left_side": True, "lower": lower, "transpose_a": False, "conjugate_a": False}
        ours = triangular_solve(a[..., None], b[..., None], **options, unit_diagonal=False)
        theirs = lax.linalg.triangular_solve(a, b, **options, unit_diagonal=False)
        np.testing.assert_array_equal(ours[..., 0], theirs)


@pytest.mark.slow_after_first
@pytest.mark.parametrize(
    "n, m, dtype",
    [
        (3, 3, np.float32),
        *((*nm, d) for nm in ((1, 1), (1, 3), (3, 1), (2, 5), (5, 2), (4, 4), (10, 10)) for d in DTYPES),
    ],
)
def test_lu_is_the_primitive(n, m, dtype, rng):
    general = rng.standard_normal((TRIALS, n, m))
    count = 20 if n <= 5 else 0  # rounding breaks the ties of larger ones, in LAPACK's order of operations
    ties = rng.integers(-1, 2, (count, n, m)).astype(float)  # many of them singular
    low_rank = rng.integers(-2, 3, (TRIALS, n, 1)) * rng.integers(-2, 3, (TRIALS, 1, m)).astype(float)
    a = last(np.concatenate([general, ties, low_rank, np.zeros((1, n, m))]), dtype)
    ours = lu(a)
    theirs = over_last(lax.linalg.lu)(a)
    assert [x.dtype for x in ours] == [x.dtype for x in theirs]
    assert [x.shape for x in ours] == [x.shape for x in theirs]
    np.testing.assert_array_equal(ours[1], theirs[1])
    np.testing.assert_array_equal(ours[2], theirs[2])
    close(ours[0], theirs[0], dtype)


@pytest.mark.parametrize("dtype", DTYPES)
def test_lu_of_ill_conditioned_matrices_multiplies_back(dtype, rng):
    n = 3
    a = last(with_spectrum(rng, np.geomspace(np.finfo(dtype).eps, 1.0, n)), dtype)
    factors, _, permutation = map(front, lu(a))
    factors = factors.astype(np.float64)
    lower, upper = np.tril(factors, -1) + np.eye(n), np.triu(factors)
    assert abs(lower).max() <= 1.0
    close(lower @ upper, np.take_along_axis(front(a), permutation[:, :, None], 1), dtype)


def test_nan_stays_in_its_trial(rng):
    a = with_spectrum(rng, np.array([1.0, 2.0, 3.0]))
    marred = a.copy()
    marred[2, 1, 1] = np.nan
    options = {"left_side": True, "lower": True, "transpose_a": False, "conjugate_a": False, "unit_diagonal": False}

    def everything(a):
        results = [cholesky(a), triangular_solve(a, a, **options), *lu(a), *eigh(a)]
        return [np.asarray(x) for x in results]

    for clean, spoilt in zip(everything(last(a, float)), everything(last(marred, float)), strict=True):
        others = [k for k in range(TRIALS) if k != 2]
        np.testing.assert_array_equal(clean[..., others], spoilt[..., others])
        if np.issubdtype(clean.dtype, np.floating):
            assert np.isnan(spoilt[..., 2]).any()


SPECTRA = {
    "random": lambda n: None,
    "ill-conditioned": lambda n: np.geomspace(1e-12, 1.0, n),
    "repeated": lambda n: np.arange(n) // 2 - 1.0,
    "singular": lambda n: np.arange(n) * (np.arange(n) % 2.0),
    "huge": lambda n: 1e30 * np.linspace(-1.0, 1.0, n),
    "zero": np.zeros,
}


@pytest.mark.quick_cases("3-float32", "3-float64")
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("n", [3, 1, 2, 4, 5, 8, 10])
def test_eigh_diagonalises(n, dtype, rng):
    for name, spectrum in SPECTRA.items():
        values = spectrum(n)
        a = rng.standard_normal((TRIALS, n, n)) if values is None else with_spectrum(rng, values)
        a = front(last((a + a.transpose(0, 2, 1)) / 2, dtype)).astype(np.float64)
        if name == "repeated":
            a[0] = np.diag(values)  # nothing to rotate
        below = a + np.triu(np.ones((n, n)), 1)  # the upper triangle is not read
        vectors, found = eigh(last(below, dtype))
        assert vectors.dtype == found.dtype == dtype
        vectors, found = (front(x).astype(np.float64) for x in (vectors, found))
        norm = max(abs(a).max(), 1e-30)
        tolerance = 50 * np.finfo(dtype).eps
        assert (np.diff(found) >= 0).all()
        np.testing.assert_allclose(found / norm, np.linalg.eigvalsh(a) / norm, rtol=0, atol=tolerance)
        np.testing.assert_allclose(a @ vectors / norm, vectors * found[:, None] / norm, rtol=0, atol=tolerance)
        gram = vectors.transpose(0, 2, 1) @ vectors
        np.testing.assert_allclose(gram, np.broadcast_to(np.eye(n), a.shape), rtol=0, atol=tolerance)


@pytest.mark.parametrize("dtype", DTYPES)
def test_eigh_of_a_trial_does_not_depend_on_the_others(dtype, rng):
    """The others need no rotation, or more of them than the trial."""
    a = rng.standard_normal((5, 5, TRIALS))
    a = a + a.swapaxes(0, 1)
    alone, together = np.zeros_like(a), a * 10.0 ** np.subtract.outer(np.arange(5), np.arange(5))[:, :, None]
    for k in range(TRIALS):
        alone[..., k] = together[..., k] = a[..., k]
        for x, y in zip(eigh(alone.astype(dtype)), eigh(together.astype(dtype)), strict=True):
            np.testing.assert_array_equal(x[..., k], y[..., k])
        alone[..., k], together[..., k] = 0.0, together[..., (k + 1) % TRIALS]


def test_eigh_is_nan_where_an_entry_is_not_finite():
    a = np.repeat(np.eye(3)[:, :, None], TRIALS, axis=2)
    a[2, 0, 1], a[1, 1, 2] = np.inf, np.nan
    for x in map(front, eigh(a)):
        assert np.isfinite(x[[0, 3, 4, 5]]).all()
        assert np.isnan(x[1:3]).all()
