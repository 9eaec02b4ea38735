"""Sweep files are read strictly: every mistake is one line that names the file, the table and the key."""

import functools

import numpy as np
import pytest

from jaxbandits.base.errors import InputError
from jaxbandits.linear import OFUL, HeavyTailed
from jaxbandits.simulation import Grid
from jaxbandits.sweeps import file
from jaxbandits.sweeps.sweep import plan_sweep
from tests.sweeps.toy_sweeps import FILE


@pytest.fixture
def write(tmp_path):
    def write_file(text):
        path = tmp_path / "mine.toml"
        path.write_text(text)
        return path

    return write_file


def test_a_file_is_a_sweep(write):
    document = file.read(write(FILE))
    assert document.out.name == "mine" and document.precision is None
    sweep = file.make_sweep(document)
    grid = sweep.algorithms["oful"]
    assert isinstance(grid, Grid) and isinstance(grid.algorithm, OFUL)
    assert isinstance(sweep.environment["oful"], HeavyTailed) and sweep.environment["oful"].noise.df == 2.5
    assert grid.points == [{"dim": d, "environment.dim": d, "ridge": r} for d in (2, 3) for r in (0.1, 1.0)]
    assert (sweep.horizon, sweep.seeds, sweep.record_points, sweep.width) == (20, 4, [5, 20], 32)


def test_several_environments_and_log_spaced_records(write):
    more = 'record_points = { log = 3 }\nhorizon = 20\nseeds = 2\n[algorithms.a]\ntype="linear/oful"\ndim=2\n'
    more += "".join(f'[environments.{n}]\ntype="linear/heavy_tailed"\ndim=2\nn_arms=3\n' for n in ("x", "y"))
    sweep = file.make_sweep(file.read(write(more)))
    assert list(sweep.algorithms) == ["a@x", "a@y"] == list(sweep.environment)
    assert sweep.record_points == ("log", 3) and isinstance(sweep.algorithms["a@x"], OFUL)


def test_arrays_are_swept_alone_and_with_their_sizes(write):
    text = """
        horizon = 20
        seeds = 2
        [algorithms.a]
        type = "armed/ucb1"
        n_arms = { values = [2, 3], zip = "k" }
        [environments.coins]
        type = "armed/bernoulli_arms"
        n_arms = { values = [2, 3], zip = "k" }
        means = { values = [[0.9, 0.1], [0.9, 0.5, 0.1]], zip = "k" }
    """
    (label,) = plan_sweep(file.make_sweep(file.read(write(text)))).label_jobs
    assert [job.algorithm.n_arms for _, job in label.jobs] == [2, 3]
    assert [np.asarray(job.at_point()[1].means).tolist() for _, job in label.jobs] == [[0.9, 0.1], [0.9, 0.5, 0.1]]
    assert [point["environment.means"] for point in label.whole.points] == [0, 1]
    named = text.replace("[[0.9, 0.1], [0.9, 0.5, 0.1]]", "{ two = [0.9, 0.1], three = [0.9, 0.5, 0.1] }")
    (label,) = plan_sweep(file.make_sweep(file.read(write(named)))).label_jobs
    assert [point["environment.means"] for point in label.whole.points] == ["two", "three"]
    for wrong, message in (
        (text.replace("[0.9, 0.5, 0.1]]", "[0.9, 0.5]]"), "environments.coins: BernoulliArms.means must have shape"),
        (text.replace("[0.9, 0.5, 0.1]]", "[0.9, 0.5, 1.1]]"), "means must lie in"),
        (
            text.replace('"armed/ucb1"', '"armed/ucb1"\nexploration = { values = [[1.0], [2.0]] }'),
            r"algorithms.a.exploration: is not an array: its values must be numbers, such as \[1, 2\]",
        ),
    ):
        with pytest.raises(InputError, match=message) as error:
            file.make_sweep(file.read(write(wrong)))
        assert str(error.value).startswith(str(write(wrong)))


@pytest.mark.parametrize(
    ("field", "table", "path"),
    [
        ("algorithms", 'type = "oco/msmwc"\nn_experts = 2\nloss_range = {}', "loss_range"),
        (
            "algorithms",
            'type = "oco/ogd"\ndim = 2\ndomain = {{ type = "domain/box", dim = 2, low = {} }}',
            "domain.low",
        ),
        ("environments", 'type = "armed/sleeping_arms"\nn_arms = 2\nawake = {}', "awake"),
        (
            "environments",
            'type = "armed/noisy_arms"\nn_arms = 2\nnoise={{type="noise/gaussian", spread={}}}',
            "noise.spread",
        ),
        ("environments", 'type = "glm/generalized_linear"\ndim = 2\nn_arms = 2\ncenter = {}', "center"),
    ],
)
def test_a_list_is_one_array_and_a_list_of_lists_several(field, table, path, write):
    one, other = [0.25, 0.5], [0.5, 0.75]
    for values in (one, f"{{ values = [{one}, {other}] }}"):
        tables = {
            "algorithms": '[algorithms.a]\ntype = "armed/ucb1"\nn_arms = 2',
            "environments": '[environments.e]\ntype = "armed/bernoulli_arms"\nn_arms = 2',
        }
        tables[field] = f"[{field}.x]\n{table.format(values)}"
        made = file.make_sweep(file.read(write("horizon = 5\nseeds = 1\n" + "\n".join(tables.values()))))
        (algorithm,), (environment,) = dict(made.algorithms).values(), dict(made.environment).values()
        if values == one:
            owner = algorithm if field == "algorithms" else environment
            assert functools.reduce(getattr, path.split("."), owner).tolist() == one
        else:
            name = path if field == "algorithms" else f"environment.{path}"
            assert [point[name].array.tolist() for point in algorithm.points] == [one, other]


def test_overrides(write):
    path = write(FILE)
    content = file.read(
        path,
        [
            "horizon=50",
            "env.dim=5,10",
            "alg.dim=5,10",
            "algorithms.oful.ridge=0.5",
            "env.noise.df=2.1, 3",
            "record_points=10,50",
            "precision=float64",
            "out=some/where",
            'metrics=["regret"]',
        ],
    ).content
    assert content["horizon"] == 50 and content["record_points"] == [10, 50] and content["metrics"] == ["regret"]
    assert content["environments"]["student"]["dim"] == {"values": [5, 10], "zip": "d"}
    assert content["algorithms"]["oful"] == {
        "type": "linear/oful",
        "dim": {"values": [5, 10], "zip": "d"},
        "ridge": 0.5,
    }
    assert content["environments"]["student"]["noise"]["df"] == {"values": [2.1, 3]}
    assert (content["precision"], content["out"]) == ("float64", "some/where")
    assert file.read(path, ["alg.ridge={logspace=[0.1, 1.0], n=9}"]).content["algorithms"]["oful"]["ridge"]["n"] == 9


@pytest.mark.parametrize(
    ("override", "message"),
    [
        ("horizon", "must have the form KEY=VALUE"),
        ("=3", "must have the form KEY=VALUE"),
        ("horizon=", "has no value"),
        ("horizon=[1", "cannot read the value"),
        ("horizon=50\nseeds=2", "cannot read the value"),
        ("horizn=3", "unknown key 'horizn'; did you mean 'horizon'"),
        ("env=3", "does not name a field of the environments"),
        ("algorithms.ofl.ridge=3", "did you mean 'algorithms.oful.FIELD'"),
        ("env.n_arms.x=3", "n_arms is not a table"),
    ],
)
def test_mistakes_in_overrides(write, override, message):
    with pytest.raises(InputError, match=message) as error:
        file.read(write(FILE), [override])
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("horizon = 20", "horizon = ", r"mine.toml: Invalid value \(at line 2"),
        ("horizon = 20", "", "mine.toml: needs horizon"),
        ("horizon = 20", "horizon = 2.5", "mine.toml: horizon must be a whole number, got 2.5"),
        ("horizon = 20", "horizon = true", "mine.toml: horizon must be a whole number, got True"),
        ("seeds = 4", "seeds = 0", "mine.toml: seeds must be a whole number in "),
        ("horizon = 20", "horizon = -1", "mine.toml: horizon must be a whole number in "),
        ("seeds = 4", "sedes = 4", "mine.toml: unknown key 'sedes'; did you mean 'seeds'"),
        ("record_points = [5, 20]", "record_points = [5, 30]", r"must increase strictly within 1 .. 20, got \[5, 30\]"),
        ("record_points = [5, 20]", "record_points = { lg = 3 }", "mine.toml: record_points must be"),
        ("width = 32", "width = 33", "mine.toml: width must be 1 or a multiple of 16"),
        ("width = 32", "precision = 'float46'", "mine.toml: precision: unknown precision .* did you mean"),
        ("width = 32", "precision = 'float32'", "mine.toml: precision is float32, but this process computes in"),
        ("width = 32", "part_trials = 0", "mine.toml: part_trials must be"),
        ("width = 32", "metrics = ['regrett']", "mine.toml: metrics: unknown metric 'regrett'; did you mean 'regret'"),
        ("width = 32", "metrics = [3]", "mine.toml: metrics must be a list of names"),
        ("width = 32", "out = ''", "mine.toml: out must be"),
        ("[algorithms.oful]", "[algorithms]", "mine.toml: algorithms.type must be a table with a type"),
        ('"linear/oful"', '"linear/ofull"', r"algorithms.oful.type: unknown algorithm 'linear/ofull'; did you mean"),
        ('"linear/oful"', '"linear/heavy_tailed"', r"algorithms.oful.type: unknown algorithm"),
        ('type = "linear/oful"', "", "algorithms.oful: needs a type"),
        ('"linear/oful"', '["linear/oful"]', r"algorithms.oful: needs a type, such as .*, got \['linear/oful'\]"),
        ("ridge =", "rigde =", r"mine.toml: algorithms.oful: unknown field of OFUL 'rigde'; did you mean 'ridge'"),
        ("{ logspace = [0.1, 1.0], n = 2 }", "-1.0", r"mine.toml: algorithms.oful.ridge must lie in \(0, inf\)"),
        ("{ logspace = [0.1, 1.0], n = 2 }", "{ values = [1.0, -1.0] }", r"algorithms.oful.ridge must lie in"),
        ("{ logspace = [0.1, 1.0], n = 2 }", '"big"', r"mine.toml: algorithms.oful.ridge must be"),
        ("{ logspace = [0.1, 1.0], n = 2 }", "1979-05-27", r"algorithms.oful.ridge: must be a JSON value"),
        ("[0.1, 1.0], n", "[0.1, 1.0], m", "mine.toml: algorithms.oful.ridge: unknown key next to 'logspace' 'm'"),
        ("df = 2.5", "fd = 2.5", r"environments.student.noise: unknown field of StudentT 'fd'"),
        ("n_arms = 5", "n_arms = { values = [5, 0] }", r"mine.toml: environments.student.n_arms must "),
        (
            'dim = { values = [2, 3], zip = "d" }\nn_arms',
            "dim = 2\nn_arms",
            "mine.toml: oful has dim=3, but the environment has dim=2",
        ),
    ],
)
def test_mistakes_in_files(write, old, new, message):
    assert FILE.count(old) == 1
    with pytest.raises(InputError, match=message) as error:
        plan_sweep(file.make_sweep(file.read(write(FILE.replace(old, new)))))
    assert "\n" not in str(error.value)


def test_tables_are_tables_before_overrides_reach_into_them(write):
    path = write("algorithms = 5\nenvironments = 6\nhorizon = 3\nseeds = 3")
    for override in ("alg.dim=3", "algorithms.x.dim=3", "horizon=4"):
        with pytest.raises(InputError, match=r"mine.toml: \w+ must be a table, got [56]"):
            file.read(path, [override])


def test_pairs_have_names_of_their_own(write):
    rest = FILE[FILE.index("[environments.student]") :]
    learner = FILE[FILE.index("[algorithms.oful]") : FILE.index("[environments.student]")]
    text = FILE[: FILE.index("[algorithms.oful]")]
    text += learner.replace("[algorithms.oful]", "[algorithms.a]")
    text += learner.replace("[algorithms.oful]", '[algorithms."a@b"]')
    text += rest.replace("[environments.student]", '[environments."b@c"]')
    text += rest.replace("[environments.student]", "[environments.c]")
    with pytest.raises(InputError, match="two pairs of an algorithm and an environment have the same label 'a@b@c'"):
        file.make_sweep(file.read(write(text)))


def test_a_file_that_cannot_be_read(tmp_path):
    with pytest.raises(InputError, match="no such file"):
        file.read(tmp_path / "none.toml")
    with pytest.raises(InputError, match="cannot read"):
        file.read(tmp_path)
    (tmp_path / "binary.toml").write_bytes(b"\xff\xfe")
    with pytest.raises(InputError, match="not UTF-8"):
        file.read(tmp_path / "binary.toml")
