"""Tables with labels from CSV, npz, LIBSVM and ARFF files: what is read, and what is said of files that cannot be."""

import gzip

import numpy as np
import pytest

from jaxbandits import InputError
from jaxbandits.data import TableBandit, load_labelled
from tests.bad_values import WRONG, outcome

FEATURES = np.array([[1.5, 0.0], [-2.0, 1.0], [0.25, 1.0]])
HEAD = "% a comment\n@relation forest\n\n@attribute height numeric\n@ATTRIBUTE soil {wet, 'very dry'}\n"
ARFF = HEAD + "@attribute class {pine,oak}\n@data\n% rows\n1.5,wet,pine\n-2,'very dry',oak\n\n0.25,'very dry',pine\n"
FILES = {
    "plain.csv": "height,soil,class\n1.5,0,pine\n\n-2,1,oak\n0.25,1,pine\n",
    "forest.arff": ARFF,
    "sparse.libsvm": "1 1:1.5\n-1 1:-2 2:1\n1 1:0.25 2:1\n",
}


@pytest.fixture(params=[*FILES, "arrays.npz", "forest.arff.gz"])
def path(request, tmp_path):
    path = tmp_path / request.param
    if path.suffix == ".npz":
        np.savez(path, features=FEATURES, labels=np.array(["pine", "oak", "pine"]))
    elif path.suffix == ".gz":
        path.write_bytes(gzip.compress(FILES[path.stem].encode()))
    else:
        path.write_text(FILES[path.name])
    return path


def test_every_format_gives_the_same_table(path):
    features, labels = load_labelled(path)
    if "arff" in path.name:  # a nominal attribute has a column for each of its values
        np.testing.assert_array_equal(features[:, 1], 1.0 - FEATURES[:, 1])
        features = features[:, [0, 2]]
    np.testing.assert_array_equal(features, FEATURES)
    assert list(labels) == ([1.0, -1.0, 1.0] if "libsvm" in path.name else ["pine", "oak", "pine"])


@pytest.mark.parametrize("start", ["\n", "% rows\n\n", "\n  \n% rows\n\n"])
def test_blank_lines_after_the_header_of_an_arff_file(tmp_path, start):
    path = tmp_path / "forest.arff"
    path.write_text(ARFF.replace("@data\n", f"@data\n{start}"))
    np.testing.assert_array_equal(load_labelled(path)[0][:, 0], FEATURES[:, 0])
    made = TableBandit.from_file(path, order="given", standardise=True, intercept=True)
    assert made.n_arms == 2 and made.dim == 2 * (4 if "arff" in path.name else 3) and made.order == "given"
    pines = 0 if "libsvm" not in path.name else 1  # labels in sorted order: oak before pine, -1 before 1
    assert list(np.asarray(made.table.rewards)[:, 1]) == [True, False, True], pines


def test_the_column_of_labels_may_be_any(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text(FILES["plain.csv"].replace("pine", "1").replace("oak", "1.0"))
    features, labels = load_labelled(path, "soil")
    np.testing.assert_array_equal(features, np.column_stack([FEATURES[:, 0], np.ones(3)]))
    np.testing.assert_array_equal(labels, FEATURES[:, 1])  # numbers: 1 and 1.0 are one label
    (tmp_path / "a.arff").write_text(ARFF)
    features, labels = load_labelled(tmp_path / "a.arff", "height")
    np.testing.assert_array_equal(features, [[1, 0, 1, 0], [0, 1, 0, 1], [0, 1, 1, 0]])
    np.testing.assert_array_equal(labels, FEATURES[:, 0])


BROKEN = {
    "x.txt": ("1,2", r"x.txt must end in .csv, .npz, .libsvm, .svm, .svmlight, .arff; .gz may follow"),
    "a.csv": ("h,c\n1,a\nx,b\n", r"a.csv, line 3: column 1 \(h\) must be a finite number, got 'x'"),
    "b.csv": ("h,c\n1,a\n2\n", r"b.csv, line 3: column 2 \(c\) must be a name, got ''"),
    "c.csv": ("h,c\n1,\n", r"c.csv, line 2: column 2 \(c\) must be a name, got ''"),
    "d.csv": ("c\na\n", "d.csv has no features, only the columns c"),
    "a.libsvm": ("1 1:2\n1 2:x\n", "a.libsvm, line 2 is not readable LIBSVM"),
    "a.npz": ("PK no archive", "a.npz is not a readable npz file"),
    "a.arff": (ARFF + "1,wet\n", r"a.arff, line 13: column 3 \(class\) must be a name, got ''"),
    "b.arff": (ARFF + "1,wet,oak,4\n", "b.arff, line 13: 4 cells, but the first row has 3"),
    "c.arff": (ARFF + "x,wet,oak\n", r"c.arff, line 13: column 1 \(height\) must be a finite number, got 'x'"),
    "d.arff": (ARFF + "1,wet,elm\n", r"d.arff, line 13: column 3 \(class\): unknown value 'elm'"),
    "e.arff": (ARFF + "?,wet,oak\n", r"e.arff, line 13: column 1 \(height\) must be a finite number, got '\?'"),
    "f.arff": (ARFF + "{0 1}\n", r"f.arff, line 13: column 1 \(height\) must be a finite number, got '{0 1}'"),
    "l.arff": (ARFF + "1,'we,t',oak\n", r"l.arff, line 13: column 2 \(soil\): unknown value 'we,t'"),
    "m.arff": (ARFF + "1,'wet,oak\n", "m.arff: could not parse"),
    "g.arff": (HEAD, "g.arff has no line @data"),
    "h.arff": (HEAD + "@data\n", "h.arff holds no rows"),
    "i.arff": (
        HEAD.replace("numeric", "string") + "@data\na,wet\n",
        "i.arff, line 4: attribute 'height' is of type string",
    ),
    "j.arff": (
        HEAD.replace("numeric", "nonsense") + "@data\n1,wet\n",
        "j.arff, line 4: attribute 'height' is of type nonsense",
    ),
    "k.arff": ("@relation a\n@attribute b numeric\n@data\n1\n", "k.arff has no features, only the columns b"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_broken_files_are_one_line_that_names_the_place(tmp_path, name):
    text, message = BROKEN[name]
    (tmp_path / name).write_text(text)
    with pytest.raises(InputError, match=message) as said:
        load_labelled(tmp_path / name)
    assert "\n" not in str(said.value)


@pytest.mark.parametrize("ending", ["csv", "npz", "libsvm", "arff"])
def test_missing_files(tmp_path, ending):
    with pytest.raises(InputError, match=rf"cannot read .*nowhere.{ending}: No such file"):
        load_labelled(tmp_path / f"nowhere.{ending}")


def test_labels_that_there_are_not(tmp_path):
    (tmp_path / "a.arff").write_text(ARFF)
    for label, message in (
        ("clas", "did you mean 'class'"),
        (3, r"label must lie in \[-3, 2\]"),
        (None, "label must be"),
    ):
        with pytest.raises(InputError, match=message):
            load_labelled(tmp_path / "a.arff", label)


@pytest.mark.parametrize("wrong", WRONG)
def test_wrong_arguments(wrong, tmp_path):
    (tmp_path / "a.csv").write_text(FILES["plain.csv"])
    assert outcome(load_labelled, wrong) is not None
    for name in ("label", "delimiter", "header", "standardise", "intercept"):
        outcome(lambda value, name=name: load_labelled(tmp_path / "a.csv", **{name: value}), wrong)
