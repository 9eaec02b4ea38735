"""Tables with groups: the container, the splits, and the loaders of CSV, LIBSVM and npz files."""

import gzip

import numpy as np
import pytest

from jaxbandits.base.errors import InputError
from jaxbandits.environments.datasets.groups import (
    Groups,
    hold_out,
    load_groups_csv,
    load_groups_libsvm,
    load_groups_npz,
)

CSV = "size,region,paid,age\n1,north,0,30\n2,south,1,40\n3,north,1,50\n\n4, south ,0,60\n5,east,1,70\n"


def one_line(call, message):
    with pytest.raises(InputError, match=message) as caught:
        call()
    assert "\n" not in str(caught.value)


def table(sizes=(5, 3, 2), seed=0):
    rng = np.random.default_rng(seed)
    group = rng.permutation(np.repeat(np.arange(len(sizes)), sizes))
    return Groups(rng.normal(size=(sum(sizes), 2)), rng.normal(size=sum(sizes)), group, tuple("abc"[: len(sizes)]))


class TestTable:
    def test_rows_and_sizes(self):
        made = table()
        assert (len(made), made.dim, made.n_groups, made.names) == (10, 2, 3, ("a", "b", "c"))
        np.testing.assert_array_equal(made.sizes, (5, 3, 2))
        for i, rows in enumerate(made.rows()):
            np.testing.assert_array_equal(rows, np.flatnonzero(made.group == i))

    def test_groups_from_values(self):
        features, labels = np.ones((4, 1)), np.zeros(4)
        text = Groups.from_arrays(features, labels, np.array(["z", "x", "z", "y"]))
        assert text.names == ("x", "y", "z")
        np.testing.assert_array_equal(text.group, [2, 0, 2, 1])
        numbers = Groups.from_arrays(features, labels, [10, 2, 10, 2.5])
        assert numbers.names == ("2", "2.5", "10")
        np.testing.assert_array_equal(numbers.group, [2, 0, 2, 1])

    def test_is_frozen_and_a_copy(self):
        features = np.ones((2, 1))
        made = Groups(features, np.zeros(2), np.array([0, 1]), ("a", "b"))
        features[0] = 7.0
        assert made.features[0] == 1.0
        with pytest.raises(ValueError, match="read-only"):
            made.features[0] = 2.0

    @pytest.mark.parametrize(
        ("arrays", "message"),
        [
            (([[1.0], [2.0]], [0.0], [0, 1]), r"shapes \(n, d\), \(n,\), \(n,\) with n, d >= 1, got"),
            ((np.ones((2, 0)), np.ones(2), [0, 1]), r"features must have shape \(n, d\), got \(2, 0\)"),
            (([["x"], [2.0]], [0.0, 1.0], [0, 1]), "must be numbers"),
            (
                ([[1.0], [np.nan]], [0.0, 1.0], [0, 1]),
                r"features must be finite, but row 1, column 0 \(from 0\) is not",
            ),
            (([[1.0], [2.0]], [np.inf, 1.0], [0, 1]), r"labels must be finite, but row 0 \(from 0\) is not"),
            (([[1.0], [2.0]], [0.0, 1.0], [0, 2]), "group must hold whole numbers from 0 to 1"),
            (([[1.0], [2.0]], [0.0, 1.0], [-1, 1]), "group must hold whole numbers from 0 to 1"),
            (([[1.0], [2.0]], [0.0, 1.0], [0.0, 1.0]), "group must hold whole numbers from 0 to 1"),
            (([[1.0], [2.0]], [0.0, 1.0], [0, 0]), "group 'b' has no rows"),
        ],
    )
    def test_refused(self, arrays, message):
        one_line(lambda: Groups(*arrays, ("a", "b")), message)

    def test_refused_group_values(self):
        one_line(lambda: Groups.from_arrays(np.ones((2, 1)), np.ones(2), [0.0, np.nan]), "missing entries, but row 1")
        one_line(
            lambda: Groups.from_arrays(np.ones((2, 1)), np.ones(2), [None, "a"]),
            r"missing entries, but row 0 \(from 0\) is None",
        )


def test_the_older_name_warns():
    from jaxbandits import dro

    with pytest.warns(DeprecationWarning, match="GroupTable has been renamed: use jaxbandits.dro.Groups"):
        assert dro.GroupTable is Groups
    with pytest.raises(AttributeError, match="has no attribute 'Group'"):
        _ = dro.Group


class TestHoldOut:
    def test_every_row_once(self):
        made = table()
        split = hold_out(made, 1, seed=3)
        assert [len(rows) for rows in split.train] == [4, 2, 1]
        assert [len(rows) for rows in split.held_out] == [1, 1, 1]
        for i, rows in enumerate(made.rows()):
            np.testing.assert_array_equal(np.sort(np.concatenate([split.train[i], split.held_out[i]])), rows)

    def test_is_random_and_repeats_with_its_seed(self):
        made = table((200, 100, 50))
        one, again, other = hold_out(made, 40, 1), hold_out(made, 40, 1), hold_out(made, 40, 2)
        np.testing.assert_array_equal(one.train[0], again.train[0])
        assert not np.array_equal(one.train[0], other.train[0])
        assert np.any(np.diff(one.train[0]) < 0)  # visited in random order
        assert len(set(one.held_out[2]) & set(other.held_out[2])) < 40

    def test_refused(self):
        one_line(lambda: hold_out(table(), 2), "group 'c' has 2 rows, so 2 cannot be held out")
        for wrong in (0, -1, 1.5, True, "1"):
            one_line(lambda wrong=wrong: hold_out(table(), wrong), "per_group must be a whole number of at least 1")
        one_line(lambda: hold_out(table(), 1, -1), "seed must be a whole number")


class TestCSV:
    @pytest.mark.parametrize("ending", ["csv", "csv.gz"])
    def test_by_name(self, tmp_path, ending):
        path = tmp_path / f"loans.{ending}"
        path.write_bytes(gzip.compress(CSV.encode()) if ending.endswith("gz") else CSV.encode())
        made = load_groups_csv(path, label="paid", group="region")
        assert (made.names, made.source) == (("east", "north", "south"), str(path))
        np.testing.assert_array_equal(made.group, [1, 2, 1, 2, 0])
        np.testing.assert_array_equal(made.labels, [0, 1, 1, 0, 1])
        np.testing.assert_array_equal(made.features, [[1, 30], [2, 40], [3, 50], [4, 60], [5, 70]])

    def test_by_number_and_without_header(self, tmp_path):
        path = tmp_path / "loans.txt"
        path.write_text(CSV.partition("\n")[2].replace(",", ";"))
        made = load_groups_csv(path, -2, 1, delimiter=";", header=False, standardise=True, intercept=True)
        np.testing.assert_array_equal(made.labels, [0, 1, 1, 0, 1])
        np.testing.assert_allclose(made.features[:, :2].mean(axis=0), 0.0, atol=1e-15)
        np.testing.assert_array_equal(made.features[:, 2], 1.0)

    @pytest.mark.parametrize(
        ("text", "columns", "message"),
        [
            (CSV, ("payed", "region"), r"unknown column of .*'payed'; did you mean 'paid'"),
            (CSV, ("paid", "paid"), "label and group are the same column"),
            (CSV, (7, "region"), r"label must lie in \[-4, 3\] for the 4 columns"),
            (CSV, ("paid", -9), r"group must lie in \[-4, 3\]"),
            (CSV, (True, 1), "label must be the name or the number of a column, got True"),
            (CSV, ("paid", 1.5), "group must be the name or the number of a column, got 1.5"),
            (
                CSV.replace("40", "4o"),
                ("paid", "region"),
                r"line 3: column 4 \(age\) must be a finite number, got '4o'",
            ),
            (
                CSV.replace("40", "inf"),
                ("paid", "region"),
                r"line 3: column 4 \(age\) must be a finite number, got 'inf'",
            ),
            (CSV.replace("north", "", 1), ("paid", "region"), r"line 2: column 2 \(region\) must be a name, got ''"),
            (CSV.replace(",70", ""), ("paid", "region"), r"line 7: column 4 \(age\) must be a finite number, got ''"),
            (
                "paid,region\n1,north\n",
                ("paid", "region"),
                "has no features, only the columns paid, region",
            ),
            ("size,region,paid\n", ("paid", "region"), "holds no rows"),
            ("", ("paid", "region"), "holds no rows"),
        ],
    )
    def test_malformed(self, tmp_path, text, columns, message):
        path = tmp_path / "loans.csv"
        path.write_text(text)
        one_line(lambda: load_groups_csv(path, *columns), message)

    def test_other_mistakes(self, tmp_path):
        one_line(lambda: load_groups_csv(tmp_path / "none.csv", 0, 1), "cannot read .*none.csv: No such file")
        path = tmp_path / "rows.csv"
        path.write_text("1,2,3\n")
        one_line(lambda: load_groups_csv(path, "a", 1, header=False), "label 'a' is a name, but header=False")
        one_line(lambda: load_groups_csv(path, 0, 1, delimiter="ab"), "delimiter must be one character")


class TestLIBSVM:
    def test_one_index_holds_the_groups(self, tmp_path):
        path = tmp_path / "rows.libsvm"
        path.write_text("1 1:0.5 3:2\n-1 2:4 3:1  # comment\n1 3:2\n-1 1:3\n")
        made = load_groups_libsvm(path, group=3)
        assert made.names == ("0", "1", "2")
        np.testing.assert_array_equal(made.group, [2, 1, 2, 0])
        np.testing.assert_array_equal(made.labels, [1, -1, 1, -1])
        np.testing.assert_array_equal(made.features, [[0.5, 0], [0, 4], [0, 0], [3, 0]])
        np.testing.assert_array_equal(load_groups_libsvm(path, 3, intercept=True).features[:, -1], 1.0)

    def test_malformed(self, tmp_path):
        path = tmp_path / "rows.libsvm"
        path.write_text("1 1:0.5 2:2\n-1 2;4\n")
        one_line(lambda: load_groups_libsvm(path, 2), "line 2 is not readable LIBSVM")
        path.write_text("1 1:0.5\n")
        one_line(lambda: load_groups_libsvm(path, 2), "group must be an index from 1 to 1 of .*, got 2")
        one_line(lambda: load_groups_libsvm(path, 1), "has no feature besides the group")
        one_line(lambda: load_groups_libsvm(path, True), "group must be an index from 1 to 1")


class TestNpz:
    def test_names_of_the_arrays(self, tmp_path):
        path = tmp_path / "rows.npz"
        np.savez(path, features=np.eye(3), labels=[1, 0, 1], group=np.array(["b", "a", "b"]), site=[5, 5, 6])
        made = load_groups_npz(path)
        assert made.names == ("a", "b")
        np.testing.assert_array_equal(made.group, [1, 0, 1])
        np.testing.assert_array_equal(made.features, np.eye(3))
        assert load_groups_npz(path, group="site").names == ("5", "6")
        assert load_groups_npz(str(path), standardise=True, intercept=True).dim == 4

    def test_malformed(self, tmp_path):
        path = tmp_path / "rows.npz"
        one_line(lambda: load_groups_npz(path), "cannot read .*rows.npz: No such file")
        np.savez(path, features=np.eye(3), labels=[1, 0, 1], groups=[1, 1, 2])
        one_line(lambda: load_groups_npz(path), r"unknown array of .*rows.npz 'group'; did you mean 'groups'")
        one_line(lambda: load_groups_npz(path, group="labels", labels="features"), "rows.npz: labels must have shape")
        whole = path.read_bytes()
        for broken in (b"", b"text", whole[:50], whole[:-30], whole[:60] + b"\0" * 40 + whole[100:]):
            path.write_bytes(broken)
            one_line(lambda: load_groups_npz(path, group="groups"), "rows.npz")
        np.savez(path, features=np.eye(2), labels=[1, 0], group=np.array([None, 1], object))
        one_line(lambda: load_groups_npz(path), "not a readable npz file: Object arrays cannot be loaded")
        np.save(tmp_path / "array.npy", np.eye(2))
        one_line(lambda: load_groups_npz(tmp_path / "array.npy"), "array.npy")
