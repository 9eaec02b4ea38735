"""Covertype: the reader on files in the UCI format, k-means, the stand-in, and the bandit made of clusters."""

import gzip

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxbandits import simulation
from jaxbandits.algorithms.glm.glb_omd import GLBOMD
from jaxbandits.algorithms.linear.uniform import Uniform
from jaxbandits.base.errors import InputError
from jaxbandits.base.pytree import as_arrays, validate
from jaxbandits.environments.datasets.covertype import Rows, clusters, covertype_like, kmeans, load_covertype
from jaxbandits.environments.glm.covertype import Covertype
from jaxbandits.types import ArmDecision

pytestmark = pytest.mark.filterwarnings("ignore:.*the published file has:UserWarning")  # of the small files


def table(n=200, seed=0):
    """Integers as in the file: 10 measurements in 4 well-separated groups, 44 indicators, a cover type 1..7."""
    rng = np.random.default_rng(seed)
    group = rng.integers(4, size=n)
    measurements = 1000 * rng.integers(-3, 4, size=(4, 10))[group] + rng.integers(-20, 21, size=(n, 10))
    return np.column_stack([measurements, rng.integers(2, size=(n, 44)), rng.integers(1, 8, size=n)]), group


def text(rows):
    return "".join(",".join(map(str, row)) + "\n" for row in rows)


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "covtype.data"
    path.write_text(text(table()[0]))
    return path


class TestReader:
    @pytest.mark.parametrize("compressed", [False, True])
    def test_reads_what_was_written(self, tmp_path, compressed):
        rows = table()[0]
        path = tmp_path / ("covtype.data.gz" if compressed else "covtype.data")
        path.write_bytes(gzip.compress(text(rows).encode()) if compressed else text(rows).encode())
        read = load_covertype(path)
        np.testing.assert_array_equal(read.features, rows[:, :10])
        np.testing.assert_array_equal(read.labels, rows[:, -1] == 2)
        assert read.source == "covertype"
        np.testing.assert_array_equal(load_covertype(path, rewarded=7).labels, rows[:, -1] == 7)

    @pytest.mark.parametrize(
        ("change", "message"),
        [
            (lambda row: row[:-1], r"covtype.data, line 3: column 55 must be a whole number, got ''"),
            (lambda row: [*row[:4], "x1", *row[5:]], r"line 3: column 5 must be a whole number, got 'x1'"),
            (lambda row: [*row[:4], "2.5", *row[5:]], r"line 3: column 5 must be a whole number, got '2.5'"),
            (lambda row: [*row[:4], "", *row[5:]], r"line 3: column 5 must be a whole number, got ''"),
            (lambda row: [*row[:-1], 8], r"line 3: the cover type \(column 55\) must be from 1 to 7, got 8"),
        ],
    )
    def test_malformed_rows_are_named_by_line(self, tmp_path, change, message):
        rows = [list(row) for row in table(5)[0]]
        rows[2] = change(rows[2])
        path = tmp_path / "covtype.data"
        path.write_text(text(rows))
        with pytest.raises(InputError, match=message):
            load_covertype(path)

    def test_unreadable_files(self, tmp_path, file):
        with pytest.raises(InputError, match=r"cannot read .*nowhere.data: No such file"):
            load_covertype(tmp_path / "nowhere.data")
        empty = tmp_path / "empty.data"
        empty.write_text("\n\n")
        with pytest.raises(InputError, match="holds no rows"):
            load_covertype(empty)
        cut = tmp_path / "cut.gz"
        cut.write_bytes(gzip.compress(file.read_bytes())[:-20])
        with pytest.raises(InputError, match=r"cannot read .*cut.gz: "):
            load_covertype(cut)
        binary = tmp_path / "binary.data"
        binary.write_bytes(b"\xff\xfe\x00\x01")
        with pytest.raises(InputError, match=r"binary.data: not UTF-8 text"):
            load_covertype(binary)
        with pytest.raises(InputError, match=r"rewarded must be a whole number in \[1, 7\], got 0"):
            load_covertype(file, rewarded=0)


class TestClusters:
    def test_separated_groups_become_the_arms(self, file):
        """Four groups far apart: k-means must find them, whatever the subsample; then every number is known."""
        rows, group = table()
        made = clusters(load_covertype(file), n_arms=4, subsample=60)
        standard = (rows[:, :10] - rows[:, :10].mean(0)) / rows[:, :10].std(0)
        expected = np.array([[*standard[group == g].mean(axis=0), 1.0] for g in range(4)])
        expected /= np.linalg.norm(expected, axis=1).max()
        order = [int(np.argmin(np.linalg.norm(made.arms - arm, axis=1))) for arm in expected]
        assert sorted(order) == [0, 1, 2, 3]
        np.testing.assert_allclose(made.arms[order], expected, atol=1e-12)
        shares = [np.mean(rows[group == g, -1] == 2) for g in range(4)]
        np.testing.assert_allclose(made.means[order], shares, atol=1e-12)
        np.testing.assert_array_equal(made.sizes[order], np.bincount(group))
        assert np.linalg.norm(made.arms, axis=1).max() == pytest.approx(1.0, abs=1e-12)

    def test_lloyd_ends_where_every_centre_is_the_mean_of_its_points(self, rng):
        points = rng.normal(size=(500, 3))
        centers = kmeans(points, 7, rng, iterations=1000)
        nearest = np.argmin(((points[:, None] - centers) ** 2).sum(-1), axis=1)
        for k in range(7):
            np.testing.assert_allclose(centers[k], points[nearest == k].mean(axis=0), atol=1e-12)

    def test_more_iterations_never_cost_more(self, rng):
        points = rng.normal(size=(400, 2))
        cost = [
            ((points[:, None] - kmeans(points, 6, np.random.default_rng(1), i)) ** 2).sum(-1).min(1).sum()
            for i in (0, 1, 3, 10, 30)
        ]
        assert np.all(np.diff(cost) <= 1e-9) and cost[-1] < cost[0]

    def test_seeding_spreads_and_the_seed_repeats(self, rng):
        points = np.concatenate([rng.normal(c, 1e-3, (100, 2)) for c in (0.0, 50.0, 100.0)])
        one, two = (kmeans(points, 3, np.random.default_rng(5)) for _ in range(2))
        np.testing.assert_array_equal(one, two)
        np.testing.assert_allclose(np.sort(one[:, 0]), [0.0, 50.0, 100.0], atol=1e-2)

    def test_refused(self, rng):
        with pytest.raises(InputError, match="needs 3 distinct points, found 2"):
            kmeans(np.repeat([[0.0], [1.0]], 5, axis=0), 3, rng)
        with pytest.raises(InputError, match="k-means needs 1 <= k <= 4 points, got k = 5"):
            kmeans(rng.normal(size=(4, 2)), 5, rng)

    def test_a_constant_column_stays_finite(self, file):
        rows = load_covertype(file)
        rows.features[:, 3] = 7.0
        assert np.isfinite(clusters(rows, n_arms=4).arms).all()


class TestStandIn:
    def test_is_labelled_and_has_the_shapes(self):
        made = Covertype.stand_in(rows=4000)
        validate(made)
        assert made.dataset == "stand-in" and made.arms.shape == (60, 11) and made.means.shape == (60,)
        assert made.means.min() < 0.25 and made.means.max() > 0.75
        np.testing.assert_array_equal(made.arms, Covertype.stand_in(rows=4000).arms)

    def test_the_logistic_model_is_wrong_but_informative(self):
        """The best logistic parameter ranks the clusters well and fits none of them exactly."""
        made = Covertype.stand_in(rows=20_000)
        fit = 1.0 / (1.0 + np.exp(-made.arms @ made.best_fit()))
        assert np.corrcoef(fit, made.means)[0, 1] > 0.9
        assert 0.03 < np.abs(fit - made.means).max() < 0.3

    def test_columns_are_correlated_and_skewed(self):
        columns = covertype_like(20_000).features
        z = (columns - columns.mean(0)) / columns.std(0)
        assert np.abs(np.corrcoef(z.T) - np.eye(10)).max() > 0.5
        assert (np.mean(z**3, axis=0)[::2] > 0.5).all()


class TestBandit:
    def test_rewards_and_regret(self, file):
        env = as_arrays(Covertype.from_file(file, n_arms=4))
        state = env.init(jax.random.key(0))
        obs = env.observe(jax.random.key(1), jnp.int32(0), state)
        arms, means = np.asarray(obs.arms), np.asarray(env.means)
        keys = jax.random.split(jax.random.key(2), 20_000)
        for k in range(4):
            decision = ArmDecision(jnp.int32(k), jnp.asarray(arms[k]))
            step = jax.jit(jax.vmap(lambda key, d=decision: env.step(key, jnp.int32(0), state, obs, d)[1:]))
            feedback, outcome = step(keys)
            np.testing.assert_allclose(outcome.regret, means.max() - means[k], atol=1e-15)
            assert set(np.unique(feedback.reward)) <= {0.0, 1.0}
            spread = np.sqrt(means[k] * (1.0 - means[k]) / len(keys))
            assert abs(np.mean(feedback.reward) - means[k]) < 5.0 * spread + 1e-12

    @pytest.mark.slow
    def test_glb_omd_with_a_shrunk_radius_beats_uniform_play(self):
        """The setting of the experiment with radius factor 0.1, on the stand-in; paired over trials."""
        learners = {
            "glb": GLBOMD.experiments(dim=11, norm_bound=6.0, delta=0.01, beta_scale=0.1),
            "uniform": Uniform(dim=11),
        }
        result = simulation.compare(learners, Covertype.stand_in(rows=4000), 1000, 32, record_points=1, progress=False)
        glb, uniform = (result.final("regret", name)[0] for name in learners)
        gap = uniform - glb
        assert gap.mean() > 5.0 * gap.std() / np.sqrt(32) and glb.mean() < 0.5 * uniform.mean()

    @pytest.mark.slow
    def test_clusters_of_your_own_data(self):
        """Another data set, of another width, under its own name."""
        draws = np.random.default_rng(4)
        rows = Rows(draws.normal(size=(200, 3)), draws.integers(2, size=200).astype(float), "my forest")
        environment = Covertype.from_clusters(clusters(rows, 5))
        validate(environment)
        assert (environment.dataset, environment.n_arms, environment.dim) == ("my forest", 5, 4)
        result = simulation.simulate(Uniform(dim=4), environment, 20, 2, record_points=1, progress=False)
        assert result["Uniform"].healthy.all() and np.all(result.final("regret") > 0.0)

    @pytest.mark.parametrize(
        ("fields", "message"),
        [
            ({"dataset": ""}, r"Covertype.dataset must be the name of the data, got ''"),
            ({"n_arms": 5}, r"Covertype.arms must have shape \(5, 11\), got \(4, 11\)"),
            ({"means": np.array([0.1, 0.2, 0.3, 1.4])}, r"Covertype.means must lie in \[0, 1\], got 1.4"),
        ],
    )
    def test_refused(self, file, fields, message):
        made = Covertype.from_file(file, n_arms=4)
        given = {name: getattr(made, name) for name in ("n_arms", "dim", "dataset", "arms", "means")}
        with pytest.raises(InputError, match=message):
            validate(Covertype(**given | fields))
