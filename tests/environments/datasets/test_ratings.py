"""MovieLens and FilmTrust: the readers on files in the publishers' formats, their errors, and the stand-in."""

import gzip
import os
from pathlib import Path

import numpy as np
import pytest

from jaxbandits.base.errors import InputError
from jaxbandits.environments.datasets.filmtrust import load_filmtrust
from jaxbandits.environments.datasets.movielens import load_movielens
from jaxbandits.environments.datasets.ratings import Ratings, densest_part, low_rank_ratings

U_DATA = "3\t2\t5\t881250949\r\n1\t4\t1\t891717742\r\n\r\n3\t1\t2\t878887116\r\n"
RATINGS = "2 3 0.5\r\n1 1 4\r\n2 3 3.5\r\n1 2 2.0\r\n"
TINY = {"shape": (3, 4), "n_ratings": None}


@pytest.fixture
def write(tmp_path):
    def writer(content, name="u.data"):
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return writer


class TestReaders:
    @pytest.mark.parametrize("compressed", [False, True])
    def test_movielens(self, write, compressed):
        path = write(gzip.compress(U_DATA.encode()) if compressed else U_DATA)
        read = load_movielens(path, **TINY)
        np.testing.assert_array_equal(read.users, [2, 0, 2])
        np.testing.assert_array_equal(read.items, [1, 3, 0])
        np.testing.assert_array_equal(read.ratings, [5.0, 1.0, 2.0])
        assert (read.shape, read.scale, read.source, len(read)) == ((3, 4), (1.0, 5.0), "movielens-100k", 3)
        assert (read.users.dtype, read.ratings.dtype) == (np.int32, np.float64)
        assert len(load_movielens(str(path), shape=(3, 4), n_ratings=3)) == 3

    def test_filmtrust_keeps_the_last_rating_of_a_pair(self, write):
        read = load_filmtrust(write(RATINGS, "ratings.txt"), shape=(2, 3), n_ratings=4)
        np.testing.assert_array_equal(np.column_stack([read.users, read.items]), [[0, 0], [1, 2], [0, 1]])
        np.testing.assert_array_equal(read.ratings, [4.0, 3.5, 2.0])
        assert (read.scale, read.source) == ((0.5, 4.0), "filmtrust")

    def test_filmtrust_with_commas_is_the_same(self, write):
        read, other = (
            load_filmtrust(write(text, "ratings.txt"), shape=(2, 3), n_ratings=4)
            for text in (RATINGS, RATINGS.replace(" ", ","))
        )
        assert (read.users == other.users).all() and (read.ratings == other.ratings).all()

    def test_entries_are_frozen(self, write):
        with pytest.raises(AttributeError):
            load_movielens(write(U_DATA), **TINY).shape = (1, 1)


MOVIELENS_LINES = {
    "3\t2\t5": r"line 2: column 4 \(timestamp\) must be a whole number, got ''",
    "3\t2\t5\t1\t1": r"line 2: 5 cells, but the first row has 4",
    "3 2 5 881250949": r"line 2: column 1 \(user\) must be a whole number, got '3 2 5 881250949'",
    "three\t2\t5\t1": r"line 2: column 1 \(user\) must be a whole number, got 'three'",
    "1.5\t2\t5\t1": r"line 2: column 1 \(user\) must be a whole number, got '1.5'",
    "1\t\t5\t1": r"line 2: column 2 \(item\) must be a whole number, got ''",
    "1_0\t2\t5\t1": r"line 2: column 1 \(user\) must be a whole number, got '1_0'",
    "--1\t2\t5\t1": r"line 2: column 1 \(user\) must be a whole number, got '--1'",
    "9" * 50 + "\t2\t5\t1": r"line 2: column 1 \(user\) must be a whole number, got '9{37}\.\.\.'",
    "0\t2\t5\t1": r"line 2: the user must be from 1 to 3, got 0",
    "-2\t2\t5\t1": r"line 2: the user must be from 1 to 3, got -2",
    "4\t2\t5\t1": r"line 2: the user must be from 1 to 3, got 4",
    "1\t5\t5\t1": r"line 2: the item must be from 1 to 4, got 5",
    "1\t2\t6\t1": r"line 2: the rating must be from 1 to 5 in steps of 1, got 6",
    "1\t2\t4.5\t1": r"line 2: the rating must be from 1 to 5 in steps of 1, got 4.5",
    "1\t2\tgood\t1": r"line 2: column 3 \(rating\) must be a finite number, got 'good'.*",
    "1\t2\tnan\t1": r"line 2: column 3 \(rating\) must be a finite number, got 'nan'.*",
    "1\t2\tinf\t1": r"line 2: column 3 \(rating\) must be a finite number, got 'inf'.*",
    "1\t2\t\t1": r"line 2: column 3 \(rating\) must be a finite number, got ''.*",
    "1\t2\t5\tnoon": r"line 2: column 4 \(timestamp\) must be a whole number, got 'noon'",
    "1\t2\t5\t-1.5": r"line 2: column 4 \(timestamp\) must be a whole number, got '-1.5'",
    "2\t1\t5\t1": r"line 2: user 2 has rated item 1 before",
}
FILMTRUST_LINES = {
    "2 1": r"line 2: column 3 \(rating\) must be a finite number, got ''.*",
    "2;1;3": r"line 2: column 1 \(user\) must be a whole number, got '2;1;3'",
    "2 1 0": r"line 2: the rating must be from 0.5 to 4 in steps of 0.5, got 0",
    "2 1 4.5": r"line 2: the rating must be from 0.5 to 4 in steps of 0.5, got 4.5",
    "2 1 3.25": r"line 2: the rating must be from 0.5 to 4 in steps of 0.5, got 3.25",
    "2 1 1_0": r"line 2: column 3 \(rating\) must be a finite number, got '1_0'.*",
}


class TestErrors:
    @pytest.mark.parametrize(("line", "message"), MOVIELENS_LINES.items(), ids=range(len(MOVIELENS_LINES)))
    def test_malformed_movielens(self, write, line, message):
        with pytest.raises(InputError, match=r"u\.data, " + message + "$"):
            load_movielens(write(f"2\t1\t4\t880000000\n{line}\n"), **TINY)

    @pytest.mark.parametrize(("line", "message"), FILMTRUST_LINES.items(), ids=range(len(FILMTRUST_LINES)))
    def test_malformed_filmtrust(self, write, line, message):
        with pytest.raises(InputError, match=r"ratings\.txt, " + message + "$"):
            load_filmtrust(write(f"2 1 4\n{line}\n", "ratings.txt"), **TINY)

    @pytest.mark.parametrize("load", [load_movielens, load_filmtrust])
    def test_unreadable(self, load, write, tmp_path):
        with pytest.raises(InputError, match=r"cannot read .*nowhere: No such file"):
            load(tmp_path / "nowhere")
        with pytest.raises(InputError, match=r"cannot read .*: Is a directory"):
            load(tmp_path)
        with pytest.raises(InputError, match=r"empty holds no rows"):
            load(write("\n \n", "empty"))
        with pytest.raises(InputError, match=r"text, line 1: (column 3 \(rating\) must be a finite number|expected 3)"):
            load(write("1\t1\t\u0663\t1\n", "text"))
        with pytest.raises(InputError, match=r"cannot read .*cut: "):
            load(write(gzip.compress(b"\n" * 1000)[:-12], "cut"))
        with pytest.raises(InputError, match=r"cannot read .*damaged: "):
            load(write(b"\x1f\x8b" + bytes(30), "damaged"))
        with pytest.raises(InputError, match=r"path must be a string or a path object, got None"):
            load(None)

    def test_another_number_of_ratings(self, write):
        with pytest.raises(InputError, match=r"u\.data has 3 ratings, expected 100000 \(n_ratings=None accepts any"):
            load_movielens(write(U_DATA))
        with pytest.raises(InputError, match=r"ratings\.txt has 4 ratings, expected 35497"):
            load_filmtrust(write(RATINGS, "ratings.txt"))
        for bad in (0, -1, 2.0, "3", True):
            with pytest.raises(InputError, match="n_ratings must be"):
                load_movielens(write(U_DATA), n_ratings=bad)

    def test_seed(self):
        with pytest.raises(InputError, match="seed must be a whole number"):
            low_rank_ratings((3, 3), 4, seed=-1)

    @pytest.mark.parametrize("shape", [3, (3,), (3, 0), (3, 4.0), "34", (3, 2**31), (True, 4), None])
    def test_shape(self, write, shape):
        for call in (lambda: load_movielens(write(U_DATA), shape=shape), lambda: low_rank_ratings(shape, 1)):
            with pytest.raises(InputError, match="shape must"):
                call()


class TestStandIn:
    @pytest.mark.parametrize(
        ("shape", "n", "scale", "step"), [((20, 26), 208, (1.0, 5.0), 1.0), ((5, 6), 30, (0.5, 4.0), 0.5)]
    )
    def test_is_what_it_says(self, shape, n, scale, step):
        made = low_rank_ratings(shape, n, rank=2, scale=scale, step=step, seed=3)
        assert (made.shape, made.scale, made.source, len(made)) == (shape, scale, "stand-in", n)
        assert len(set(zip(made.users, made.items, strict=True))) == n
        assert made.users.min() >= 0 and made.users.max() < shape[0] and made.items.max() < shape[1]
        assert set(made.ratings) <= set(np.arange(scale[0], scale[1] + step / 2, step))
        again = low_rank_ratings(shape, n, rank=2, scale=scale, step=step, seed=3)
        np.testing.assert_array_equal(again.ratings, made.ratings)
        other = low_rank_ratings(shape, n, rank=2, scale=scale, step=step, seed=4)
        assert not np.array_equal(other.ratings, made.ratings)

    def test_is_low_rank(self):
        """`rank` directions carry what clipping (4 % of the entries) and fine steps leave of the matrix."""
        m, n, rank = 60, 50, 3
        full = np.zeros((m, n))
        for noise, rest in ((0.0, 0.03), (0.6, 0.5)):
            made = low_rank_ratings((m, n), m * n, rank=rank, step=1e-6, noise=noise)
            full[made.users, made.items] = made.ratings
            energy = np.linalg.svd(full - 3.5, compute_uv=False) ** 2
            assert rest / 5 < energy[rank:].sum() / energy.sum() < rest
            assert energy[rank - 1] > 5 * energy[rank]

    def test_moments(self):
        made = low_rank_ratings((400, 500), 50_000, noise=0.3)
        assert 3.3 < made.ratings.mean() < 3.6  # 3.5, clipped at 5 more than at 1
        assert 0.8 < made.ratings.std() < 1.1

    @pytest.mark.parametrize(
        "wrong",
        [
            {"n_ratings": 0},
            {"n_ratings": 13},
            {"n_ratings": 2.5},
            {"rank": 0},
            {"scale": (5.0, 1.0)},
            {"step": 0.0},
            {"noise": -1.0},
            {"noise": float("nan")},
        ],
    )
    def test_refuses(self, wrong):
        with pytest.raises(InputError):
            low_rank_ratings(**{"shape": (3, 4), "n_ratings": 5} | wrong)


REAL = Path(os.environ.get("JAXBANDITS_DATA", "nowhere"))


class TestRealFiles:
    @pytest.mark.skipif(not (REAL / "movielens-100k/u.data").is_file(), reason="JAXBANDITS_DATA has no movielens-100k")
    def test_movielens(self):
        read = load_movielens(REAL / "movielens-100k" / "u.data")
        assert len(read) == 100_000
        assert (len(np.unique(read.users)), len(np.unique(read.items))) == read.shape == (943, 1682)
        assert read.ratings.mean() == pytest.approx(3.52986, abs=1e-9)
        assert (read.users[0], read.items[0], read.ratings[0]) == (195, 241, 3.0)

    @pytest.mark.skipif(not (REAL / "filmtrust/ratings.txt").is_file(), reason="JAXBANDITS_DATA has no filmtrust")
    def test_filmtrust(self):
        read = load_filmtrust(REAL / "filmtrust" / "ratings.txt")
        assert len(read) == 35_494  # three pairs occur twice
        assert (len(np.unique(read.users)), len(np.unique(read.items))) == read.shape == (1508, 2071)
        chosen = (read.users == 307) & (read.items == 234)
        np.testing.assert_array_equal(read.ratings[chosen], [1.5])  # 4.0 earlier in the file


def test_the_densest_part_is_that_of_the_most_active_users_and_the_most_rated_items():
    """Counted in all ratings; of equally many the lower ids, new ids in the old order."""
    users, items = np.array([3, 3, 3, 1, 1, 0, 0, 2]), np.array([4, 2, 0, 2, 4, 4, 1, 2])
    ratings = Ratings(users.astype(np.int32), items.astype(np.int32), np.arange(8.0), (4, 5), (0.0, 7.0), "stand-in")
    part = densest_part(ratings, 3, 2)  # users 0, 1, 3 of 2, 2, 3 ratings; items 2, 4 of 3 each
    assert part.shape == (3, 2) and part.users.dtype == part.items.dtype == np.int32
    found = {(int(u), int(i)): r for u, i, r in zip(part.users, part.items, part.ratings, strict=True)}
    assert found == {(2, 1): 0.0, (2, 0): 1.0, (1, 0): 3.0, (1, 1): 4.0, (0, 1): 5.0}
    with pytest.raises(InputError, match=r"items must lie in \[1, 5\], got 6"):
        densest_part(ratings, 2, 6)
