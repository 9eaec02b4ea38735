"""Classification sets of UCI from small files in the format of the repository, and their stand-ins."""

import gzip
import warnings

import numpy as np
import pytest

from jaxbandits.base.errors import InputError
from jaxbandits.environments.datasets import covertype
from jaxbandits.environments.datasets.files import IncompleteDataWarning
from jaxbandits.environments.datasets.uci import SETS, find, load_uci, uci_like
from jaxbandits.reproduction import EXPERIMENTS

pytestmark = pytest.mark.filterwarnings("ignore:.*the published file has:UserWarning")  # of the small files


def write(directory, rng, rows=40):
    """Write all four files; return attributes and labels of each."""
    made = {}
    for name, of in SETS.items():
        table = rng.integers(0, 100, size=(rows, of.n_features))
        labels = rng.integers(1, of.n_classes + 1, size=rows)
        texts = (
            [chr(ord("A") + label - 1) for label in labels] if name == "letter" else [str(label) for label in labels]
        )
        gap = ", " if name == "penbased" else of.delimiter
        lines = []
        for row, text in zip(table.astype(str).tolist(), texts, strict=True):
            lines.append(gap.join([text, *row] if of.label == 0 else [*row, text]))
        body = "\n".join(lines) + "\n"
        if name == "covertype":
            (directory / name).mkdir()
            (directory / name / "covtype.data.gz").write_bytes(gzip.compress(body.encode()))
        else:
            (directory / of.files[0]).write_text(body)
        made[name] = table, np.array(texts) if name == "letter" else labels
    return made


def test_files_are_read_in_the_format_of_the_repository(tmp_path, rng):
    made = write(tmp_path, rng)
    for name, (table, labels) in made.items():
        every = 20 if name == "covertype" else 1
        table, labels = table[::every].astype(float), labels[::every]
        features, found = load_uci(name, tmp_path)
        np.testing.assert_array_equal(found, labels)
        spread = np.where(table.std(axis=0) > 0, table.std(axis=0), 1.0)
        wanted = np.column_stack([(table - table.mean(axis=0)) / spread, np.ones(len(table))])
        np.testing.assert_allclose(features, wanted, atol=1e-12)
    assert find("covertype", tmp_path).name == "covtype.data.gz"


@pytest.mark.parametrize("name", SETS)
def test_files_that_were_cut_between_rows_are_noticed(name, tmp_path, rng, monkeypatch):
    write(tmp_path, rng)
    monkeypatch.setitem(SETS, name, SETS[name]._replace(n_rows=40))
    monkeypatch.setattr(covertype, "N_ROWS", 40)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        load_uci(name, tmp_path)
    monkeypatch.setitem(SETS, name, SETS[name]._replace(n_rows=41))
    monkeypatch.setattr(covertype, "N_ROWS", 41)
    with pytest.warns(IncompleteDataWarning, match=r"has 40 rows, but the published file has 41$"):
        load_uci(name, tmp_path)
    with pytest.raises(InputError, match=r"has 40 rows, .*: an experiment needs the complete file"):
        EXPERIMENTS["classics/bietti-wins"].with_data(tmp_path)


def test_what_is_wrong_with_a_file_is_one_line(tmp_path):
    with pytest.raises(InputError, match=r"has no letter-recognition.data, neither itself nor in letter/"):
        load_uci("letter", tmp_path)
    (tmp_path / "sat.trn").write_text("1 2 3\n4 5 6\n")
    with pytest.raises(InputError, match="satimage has 36 attributes, but this file has 2"):
        load_uci("satimage", tmp_path)
    (tmp_path / "pendigits.tra").write_text("1, 2, 0\n4, five, 1\n")
    with pytest.raises(InputError, match=r"pendigits.tra, line 2: column 2"):
        load_uci("penbased", tmp_path)
    with pytest.raises(InputError, match="did you mean 'letter'"):
        find("leter", tmp_path)
    with pytest.raises(InputError, match="is not a directory"):
        find("letter", tmp_path / "nowhere")


def test_stand_ins_have_the_shapes_and_every_class(rng):
    for name, of in SETS.items():
        features, labels = uci_like(name, rows=300)
        assert features.shape == (300, of.n_features + 1) and set(labels) == set(range(of.n_classes))
        np.testing.assert_allclose(features[:, :-1].mean(axis=0), 0.0, atol=1e-9)
        again, _ = uci_like(name, rows=300)
        np.testing.assert_array_equal(features, again)
        assert not np.array_equal(features, uci_like(name, rows=300, seed=1)[0])
