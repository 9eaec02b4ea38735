"""Adult: files in the publisher's format, every malformed one a line that names it; the real files where they are."""

import os
import warnings
from pathlib import Path

import numpy as np
import pytest

from jaxbandits.base.errors import InputError
from jaxbandits.environments.datasets import adult
from jaxbandits.environments.datasets.adult import adult_like, load_adult
from jaxbandits.environments.datasets.files import IncompleteDataWarning
from jaxbandits.environments.datasets.groups import hold_out
from jaxbandits.reproduction.experiments.dro import setting

pytestmark = pytest.mark.filterwarnings("ignore:.*the published file has:UserWarning")  # of the small files

PEOPLE = """\
39, State-gov, 100, Bachelors, 13, Never-married, Adm-clerical, Not-in-family, White, Male, 200, 0, 40, Cuba, <=50K
50, Private, 300, HS-grad, 9, Divorced, Sales, Husband, Black, Male, 0, 0, 13, United-States, >50K
20, ?, 300, HS-grad, 9, Divorced, ?, Husband, Black, Male, 0, 0, 13, United-States, >50K
38, Private, 200, HS-grad, 9, Divorced, Sales, Wife, White, Female, 0, 70, 40, United-States, <=50K

41, Never-worked, 200, HS-grad, 9, Divorced, ?, Wife, White, Female, 0, 70, 40, United-States, <=50K
"""
TESTED = """\
|1x3 Cross validator
61, Private, 150, Masters, 14, Divorced, Sales, Wife, Black, Female, 0, 0, 40, United-States, <=50K.
17, Private, 250, Masters, 14, Divorced, Sales, Unmarried, Other, Male, 0, 0, 20, Iran, >50K.
28, Private, 350, Masters, 14, Divorced, Sales, Unmarried, Amer-Indian-Eskimo, Female, 0, 0, 99, Iran, <=50K.
30, Private, 350, Masters, 14, Divorced, Sales, Unmarried, Asian-Pac-Islander, Female, 0, 0, 99, ?, <=50K.
"""


def write(directory, people=PEOPLE, tested=TESTED):
    (directory / "adult.data").write_text(people)
    (directory / "adult.test").write_text(tested)
    return directory


def test_reads_both_files_and_drops_incomplete_rows(tmp_path):
    table = load_adult(write(tmp_path))
    assert (table.source, table.names, table.features.shape) == ("adult", adult.GROUPS, (6, 105))
    np.testing.assert_array_equal(table.group, [0, 2, 1, 3, 4, 5])
    np.testing.assert_array_equal(table.labels, [-1.0, 1.0, -1.0, -1.0, 1.0, -1.0])
    np.testing.assert_array_equal(table.sizes, 1)
    age = np.array([39, 50, 38, 61, 17, 28])
    np.testing.assert_allclose(table.features[:, 0], (age - age.mean()) / age.std(), rtol=1e-14)
    onehot = table.features[:, 6:104]
    assert set(np.unique(onehot)) == {0.0, 1.0}
    np.testing.assert_array_equal(onehot.sum(axis=1), 8.0)
    np.testing.assert_array_equal(table.features[:, 104], 1.0)
    np.testing.assert_allclose(np.mean(np.sum(table.features**2, axis=1)), 15.0, rtol=1e-12)
    first = {name: levels[int(np.argmax(block[0]))] for (name, levels), block in _blocks(onehot)}
    assert first == {
        "workclass": "State-gov",
        "education": "Bachelors",
        "marital-status": "Never-married",
        "occupation": "Adm-clerical",
        "relationship": "Not-in-family",
        "race": "White",
        "sex": "Male",
        "native-country": "Cuba",
    }


def _blocks(onehot):
    ends = np.cumsum([len(levels) for _, levels in adult.CATEGORIES.values()])
    return zip(adult.CATEGORIES.values(), np.split(onehot, ends[:-1], axis=1), strict=True)


def test_numbers_of_levels():
    assert [len(levels) for _, levels in adult.CATEGORIES.values()] == [7, 16, 7, 14, 6, 5, 2, 41]
    assert adult.DIM == 105


@pytest.mark.parametrize(
    ("find", "put", "message"),
    [
        (", Cuba,", ",", r"adult.data, line 1: expected 15 fields .* with commas between them, got 14"),
        ("39, S", "39.5, S", r"line 1: age must be a whole number or \?, got '39.5'"),
        ("39, S", ", S", r"line 1: column 1 \(age\) must be a name, got ''"),
        ("39, S", "nan, S", r"line 1: age must be a whole number"),
        ("39, S", f"{'9' * 30}, S", r"line 1: age must be a whole number"),
        ("Cuba", "Kuba", r"line 1: unknown native-country 'Kuba'; did you mean 'Cuba'"),
        ("White, Male", "white, Male", r"line 1: unknown race 'white'; did you mean 'White'"),
        ("<=50K", "50K", r"line 1: income must be <=50K or >50K, got '50K'"),
        ("39, State-gov", "39, Never-worked", r"line 1: a person who never worked has an occupation"),
    ],
)
def test_malformed_rows_are_named_by_line(tmp_path, find, put, message):
    write(tmp_path, people=PEOPLE.replace(find, put, 1))
    with pytest.raises(InputError, match=message) as caught:
        load_adult(tmp_path)
    assert "\n" not in str(caught.value)


def test_lines_are_counted_as_an_editor_does(tmp_path):
    write(tmp_path, tested=TESTED.replace("Iran", "Irak", 1))
    with pytest.raises(InputError, match=r"adult.test, line 3: unknown native-country 'Irak'"):
        load_adult(tmp_path)


def test_unreadable_files(tmp_path):
    with pytest.raises(InputError, match=r"cannot read .*adult.data: No such file"):
        load_adult(tmp_path)
    (write(tmp_path) / "adult.test").unlink()
    with pytest.raises(InputError, match=r"cannot read .*adult.test: No such file"):
        load_adult(tmp_path)
    (tmp_path / "adult.test").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(InputError, match=r"adult.test: not UTF-8 text"):
        load_adult(tmp_path)
    with pytest.raises(InputError, match=r"adult\.data holds no rows"):
        load_adult(write(tmp_path, "\n"))
    unknown = "\n".join(line for line in PEOPLE.splitlines() if "?" in line)
    with pytest.raises(InputError, match=r"has no row without missing values in adult\.data and adult\.test"):
        load_adult(write(tmp_path, unknown, TESTED.splitlines()[-1]))
    with pytest.raises(InputError, match="group 'others/Female' has no rows"):
        load_adult(write(tmp_path, tested="\n".join(TESTED.splitlines()[:3]) + "\n"))


def test_files_that_were_cut_between_rows_are_noticed(tmp_path, monkeypatch):
    """The whole file has the number of rows that the publisher states, which includes rows with a missing field."""
    monkeypatch.setattr(adult, "FILES", {"adult.data": 6, "adult.test": 4})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        whole = load_adult(write(tmp_path, PEOPLE + PEOPLE.splitlines()[0] + "\n"))
    with pytest.warns(IncompleteDataWarning, match=r"adult\.data has 5 rows, but the published file has 6$") as caught:
        assert len(load_adult(write(tmp_path)).labels) == len(whole.labels) - 1
    assert caught[0].filename == __file__
    with pytest.raises(InputError, match=r"has 5 rows, .* has 6: an experiment needs the complete file"):
        setting.adult(tmp_path)
    monkeypatch.setenv("JAXBANDITS_DATA", str(tmp_path))
    (tmp_path / "adult").mkdir()
    write(tmp_path / "adult")
    with pytest.raises(InputError, match=r"has 5 rows, .* has 6: an experiment needs the complete file"):
        setting.adult()


def test_stand_in_is_labelled_and_has_the_shapes():
    table = adult_like(scale=0.05)
    assert (table.source, table.names, table.dim) == ("stand-in", adult.GROUPS, 105)
    np.testing.assert_array_equal(table.sizes, np.round(0.05 * np.array(adult.SIZES)))
    assert set(np.unique(table.labels)) == {-1.0, 1.0}
    np.testing.assert_allclose(np.mean(np.sum(table.features**2, axis=1)), 15.0, rtol=1e-9)
    for rows, rate in zip(table.rows(), adult.POSITIVE_RATES, strict=True):
        found = np.mean(table.labels[rows] > 0)
        assert abs(found - rate) <= 4 * np.sqrt(rate * (1 - rate) / len(rows)) + 1 / len(rows)
    gain = table.features[:, list(adult.MEASUREMENTS).index("capital-gain")]
    assert gain.max() > 5.0 and np.median(gain) == gain.min()  # heavy tail above many zeros
    np.testing.assert_array_equal(table.labels, adult_like(scale=0.05).labels)
    assert not np.array_equal(table.labels, adult_like(scale=0.05, seed=1).labels)
    with pytest.raises(InputError, match=r"scale must lie in \(0, 1\], got 0"):
        adult_like(scale=0)


REAL = Path(os.environ.get("JAXBANDITS_DATA", "")) / "adult"


@pytest.fixture(scope="module")
def real():
    return load_adult(REAL)


@pytest.mark.skipif("JAXBANDITS_DATA" not in os.environ or not REAL.is_dir(), reason="no JAXBANDITS_DATA/adult")
class TestRealFiles:
    def test_group_sizes_are_the_paper_s(self, real):
        np.testing.assert_array_equal(real.sizes, adult.SIZES)
        split = hold_out(real, adult.HELD_OUT)
        assert [len(rows) for rows in split.train] == [26656, 11519, 1780, 1720, 999, 364]
        assert [len(rows) for rows in split.held_out] == [364] * 6

    def test_features_are_the_card_s(self, real):
        assert real.features.shape == (45222, 105)
        assert np.all(real.features.any(axis=0))  # every level occurs
        np.testing.assert_allclose(np.mean(np.sum(real.features**2, axis=1)), 15.0, rtol=1e-12)
        rates = [np.mean(real.labels[rows] > 0) for rows in real.rows()]
        np.testing.assert_allclose(rates, adult.POSITIVE_RATES, rtol=0, atol=6e-8)

    @pytest.mark.slow
    def test_pooled_fit_has_the_card_s_risks(self, real):
        """Newton's method, with a ridge too small to see: the columns are collinear, the risks are not."""
        x, y, w = real.features, real.labels, np.zeros(real.dim)
        for _ in range(25):
            p = 1.0 / (1.0 + np.exp(y * (x @ w)))
            hessian = (x * (p * (1 - p))[:, None]).T @ x / len(y) + 1e-9 * np.eye(real.dim)
            step = np.linalg.solve(hessian, x.T @ (p * y) / len(y) - 1e-9 * w)
            w = w + step
            if np.linalg.norm(step) < 1e-6:
                break
        losses = np.logaddexp(0.0, -y * (x @ w))
        found = [np.mean(losses[rows]) for rows in real.rows()]
        np.testing.assert_allclose(found, (0.3998, 0.1972, 0.2793, 0.1174, 0.3578, 0.2203), rtol=0, atol=1e-4)
