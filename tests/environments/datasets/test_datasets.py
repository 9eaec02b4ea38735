"""Loaders of tables (every malformed file is one line that names it) and the stream of their rows."""

import ast
import functools
import gzip
import io
import re
import tokenize
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.optimize

from jaxbandits.base.errors import InputError
from jaxbandits.base.pytree import as_arrays, map_traced, shared_leaves, validate
from jaxbandits.environments.datasets import files
from jaxbandits.environments.datasets.files import TextFile
from jaxbandits.environments.datasets.streams import load_csv, load_libsvm
from jaxbandits.environments.oco import data_stream
from jaxbandits.environments.oco.data_stream import DataStream, Table
from jaxbandits.types import PointDecision

DATA = Path(__file__).parent / "data"
AREA, PRICE, ROOMS = [50.5, 70.0, 90.0, 65.0], [100.0, 150.25, 180.0, -20.0], [2.0, 3.0, 4.0, 1.0]


@pytest.mark.parametrize("name", ["prices.csv", "prices.csv.gz"])
def test_csv(name):
    for target, expected, others in (
        ("price", PRICE, (AREA, ROOMS)),
        (1, PRICE, (AREA, ROOMS)),
        (-1, ROOMS, (AREA, PRICE)),
        (-3, AREA, (PRICE, ROOMS)),
    ):
        features, targets = load_csv(DATA / name, target=target)
        np.testing.assert_array_equal(targets, expected)
        np.testing.assert_array_equal(features, np.column_stack(others))


def test_csv_without_header_and_with_another_delimiter(tmp_path):
    path = tmp_path / "table.txt"
    path.write_text("\ufeff1;2;3\r\n4;5;6\r\n", encoding="utf-8")  # a byte order mark and Windows line ends
    features, targets = load_csv(str(path), header=False, delimiter=";")
    np.testing.assert_array_equal(features, [[1.0, 2.0], [4.0, 5.0]])
    np.testing.assert_array_equal(targets, [3.0, 6.0])


def test_libsvm():
    features, targets = load_libsvm(DATA / "small.libsvm")
    np.testing.assert_array_equal(targets, [1.0, -1.0, 1.0, -1.0])
    np.testing.assert_array_equal(features, [[0.5, 0.0, -2.0], [0.0, 10.0, 0.0], [0.0, 0.0, 0.0], [1.0, 2.0, 3.0]])
    assert load_libsvm(DATA / "small.libsvm", n_features=5)[0].shape == (4, 5)


@pytest.mark.parametrize("text", ["0,1,0.5\n1,0,0.25\n", "5.1,3.5,setosa\n4.9,3.0,setosa\n", "2019,2020,name\n1,2,3\n"])
def test_a_first_row_of_numbers_is_told(tmp_path, text):
    """It may be data, as in files without a header, or names."""
    path = tmp_path / "iris.data"
    path.write_text(text)
    with pytest.warns(UserWarning, match=r"of 3 names in the first row are numbers .*: pass header=False"):
        TextFile(path, header=True)
    assert len(TextFile(path).names) == 3


def test_byte_order_marks(tmp_path):
    path = tmp_path / "marked.libsvm"
    path.write_bytes(b"\xef\xbb\xbf1 1:0.5\n-1 2:2\n")
    np.testing.assert_array_equal(load_libsvm(path)[1], [1.0, -1.0])


def test_libsvm_round_trip(tmp_path, rng):
    features = np.where(rng.random((40, 7)) < 0.4, rng.standard_normal((40, 7)), 0.0)
    targets = rng.standard_normal(40)
    lines = [
        " ".join([repr(float(y)), *(f"{k + 1}:{float(v)!r}" for k, v in enumerate(row) if v)])
        for y, row in zip(targets, features, strict=True)
    ]
    with gzip.open(tmp_path / "table.gz", "wt") as file:
        file.write("\n".join(lines))
    loaded, labels = load_libsvm(tmp_path / "table.gz", n_features=7)
    np.testing.assert_array_equal(loaded, features)  # bit for bit
    np.testing.assert_array_equal(labels, targets)


def test_standardise_and_intercept(tmp_path, rng):
    table = rng.standard_normal((30, 3)) * [1.0, 1e6, 1e-6] + [5.0, 0.0, 1.0]
    table = np.column_stack([table, np.full(30, 0.1), rng.standard_normal(30)])
    np.savetxt(tmp_path / "table.csv", table, delimiter=",")
    features, _ = load_csv(tmp_path / "table.csv", header=False, standardise=True, intercept=True)
    np.testing.assert_allclose(features[:, :3].mean(axis=0), 0.0, atol=1e-9)
    np.testing.assert_allclose(features[:, :3].std(axis=0), 1.0, rtol=1e-9)
    np.testing.assert_array_equal(features[:, 3], np.zeros(30))  # was constant
    np.testing.assert_array_equal(features[:, 4], np.ones(30))


@pytest.mark.parametrize("scale", [1e-320, 1e-170, 1e-5, 1e5, 1e160, 1e308])
def test_standardise_at_any_scale(tmp_path, scale):
    column = np.array([-1.0, 0.25, 0.5, 1.0])
    np.savetxt(tmp_path / "table.csv", np.column_stack([column * scale, column]), delimiter=",")
    features, _ = load_csv(tmp_path / "table.csv", header=False, standardise=True)
    spread = column - column.mean()
    rtol = 1e-2 if scale < 1e-300 else 1e-12  # subnormal numbers have few digits
    np.testing.assert_allclose(features[:, 0], spread / np.sqrt(np.mean(spread**2)), rtol=rtol)


@pytest.mark.parametrize("compress", [bytes, gzip.compress])
@pytest.mark.parametrize("start", ["", "\n", "\r\n \n", "\ufeff\n\n"])
def test_blank_lines_before_the_table(tmp_path, start, compress):
    path = tmp_path / "table.csv"
    path.write_bytes(compress(f"{start}1,2\n3,4\n".encode()))
    np.testing.assert_array_equal(load_csv(path, header=False)[1], [2.0, 4.0])
    path.write_bytes(compress(f"{start}a,b\n1,2\n3,four\n".encode()))
    one_line(lambda: load_csv(path), f"line {start.count(chr(10)) + 3}: column 2 (b)")


def test_rows_with_line_breaks_in_quotes(tmp_path):
    path = tmp_path / "notes.csv"
    path.write_text('note,a,b\n"two\n\nparagraphs",1,2\n\nshort,,\nlong,5,6\n')
    file = TextFile(path, header=True)
    one_line(lambda: file.read({"a": "number", "b": "number"}), "line 6: column 2 (a) must be a finite number, got ''")


def test_columns_with_the_same_name(tmp_path):
    path = tmp_path / "twice.csv"
    path.write_text("y,x, y\n1,2,3\n4,5,6\n")
    features, targets = load_csv(path)
    np.testing.assert_array_equal(targets, [3.0, 6.0])
    np.testing.assert_array_equal(features, [[1.0, 2.0], [4.0, 5.0]])
    np.testing.assert_array_equal(load_csv(path, 0)[1], [1.0, 4.0])
    one_line(lambda: load_csv(path, "y"), "several columns", "have the name 'y'")
    np.testing.assert_array_equal(load_csv(path, "x")[1], [2.0, 5.0])


GZIP = gzip.compress(b"a,b\n1,2\n3,4\n")
BAD_CSV = {
    "ragged": (b"a,b\n1,2\n1,2,3\n", "line 3: 3 cells, but the first row has 2"),
    "word": (b"a,b\n1,2\n\n1,two\n", "line 4: column 2 (b) must be a finite number, got 'two'"),
    "empty cell": (b"a,b\n1,\n", "line 2: column 2 (b) must be a finite number, got ''"),
    "nan": (b"a,b\n1,2\nnan,2\n", "line 3: column 1 (a) must be a finite number, got 'nan'"),
    "inf": (b"a,b\n1,-inf\n", "line 2"),
    "underscore": (b"a,b\n1_0,2\n", "line 2"),
    "empty": (b"", "holds no rows"),
    "only a header": (b"a,b\n", "holds no rows"),
    "one column": (b"a\n1\n", "has no features, only the columns a"),
    "not text": (b"a,b\n1,2\n\xff\xfe,3\n", "not UTF-8"),
    "open quote": (b'a,b\n1,"2\n', "could not parse"),
    "nul": (b"a,b\n1,\x002\n", "line 2"),
}


def one_line(call, *parts):
    with pytest.raises(InputError) as error:
        call()
    message = str(error.value)
    assert "\n" not in message
    for part in parts:
        assert part in message, message


@pytest.mark.parametrize("name", BAD_CSV)
def test_malformed_csv(name, tmp_path):
    content, message = BAD_CSV[name]
    path = tmp_path / "bad.csv"
    path.write_bytes(content)
    one_line(lambda: load_csv(path), "bad.csv", message)


BAD_LIBSVM = {
    "zero index": (b"1 1:2\n1 0:3\n", "Invalid index 0"),
    "negative index": (b"1 -1:3\n", "line 1 is not readable LIBSVM"),
    "no colon": (b"1 1:2 7\n", "line 1 is not readable LIBSVM"),
    "no index": (b"1 :7\n", "line 1 is not readable LIBSVM"),
    "fraction": (b"1 1.5:7\n", "line 1 is not readable LIBSVM"),
    "other digits": ("1 \u00b2:7\n".encode(), "line 1 is not readable LIBSVM"),
    "no value": (b"1 3:\n", "line 1 is not readable LIBSVM"),
    "nan": (b"1 3:nan\n", "features must be finite, but row 0, column 2"),
    "target": (b"1 1:1\nx 1:1\n", "line 2 is not readable LIBSVM"),
    "order": (b"1 2:1 1:1\n", "line 1 is not readable LIBSVM"),
    "repeated": (b"1 2:1 2:1\n", "line 1 is not readable LIBSVM"),
    "beyond": (b"1 4:1\n", "n_features was set to 3, but input file contains 4"),
    "huge": (b"1 99999999999999999999999:1\n", "line 1 is not readable LIBSVM"),
    "empty": (b"# nothing\n\n", "holds no rows"),
}


@pytest.mark.parametrize("name", BAD_LIBSVM)
def test_malformed_libsvm(name, tmp_path):
    content, message = BAD_LIBSVM[name]
    path = tmp_path / "bad.txt"
    path.write_bytes(content)
    one_line(lambda: load_libsvm(path, n_features=3), "bad.txt", message)


def test_libsvm_without_features_and_with_a_huge_index(tmp_path):
    (tmp_path / "bare.txt").write_text("1\n-1\n")
    one_line(lambda: load_libsvm(tmp_path / "bare.txt"), "no features")
    (tmp_path / "wide.txt").write_text("1 5000000000:1\n")
    one_line(lambda: load_libsvm(tmp_path / "wide.txt"), "wide.txt", "too large")
    one_line(lambda: load_libsvm(tmp_path / "wide.txt", n_features=0), "n_features")


@pytest.mark.parametrize("load", [load_csv, load_libsvm])
def test_unreadable(load, tmp_path):
    one_line(lambda: load(tmp_path / "missing.csv"), "cannot read", "missing.csv")
    one_line(lambda: load(tmp_path), "cannot read")
    one_line(lambda: load(None), "path must be")
    for name, content in (("cut.csv.gz", GZIP[:-6]), ("broken.csv.gz", b"")):
        (tmp_path / name).write_bytes(content)
        one_line(lambda name=name: load(tmp_path / name), name)
    flipped = bytearray(GZIP)
    flipped[14] ^= 0xFF
    (tmp_path / "flipped.csv.gz").write_bytes(bytes(flipped))
    one_line(lambda: load(tmp_path / "flipped.csv.gz"), "flipped.csv.gz")


def test_wrong_arguments():
    path = DATA / "prices.csv"
    one_line(lambda: load_csv(path, target="prise"), "'price'")
    one_line(lambda: load_csv(path, target=3), "[-3, 2]")
    one_line(lambda: load_csv(path, target="0", header=False), "header=False")
    one_line(lambda: load_csv(path, target=True), "target")
    one_line(lambda: load_csv(path, delimiter="||"), "delimiter")
    one_line(lambda: load_csv(path, delimiter="\t"), "prices.csv: could not parse")


# The stream -----------------------------------------------------------------------------------------------------------


@functools.partial(jax.jit, static_argnums=3)
def run(environment, key, points, trials):
    """`[S, T]` outcomes and `[S, T, Q, d]` gradients of several trials that play the same points."""
    environment = as_arrays(environment)

    def trial(key):
        def round_(state, inputs):
            t, point = inputs
            query = jnp.stack([point, -point])
            decision = PointDecision(play=point, query=query)
            state, feedback, outcome = environment.step(jax.random.fold_in(key, t), t, state, None, decision)
            return state, (feedback.loss, feedback.grad, outcome)

        steps = jnp.arange(len(points), dtype=jnp.int32)
        return jax.lax.scan(round_, environment.init(key), (steps, points))[1]

    return jax.vmap(trial)(jax.random.split(key, trials))


def table(rng, n, dim, loss):
    features = rng.standard_normal((n, dim))
    noisy = features @ rng.standard_normal(dim) + rng.standard_normal(n)
    return features, noisy if loss == "squared" else np.where(noisy > 0.0, 7.0, 3.0)


def values(loss, features, targets, x):
    """`[n]` the loss of every row at `x`, and `[n, d]` its gradient, by hand."""
    score = features @ x
    if loss == "squared":
        return (score - targets) ** 2 / 2, (score - targets)[:, None] * features
    sign = np.where(targets == 7.0, 1.0, -1.0)
    return np.log1p(np.exp(-sign * score)), (-sign / (1.0 + np.exp(sign * score)))[:, None] * features


@pytest.mark.quick_cases("logistic-given-3")
@pytest.mark.parametrize(
    ("loss", "order", "dim"),
    [("squared", "shuffled", 3), ("squared", "iid", 20), ("logistic", "given", 3), ("logistic", "shuffled", 20)],
)
def test_stream(loss, order, dim, key, rng):
    n, horizon, trials, c = 60, 150, 3, 1.5
    features, targets = table(rng, n, dim, loss)
    u = rng.standard_normal(dim)
    environment = DataStream.from_arrays(features, targets, loss=loss, order=order, comparator=u, loss_scale=c)
    validate(environment)
    assert environment.dim == dim
    points = rng.standard_normal((horizon, dim))
    losses, grads, outcome = jax.tree.map(np.asarray, run(environment, key, jnp.asarray(points), trials))
    rows = np.empty((trials, horizon), int)
    for t, x in enumerate(points):
        for s in range(trials):
            at_x, slope = (c * a for a in values(loss, features, targets, x))
            at_minus, slope_minus = (c * a for a in values(loss, features, targets, -x))
            rows[s, t] = row = np.argmin(np.abs(at_x - losses[s, t, 0]))
            np.testing.assert_allclose(losses[s, t], [at_x[row], at_minus[row]], rtol=1e-9, atol=1e-13)
            np.testing.assert_allclose(grads[s, t], [slope[row], slope_minus[row]], rtol=1e-9, atol=1e-12)
            at_u = c * values(loss, features, targets, u)[0][row]
            charged = (at_x[row], at_u, at_x[row] - at_u)
            np.testing.assert_allclose([a[s, t] for a in outcome], charged, rtol=1e-9, atol=1e-12)
    if order == "given":
        np.testing.assert_array_equal(rows, np.tile(np.arange(horizon) % n, (trials, 1)))
    elif order == "shuffled":
        for s in range(trials):
            assert sorted(rows[s, :n]) == sorted(rows[s, n : 2 * n]) == list(range(n))
        assert len({tuple(r[:n]) for r in rows} | {tuple(r[n : 2 * n]) for r in rows}) == 2 * trials
    else:
        assert all(len(set(r[:n])) < n for r in rows)  # 60 draws without a repetition have probability 1e-25


@pytest.mark.slow
def test_iid_rows_are_uniform(key):
    features = np.eye(5)
    environment = DataStream.from_arrays(features, np.zeros(5), order="iid")
    _, grads, _ = run(environment, key, jnp.ones((2000, 5)), 10)
    counts = np.count_nonzero(np.asarray(grads)[:, :, 0], axis=(0, 1))
    assert np.abs(counts - 4000).max() <= 5.0 * np.sqrt(20_000 * 0.2 * 0.8)


@pytest.mark.parametrize("loss", ["squared", "logistic"])
def test_best_fit_minimises_the_mean_loss(loss, rng):
    features, targets = table(rng, 80, 4, loss)
    features = features * [1.0, 100.0, 0.01, 3.0]
    environment = DataStream.from_arrays(features, targets, loss=loss)
    x = environment.table.best
    mean = lambda x: values(loss, features, targets, x)[0].mean()  # noqa: E731
    gradient = values(loss, features, targets, x)[1].mean(axis=0)
    np.testing.assert_allclose(gradient / np.abs(features).max(axis=0), 0.0, atol=1e-10)
    other = scipy.optimize.minimize(mean, np.zeros(4), method="Nelder-Mead", options={"maxiter": 200})
    assert mean(x) <= other.fun + 1e-12


@pytest.mark.parametrize("units", [(1e8, 1.0), (1e150, 1e-3), (1e-12, 1e3)])
def test_best_fit_does_not_depend_on_the_units_of_columns(units, rng):
    """Newton's method on such columns would drop the short one, since the Hessian has the squares of their lengths."""
    features = rng.standard_normal((50, 2))
    targets = (features.sum(axis=1) + 2.0 * rng.standard_normal(50) > 0.0).astype(float)
    expected = DataStream.from_arrays(features, targets, loss="logistic").table.best
    found = DataStream.from_arrays(features * units, targets, loss="logistic").table.best
    np.testing.assert_allclose(found * units, expected, rtol=1e-6)


@pytest.mark.slow
def test_regret_against_the_best_fit_is_never_negative_for_a_fixed_point(key, rng):
    features, targets = table(rng, 50, 3, "squared")
    environment = DataStream.from_arrays(features, targets)
    best = environment.table.best
    for point in (best, best + 0.1, rng.standard_normal(3)):
        outcome = run(environment, key, jnp.asarray(np.tile(point, (100, 1))), 2)[2]  # two whole passes
        expected = 2.0 * np.sum((features @ (point - best)) ** 2) / 2.0
        np.testing.assert_allclose(np.sum(outcome.regret, axis=1), expected, rtol=1e-9, atol=1e-10)


def test_measures(rng):
    for loss in ("squared", "logistic"):
        features, targets = table(rng, 50, 3, loss)
        environment = DataStream.from_arrays(features, targets, loss=loss, loss_scale=2.0)
        x = rng.standard_normal(3)
        grads = 2.0 * values(loss, features, targets, x)[1]
        expected = np.mean(np.sum(grads**2, axis=1)) - np.sum(grads.mean(axis=0) ** 2)
        np.testing.assert_allclose(environment.gradient_variance(x), expected, rtol=1e-10)
        directions = rng.standard_normal((200, 3))
        directions *= 1.3 / np.linalg.norm(directions, axis=1, keepdims=True)
        largest = max(np.linalg.norm(2.0 * values(loss, features, targets, v)[1], axis=1).max() for v in directions)
        assert largest <= environment.lipschitz(1.3) <= 3.0 * largest
        excess = as_arrays(environment).at_record(None, jnp.asarray(x))["excess_risk"]
        best = environment.table.best
        means = [2.0 * values(loss, features, targets, v)[0].mean() for v in (x, best)]
        np.testing.assert_allclose(excess, means[0] - means[1], rtol=1e-10)


def test_a_copy_is_taken(rng):
    features, targets = table(rng, 10, 2, "squared")
    stream = DataStream.from_arrays(features, targets)
    features[0] = 0.0
    assert stream.table.features[0].all()


def test_the_risk_over_many_rows_takes_each_once(rng, monkeypatch):
    """Blocks that do not divide the table."""
    monkeypatch.setattr(data_stream, "_BLOCK", 7)
    features, targets = table(rng, 50, 3, "squared")
    environment, x = DataStream.from_arrays(features, targets, comparator=0.0), rng.standard_normal(3)
    excess = as_arrays(environment).at_record(None, jnp.asarray(x))["excess_risk"]
    means = [values("squared", features, targets, v)[0].mean() for v in (x, np.zeros(3))]
    np.testing.assert_allclose(excess, means[0] - means[1], rtol=1e-12)


@pytest.mark.slow
def test_64_trials_hold_one_table(rng):
    """The compiled program of a round and of a record point: arguments and temporary memory, in tables."""
    environment = as_arrays(DataStream.from_arrays(*table(rng, 50_000, 60, "squared"), order="iid"))
    leaves, structure = jax.tree.flatten(environment)
    axes = jax.tree.unflatten(structure, [None if common else 0 for common in shared_leaves(environment)])
    trials = map_traced(lambda leaf: jnp.broadcast_to(leaf, (64, *leaf.shape)), environment)

    def round_(environment, key, x):
        outcome = environment.step(key, jnp.int32(0), None, None, PointDecision.at(x))[1:]
        return outcome[1], environment.at_record(None, x)

    arguments = trials, jax.random.split(jax.random.key(0), 64), jnp.zeros((64, 60))
    memory = jax.jit(jax.vmap(round_, in_axes=(axes, 0, 0))).lower(*arguments).compile().memory_analysis()
    size = sum(leaf.nbytes for leaf in leaves)
    assert memory.argument_size_in_bytes < 1.1 * size
    assert memory.temp_size_in_bytes < 0.5 * size
    assert memory.generated_code_size_in_bytes < 0.1 * size  # not baked in


def test_stream_rejects(rng):
    features, targets = table(rng, 10, 2, "squared")
    one_line(lambda: DataStream.from_arrays(features, targets[:-1]), "(10, 2) and (9,)")
    one_line(lambda: DataStream.from_arrays(features[0], targets), "(n, d)")
    one_line(lambda: DataStream.from_arrays(np.empty((0, 2)), []), "(0, 2)")
    one_line(lambda: DataStream.from_arrays([["x", 1]], [0.0]), "numbers")
    broken = np.where(features == features[3, 1], np.nan, features)
    one_line(lambda: DataStream.from_arrays(broken, targets), "row 3")
    one_line(lambda: DataStream.from_arrays(features, features[:, 0] > 0.0, loss="logistic"), "separable")
    one_line(lambda: DataStream.from_arrays(features, targets, loss="logistic"), "two distinct values, got 10")
    stream = DataStream.from_arrays(features, targets)
    for wrong, message in (
        (DataStream(table=stream.table, loss="logistic"), "-1 and 1"),
        (DataStream(table=stream.table, loss="square"), "'squared'"),
        (DataStream(table=stream.table, order="shuffle"), "'shuffled'"),
        (DataStream(table=(features, targets)), "table"),
        (DataStream(table=stream.table, loss_scale=0.0), "loss_scale"),
        (DataStream(table=Table(features, targets)), "comparator"),
    ):
        one_line(lambda wrong=wrong: validate(wrong), message)
    one_line(lambda: run(DataStream(table=stream.table, comparator=np.ones(3)), jax.random.key(0), jnp.ones((1, 2)), 1))


NO_CODE = {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER}


def code_lines(path, prefix=""):
    """Number of lines with code, neither docstring nor comment: of the functions of this prefix, without one of all."""
    text = path.read_text()
    tree, tokens = ast.parse(text), tokenize.generate_tokens(io.StringIO(text).readline)
    code = {line for token in tokens if token.type not in NO_CODE for line in range(token.start[0], token.end[0] + 1)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            code -= set(range(node.lineno, node.end_lineno + 1))
    functions = [node for node in tree.body if isinstance(node, ast.FunctionDef) and node.name.startswith(prefix)]
    spans = [range(node.lineno, node.end_lineno + 1) for node in functions]
    return sum(not prefix or any(line in span for span in spans) for line in code)


def test_readers_are_schemas_over_polars():
    """About 440 lines, as the formatter writes them, read users' files; `csv` only writes."""
    package = Path(files.__file__).parent
    readers = ("files", "streams", "labelled", "movielens", "filmtrust")
    lines = sum(code_lines(package / f"{name}.py") for name in readers)
    assert 300 < lines + code_lines(package / "groups.py", "load_") < 450
    for path in package.parents[1].rglob("*.py"):
        assert not re.search(r"\bcsv\.(reader|DictReader)|genfromtxt|loadtxt", path.read_text()), path
