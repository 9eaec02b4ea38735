"""Every set against its atoms, its reference, optax, and the conditions that make a projection one."""

import functools
import itertools

import hypothesis
import hypothesis.extra.numpy as arrays
import hypothesis.strategies as st
import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

from jaxbandits.base.errors import InputError
from jaxbandits.base.pytree import as_arrays, validate
from jaxbandits.catalogue import from_spec, to_spec
from jaxbandits.domains import (
    Box,
    CappedSimplex,
    L1Ball,
    L2Ball,
    NuclearBall,
    Polytope,
    Simplex,
    Spectrahedron,
    WholeSpace,
    protocol,
)
from jaxbandits.tracing.vmap_last import vmap_last
from tests.reference import convex_sets as reference

CORNERS = np.random.default_rng(0).normal(size=(9, 4))


@functools.cache
def sets(dim):
    """Name -> ours and the reference, of dimension `dim`."""
    made = {
        "l1": (L1Ball(radius=1.7), reference.L1Ball(dim, 1.7)),
        "box": (Box(dim=dim, low=-1.7, high=1.7), reference.Box(dim, 1.7)),
        "simplex": (Simplex(total=1.7), reference.Simplex(dim, 1.7)),
        "capped": (CappedSimplex(dim=dim, total=0.55 * dim, cap=0.8), reference.CappedSimplex(dim, 0.55 * dim, 0.8)),
    }
    if dim == 4:
        made["polytope"] = (Polytope(vertices=CORNERS), reference.Polytope(CORNERS))
    return {name: (as_arrays(ours), theirs) for name, (ours, theirs) in made.items()}


def atoms(name, dim):
    """All extreme points, by enumeration."""
    eye = np.eye(dim)
    spent = np.clip(0.55 * dim - 0.8 * np.arange(dim), 0.0, 0.8)
    return {
        "l1": lambda: 1.7 * np.concatenate([eye, -eye]),
        "box": lambda: 1.7 * np.array(list(itertools.product([-1.0, 1.0], repeat=dim))),
        "simplex": lambda: 1.7 * eye,
        "capped": lambda: np.array(sorted(set(itertools.permutations(spent)))),
        "polytope": lambda: CORNERS,
    }[name]()


NAMES = list(sets(4))
WITH_PROJECTION = [name for name in NAMES if name != "polytope"]
lmo = jax.jit(lambda domain, c: domain.lmo(c)[0])
project = jax.jit(lambda domain, x: domain.project(x))
contains = jax.jit(lambda domain, x: domain.contains(x))


def directions(rng, dim):
    """Of all sizes, and whole numbers, which tie."""
    for size in (1e-9, 1.0, 1e9):
        for _ in range(5):
            yield size * rng.normal(size=dim)
    for _ in range(10):
        yield rng.integers(-2, 3, dim).astype(float)


class TestOracle:
    @pytest.mark.parametrize("name", NAMES)
    def test_no_atom_is_better(self, name, rng):
        ours, theirs = sets(4)[name]
        extreme = atoms(name, 4)
        for c in directions(rng, 4):
            v = np.asarray(lmo(ours, c))
            assert c @ v == pytest.approx((extreme @ c).min(), rel=1e-13, abs=1e-13)
            assert theirs.excess(v) <= 1e-12

    @pytest.mark.parametrize("dim", [1, 4, 60])  # above 48 coordinates reductions take the place of written-out sums
    @pytest.mark.parametrize("name", WITH_PROJECTION)
    def test_same_point_as_the_reference(self, name, dim, rng):
        ours, theirs = sets(dim)[name]
        for c in directions(rng, dim):
            np.testing.assert_allclose(lmo(ours, c), theirs.lmo(c), rtol=1e-13, atol=1e-13)

    def test_box_with_bounds_of_its_own(self, rng):
        low, high = np.array([-1.0, 0.0, 2.0]), np.array([1.0, 5.0, 2.5])
        box = Box(dim=3, low=low, high=high)
        np.testing.assert_array_equal(lmo(box, jnp.array([1.0, -1.0, 0.0])), [-1.0, 5.0, 2.25])
        np.testing.assert_array_equal(project(box, jnp.array([9.0, -9.0, 2.1])), [1.0, 0.0, 2.1])
        np.testing.assert_array_equal(box.zero(3), [0.0, 0.0, 2.0])
        assert box.diameter == pytest.approx(np.linalg.norm(high - low))
        assert box.inner_radius(3) == 0.25
        assert box.outer_radius(3) == pytest.approx(np.linalg.norm([1.0, 5.0, 2.5]))

    def test_box_of_matrices(self, rng):
        c = rng.normal(size=(2, 3))
        np.testing.assert_array_equal(lmo(Box(dim=(2, 3)), c), -np.sign(c))

    @pytest.mark.parametrize("kind", [np.uint8, np.int8, np.int32, np.float16, bool])
    def test_lengths_of_small_types_do_not_overflow(self, kind):
        side = {np.uint8: 200, np.int8: 100, np.int32: 60_000, np.float16: 40_000, bool: 1}[kind]
        corners = (np.array([[0, 0], [1, 0], [0, 1]]) * side).astype(kind)
        for vertices in (corners, jnp.asarray(corners)):
            domain = Polytope(vertices=vertices)
            assert float(domain.diameter) == pytest.approx(side * 2.0**0.5, rel=1e-6)
            assert float(domain.outer_radius(2)) == pytest.approx(side, rel=1e-6)
            np.testing.assert_array_equal(lmo(domain, jnp.array([1.0, -1.0])), [0.0, side])
        if kind is np.int8:
            box = Box(dim=2, low=kind(-128), high=kind(127))
            assert float(box.diameter) == pytest.approx(255.0 * 2.0**0.5)
            assert (float(box.inner_radius(2)), float(box.outer_radius(2))) == (127.5, pytest.approx(128.0 * 2.0**0.5))
        if kind is bool:  # numbers of Python
            assert float(Box(dim=2, low=False, high=True).inner_radius(2)) == 0.5
            box = Box(dim=2, low=-2_000_000_000, high=2_000_000_000)
            assert float(box.inner_radius(2)) == 2e9 and float(box.diameter) == pytest.approx(4e9 * 2.0**0.5)
        if kind is np.float16:
            box = Box(dim=2, low=kind(-side), high=kind(side))
            assert float(box.diameter) == pytest.approx(80_000.0 * 2.0**0.5) and float(box.inner_radius(2)) == side

    @pytest.mark.parametrize("kind", [np.uint8, np.int8, np.int32, np.float16])
    def test_sizes_of_small_types_do_not_overflow(self, kind):
        size = {np.uint8: 200, np.int8: 100, np.int32: 2**30, np.float16: 40_000}[kind]
        for made in (kind(size), jnp.asarray(size, kind)):
            sets = (L2Ball(radius=made), L1Ball(radius=made), NuclearBall(radius=made))
            assert [float(domain.diameter) for domain in sets] == [2.0 * size] * 3
            others = (Simplex(total=made), Spectrahedron(radius=made), CappedSimplex(dim=3, total=made, cap=made))
            for domain in others:
                assert float(domain.diameter) == pytest.approx(2.0**0.5 * size)
            np.testing.assert_allclose(lmo(L1Ball(radius=made), np.array([1.0, -3.0])), [0.0, size])
            np.testing.assert_allclose(lmo(NuclearBall(radius=made), np.diag([3.0, 1.0])), np.diag([-size, 0.0]))
            assert bool(L2Ball(radius=made).contains(np.array([0.0, size])))


class TestProjection:
    @pytest.mark.quick_cases("*-4", "l1-1")
    @pytest.mark.parametrize("dim", [1, 4, 60])
    @pytest.mark.parametrize("name", WITH_PROJECTION)
    def test_nearest_point(self, name, dim, rng):
        """p is the nearest point iff it is in the set and `<y - p, z - p> <= 0` for all z: the worst, by the oracle."""
        ours, theirs = sets(dim)[name]
        for scale in (0.01, 1.0, 1e4):
            for _ in range(6):
                y = scale * rng.normal(size=dim)
                p = np.asarray(project(ours, y))
                assert theirs.excess(p) <= 1e-13 * dim * max(1.0, scale)
                z = theirs.lmo(p - y)
                assert (y - p) @ (z - p) <= 1e-13 * dim * max(1.0, scale) ** 2
                np.testing.assert_allclose(p, theirs.project(y), atol=1e-13 * dim * max(1.0, scale))

    @pytest.mark.slow
    def test_same_as_optax(self, rng):
        theirs = jax.jit(
            lambda y: (
                optax.projections.projection_l1_ball(y, 1.7),
                optax.projections.projection_simplex(y, 1.7),
                optax.projections.projection_box(y, -1.7, 1.7),
            )
        )
        for y in 3.0 * rng.normal(size=(10, 60)):
            for name, expected in zip(("l1", "simplex", "box"), theirs(y), strict=True):
                np.testing.assert_allclose(project(sets(60)[name][0], y), expected, atol=1e-13)

    @pytest.mark.parametrize("name", WITH_PROJECTION)
    @hypothesis.given(
        y=arrays.arrays(float, 4, elements=st.floats(-5, 5) | st.sampled_from([0.0, 0.8, -0.8, 1.7, 1e-300])),
        c=arrays.arrays(float, 4, elements=st.floats(-5, 5) | st.sampled_from([0.0, 1.0])),
    )
    def test_any_point(self, name, y, c):
        """In the set, itself inside it, and no further from any point of it than before."""
        ours, theirs = sets(4)[name]
        p, v = np.asarray(project(ours, y)), theirs.lmo(c)
        assert theirs.excess(p) <= 1e-13
        assert bool(contains(ours, p))
        np.testing.assert_allclose(project(ours, p), p, atol=1e-13)
        assert np.linalg.norm(p - v) <= np.linalg.norm(y - v) + 1e-13
        if theirs.excess(y) > 1e-6:
            assert not bool(contains(ours, y))

    @pytest.mark.parametrize("name", ["l1", "simplex"])
    def test_entries_of_very_different_size(self, name):
        ours, theirs = sets(4)[name]
        y = np.array([1e12, 1e12 - 1.0, 1e-12, -1e6])
        p = np.asarray(project(ours, y))
        assert theirs.excess(p) <= 1e-13
        np.testing.assert_allclose(p, [1.35, 0.35, 0.0, 0.0], atol=1e-3)  # 1e12 has an ulp of 1e-4

    @pytest.mark.parametrize("dtype", [jnp.float32, jnp.float64])
    @pytest.mark.parametrize("dim", [4, 60])
    @pytest.mark.parametrize("share", [0.01, 0.55, 0.99])
    def test_capped_simplex_contains_projections_of_points_far_away(self, share, dim, dtype, rng):
        """With a large offset common to all coordinates, or far from each other."""
        ours = CappedSimplex(dim=dim, total=share * 0.8 * dim, cap=0.8)

        @jax.jit
        @jax.vmap
        def inside(y):
            return ours.contains(ours.project(y))

        for offset in (0.0, 1e3, -1e6, 1e12, 1e30):
            for scale in (1.0, 1e4):
                assert np.all(inside(jnp.asarray(offset + scale * rng.normal(size=(50, dim)), dtype))), (offset, scale)


class TestMeasures:
    @pytest.mark.parametrize("name", NAMES)
    def test_diameter_and_outer_radius(self, name):
        ours, _ = sets(4)[name]
        extreme = atoms(name, 4)
        assert ours.diameter == pytest.approx(max(np.linalg.norm(a - b) for a in extreme for b in extreme), rel=1e-13)
        assert ours.outer_radius(4) == pytest.approx(np.linalg.norm(extreme, axis=1).max(), rel=1e-13)

    @pytest.mark.parametrize("name", ["l1", "box"])
    def test_inner_radius(self, name, rng):
        """The least of the support function over unit vectors: it is attained, and nothing is below."""
        ours, theirs = sets(4)[name]
        units = np.concatenate([rng.normal(size=(50, 4)), np.eye(4), np.ones((1, 4))])
        units /= np.linalg.norm(units, axis=1)[:, None]
        support = [u @ theirs.lmo(-u) for u in units]
        assert ours.inner_radius(4) == pytest.approx(min(support), rel=1e-13)
        np.testing.assert_array_equal(ours.center(4), np.zeros(4))

    @pytest.mark.parametrize("name", NAMES)
    def test_start_is_inside(self, name):
        ours, theirs = sets(4)[name]
        assert theirs.excess(np.asarray(ours.zero(4))) <= 1e-7  # least squares of the polytope

    @pytest.mark.parametrize("name", WITH_PROJECTION)
    def test_start_is_nearest_to_the_origin(self, name):
        ours, theirs = sets(4)[name]
        np.testing.assert_allclose(ours.zero(4), theirs.project(np.zeros(4)), atol=1e-15)


class TestSpectrahedron:
    @pytest.mark.quick_cases("2")
    @pytest.mark.parametrize("side", [1, 2, 6])
    def test_against_the_reference(self, side, rng):
        ours, theirs = as_arrays(Spectrahedron(radius=1.7)), reference.Spectrahedron(side, 1.7)
        for scale in (1e-160, 1.0, 1e160):
            c = scale * rng.normal(size=(side, side))
            v = np.asarray(lmo(ours, c))
            np.testing.assert_allclose(v, theirs.lmo(c), atol=1e-11)
        for scale in (0.01, 1.0, 1e3):
            y = scale * rng.normal(size=(side, side))
            np.testing.assert_allclose(project(ours, y), theirs.project(y), atol=1e-13 * (1 + scale))

    def test_nothing_to_gain(self):
        c = jnp.diag(jnp.array([1.0, 0.0, 3.0]))
        np.testing.assert_array_equal(lmo(as_arrays(Spectrahedron()), c), np.zeros((3, 3)))

    def test_measures(self, rng):
        ours, extreme = Spectrahedron(radius=1.7), [np.zeros((3, 3))]
        extreme += [1.7 * np.outer(e, e) for e in np.eye(3)]
        assert ours.diameter == pytest.approx(max(np.linalg.norm(a - b) for a in extreme for b in extreme))
        assert ours.outer_radius((3, 3)) == 1.7
        assert {"center", "inner_radius"}.isdisjoint(protocol.offers(ours))

    @pytest.mark.slow
    def test_lanczos(self, rng):
        """Above 64: feasible, as good as the best within 1 %, and better from the previous vector."""
        ours = as_arrays(Spectrahedron(radius=2.0, iterations=12))
        c = rng.normal(size=(80, 80))
        c = c + c.T
        best = 2.0 * np.linalg.eigvalsh(c)[0]
        v, guess = jax.jit(lambda domain, c, guess: domain.lmo(c, guess))(ours, c, None)
        first = np.sum(c * np.asarray(v))
        assert best <= first <= 0.9 * best
        assert np.trace(v) == pytest.approx(2.0, rel=1e-13)
        second = np.sum(c * np.asarray(ours.lmo(jnp.asarray(c), guess)[0]))
        assert best <= second <= 0.99 * best
        assert second < first
        full = np.asarray(lmo(as_arrays(Spectrahedron(radius=2.0, iterations=80)), c))
        assert np.sum(c * full) == pytest.approx(best, rel=1e-12)

    def test_lanczos_in_an_invariant_space(self, rng):
        """Rank 2: the Krylov space ends after three vectors, and the zeros that follow change nothing."""
        u, _ = np.linalg.qr(rng.normal(size=(70, 2)))
        c = u * [-3.0, 2.0] @ u.T
        ours = as_arrays(Spectrahedron())
        np.testing.assert_allclose(lmo(ours, c), np.outer(u[:, 0], u[:, 0]), atol=1e-10)
        positive = np.outer(u[:, 0], u[:, 0])  # nothing to gain: 0, or what rounding makes of it
        assert abs(np.sum(positive * np.asarray(lmo(ours, positive)))) <= 1e-13


@pytest.mark.quick_cases("l1", "box")
@pytest.mark.parametrize("name", NAMES)
def test_trials_last_is_the_loop(name, rng):
    ours, _ = sets(4)[name]
    c = rng.normal(size=(5, 4))
    for operation in (lmo, project) if name in WITH_PROJECTION else (lmo,):
        together = jax.jit(vmap_last(functools.partial(operation, ours)))(jnp.asarray(c.T))
        for k in range(5):
            np.testing.assert_allclose(together[:, k], operation(ours, c[k]), atol=1e-13)


@pytest.mark.slow_after_first
@pytest.mark.parametrize(
    "make",
    [
        lambda r: L1Ball(radius=r),
        lambda r: Simplex(total=r),
        lambda r: Box(dim=3, low=-r, high=r),
        lambda r: CappedSimplex(dim=3, total=r, cap=r),
    ],
)
def test_vmap_over_size(make, rng):
    sizes, x = jnp.asarray([0.5, 1.0, 2.0]), jnp.asarray(rng.normal(size=(3, 3)))

    def all_of(r, c):
        return make(r).lmo(c)[0], make(r).project(c), make(r).diameter + 0.0 * r

    together, alone = jax.jit(jax.vmap(all_of))(sizes, x), jax.jit(all_of)
    for k in range(3):
        for a, b in zip(together, alone(sizes[k], x[k]), strict=True):
            np.testing.assert_allclose(a[k], b, atol=1e-14)


@pytest.mark.parametrize("domain", [ours for ours, _ in sets(4).values()] + [Spectrahedron(radius=2.0)])
def test_has_a_name(domain):
    data = {}
    value = to_spec(domain, data)
    again = from_spec(value, data)
    assert type(again) is type(domain)
    for a, b in zip(jax.tree.leaves(again), jax.tree.leaves(domain), strict=True):
        np.testing.assert_array_equal(a, b)


SHAPES = {  # on both sides of where reductions take the place of written-out sums, or a search that of a solver
    L2Ball(): [(4,), (4, 3)], L1Ball(): [(4,), (60,)], Simplex(): [(4,), (60,)], Box(dim=4): [(4,)],
    CappedSimplex(dim=60): [(60,)], CappedSimplex(dim=4): [(4,)], NuclearBall(): [(4, 3), (70, 66)],
    Spectrahedron(): [(4, 4), (70, 70)], WholeSpace(): [(4,)],
}  # fmt: skip


@pytest.mark.parametrize("whole", [False, True], ids=["numbers", "arrays"])
def test_float32_points_in_a_process_of_64_bits(whole):
    """Projections take them and, where the set's sizes are Python numbers, keep them float32. Traced only."""
    for domain, shapes in SHAPES.items():
        ours = as_arrays(domain) if whole else domain
        for shape in shapes:
            x = jax.ShapeDtypeStruct(shape, jnp.float32)
            projected = jax.eval_shape(ours.project, x)
            assert projected.shape == shape
            assert whole or projected.dtype == jnp.float32, domain
            if hasattr(ours, "lmo"):
                assert jax.eval_shape(ours.lmo, x)[0].shape == shape


def test_what_sets_can_do():
    both = {"project", "lmo"}
    assert both <= set(protocol.offers(L2Ball()))
    assert "project" not in protocol.offers(Polytope(vertices=CORNERS))
    assert "lmo" not in protocol.offers(WholeSpace())
    with pytest.raises(InputError, match=r"X.domain must have 'project'; Polytope lacks it \(it has: diameter, zero, "):
        protocol.check(Polytope(vertices=CORNERS), "X.domain", "lmo", "project")


@pytest.mark.parametrize(
    ("domain", "message"),
    [
        (L1Ball(radius=0.0), "L1Ball.radius"),
        (Simplex(total=-1.0), "Simplex.total"),
        (Box(dim=2, low=1.0, high=1.0), "Box.low must lie below Box.high, got 1.0 and 1.0"),
        (Box(dim=2, low=[0.0]), r"Box.low must be .* array of shape \(2,\), got shape \(1,\)"),
        (Box(dim=2, low=[[0.0], [0.0, 1.0]]), "Box.low must be a number in"),
        (Box(dim=2, low=np.zeros(2), high=np.ones(3)), r"Box.high must be .* array of shape \(2,\), got shape \(3,\)"),
        (Box(dim=3, low=np.zeros(2), high=np.ones((2, 2))), r"Box.low must be .* array of shape \(3,\), got"),
        (Box(dim=(2, 2), low=np.zeros(2)), r"Box.low must be .* array of shape \(2, 2\), got shape \(2,\)"),
        (CappedSimplex(dim=2, total=3.0), "CappedSimplex.total must be at most 2 .dim. times the cap, got 3 times"),
        (Polytope(vertices=np.ones(3)), r"Polytope.vertices must have shape \[n, d\]"),
        (Spectrahedron(iterations=0), "Spectrahedron.iterations"),
    ],
)
def test_refuses(domain, message):
    with pytest.raises(InputError, match=message):
        validate(domain)


def test_boxes_of_a_sweep_are_valid_and_measured_one_by_one():
    """In a sweep, each bound has a first axis, which may be as long as the dimension.

    Two numbers at d points cannot be told from the bounds `[d]` of one box.
    """
    for n in (1, 2, 3):
        low, high = -np.arange(1.0, n + 1.0), np.tile([1.0, 2.0], (n, 1))
        ours = Box(dim=2, low=low, high=high)
        validate(ours)
        alone = [Box(dim=2, low=low[i], high=high[i]) for i in range(n)]
        np.testing.assert_allclose(ours.diameter, [box.diameter for box in alone], rtol=1e-6)
        np.testing.assert_allclose(ours.inner_radius(2), [box.inner_radius(2) for box in alone])
        with pytest.raises(InputError, match=r"Box.low must lie below Box.high"):
            validate(Box(dim=2, low=low + 2.0, high=high))
    with pytest.raises(InputError, match=r"Box.low must be .* array of shape \(2,\), got shape \(3,\)"):
        Box(dim=2, low=np.zeros(3), high=np.ones(3)).zero(2)  # valid as a sweep only


@pytest.mark.slow_after_first
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("dim", [3, 10, 60])
def test_capped_simplex_of_large_coordinates(dim, dtype, rng):
    """A common offset, or a large spread: the answer is in the set, and that of the coordinates as rounded."""
    ours, theirs = CappedSimplex(dim=dim, total=1.5, cap=0.8), reference.CappedSimplex(dim, 1.5, 0.8)
    project, contains = jax.jit(jax.vmap(ours.project)), jax.jit(jax.vmap(ours.contains))
    for offset, spread in ((1e3, 1.0), (-1e6, 10.0), (1e20, 1.0), (0.0, 1e6), (0.0, 1e19)):
        x = (offset + spread * rng.normal(size=(50, dim))).astype(dtype)
        projected = project(jnp.asarray(x))
        assert projected.dtype == dtype and bool(contains(projected).all())
        for row, got in zip(x[:5].astype(float), np.asarray(projected), strict=False):
            shifted = np.clip(row - np.sort(row)[-2], -2.0, 2.0)  # ceil(1.5 / 0.8) = 2: clipped as the others
            np.testing.assert_allclose(got, theirs.project(shifted), atol=50 * np.finfo(dtype).eps)
