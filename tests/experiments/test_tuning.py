"""One protocol of tuning: the rule of the choice, the tables that presets read, the sweep files behind them."""

import inspect
import math
import os
import subprocess
import sys
from pathlib import Path

import pytest

from jaxbandits.algorithms import ALGORITHMS
from jaxbandits.algorithms.glm import multipliers as glm_table
from jaxbandits.algorithms.linear import multipliers as linear_table
from jaxbandits.experiments import EXPERIMENTS
from jaxbandits.experiments.engine.tuning import FIRST_SEED, at_edge, best
from jaxbandits.experiments.glm import setting as glm
from jaxbandits.experiments.linear import setting as linear
from jaxbandits.sweeps import file as sweep_file

ROOT = Path(__file__).parents[2]
TABLES = {"linear": linear_table.MULTIPLIERS, "glm": glm_table.MULTIPLIERS}
TOLD = {"dim", "n_arms", "capacity", "horizon", "eps", "moment_bound", "noise_scale"}  # of the setting, not tuned
AS_PROVED = {"glb_omd", "glb_omd_data", "rs_glincb", "rs_glincb_code"}  # whose `practical` is another thing


def sweeps(family):
    """The sweep files of a family."""
    return [sweep_file.read(ROOT / "benchmarks" / "sweeps" / f"{family}_tuning{end}.toml") for end in ("", "_slow")]


def swept(table):
    """Field to values of the multipliers that a table of a sweep file sweeps."""
    found = {}
    for field, value in table.items():
        if not field.endswith("_scale") or not isinstance(value, dict):
            continue
        if "values" in value:
            found[field] = value["values"]
        else:
            (low, high), n = value["logspace"], value["n"]
            found[field] = [low * (high / low) ** (i / (n - 1)) for i in range(n)]
    return found


def test_the_least_mean_is_taken_and_of_near_ones_that_by_1():
    points = [{"a": 0.01, "b": 1.0}, {"a": 0.1, "b": 0.3}, {"a": 1.0, "b": 1.0}, {"a": 0.1, "b": 3.0}]
    assert best(points, [5.0, 3.0, 9.0, 4.0]) == 1
    assert best(points, [3.02, 3.0, 3.02, 3.01], 0.01) == 2
    assert best(points, [3.0, 3.02, 3.04, 9.0], 0.01) == 1  # (0.1, 0.3) is nearer to (1, 1) than (0.01, 1); 3.04 is out
    assert best(points, [3.0, 3.02, 3.04, 9.0]) == 0
    assert best(points, [-3.02, -3.0, -2.0, 0.0], 0.01) == 1  # objectives may be negative
    assert best(points, [math.inf, math.inf, 7.0, math.inf], 0.5) == 2
    assert best([{"a": 0.0}, {"a": 0.5}], [1.0, 1.0]) == 1


def test_a_choice_at_the_end_of_a_range_is_marked():
    points = [{"a": a, "b": b, "c": 1.0} for a in (0.1, 0.3, 1.0) for b in (0.3, 1.0, 3.0)]
    assert not at_edge(points, {"a": 0.3, "b": 1.0, "c": 1.0})
    assert at_edge(points, {"a": 1.0, "b": 1.0, "c": 1.0}) and at_edge(points, {"a": 0.3, "b": 0.3, "c": 1.0})


@pytest.mark.parametrize("family", TABLES)
def test_all_learners_have_as_many_points_on_seeds_that_judge_nothing(family):
    documents = sweeps(family)
    sizes = {
        name: math.prod(map(len, swept(table).values()))
        for document in documents
        for name, table in document.content["algorithms"].items()
    }
    assert set(sizes.values()) == ({66} if family == "linear" else {36})
    assert {document.content["first_seed"] for document in documents} == {FIRST_SEED}
    assert max(experiment.seeds for experiment in EXPERIMENTS.values()) < FIRST_SEED


@pytest.mark.parametrize("family", TABLES)
def test_the_table_is_of_the_points_of_the_sweeps(family):
    """Every learner is there, with one of its points, rounded as the tool rounds."""
    tables = {name: table for document in sweeps(family) for name, table in document.content["algorithms"].items()}
    assert set(TABLES[family]) == set(tables)
    for name, multipliers in TABLES[family].items():
        grid = swept(tables[name])
        assert set(multipliers) == set(grid), name
        for field, value in multipliers.items():
            assert any(float(f"{x:.4g}") == value for x in grid[field]), (name, field)


@pytest.mark.parametrize("family", TABLES)
def test_presets_read_the_table_and_are_what_was_swept(family):
    """The learner of the sweep at the point of the table is `practical`, field by field."""
    for document in sweeps(family):
        for name, table in document.content["algorithms"].items():
            if name in AS_PROVED:
                continue
            preset = ALGORITHMS[table["type"]].cls.practical
            given = {k: v for k, v in table.items() if k != "type" and not isinstance(v, dict)}
            told = {"horizon": 18_000} if "horizon" in inspect.signature(preset).parameters else {}
            practical = preset(**told | {k: v for k, v in given.items() if k in TOLD})
            for field, value in {**given, **TABLES[family][name]}.items():
                found = getattr(practical, field)
                found = float(practical.dim) if field == "ridge" and found is None else found
                assert found == value or found == pytest.approx(value, rel=1e-12), (name, field)


@pytest.mark.parametrize(("family", "setting"), [("linear", linear), ("glm", glm)])
def test_runs_tune_on_the_grid_of_the_sweeps(family, setting):
    """The preset tuned chooses among the points that the table was chosen from."""
    for document in sweeps(family):
        for name, table in document.content["algorithms"].items():
            grid = setting.grid(ALGORITHMS[table["type"]].example)
            assert set(grid) == set(swept(table)), name
            for field, values in swept(table).items():
                assert list(grid[field]) == pytest.approx(values, rel=1e-12), (name, field)


def test_figures_that_compare_learners_have_three_presets():
    """And none says tuned without tuning."""
    for name in [*(f"linear/fig{i}" for i in range(1, 6)), "linear/mdp"]:
        assert {"theory", "practical", "tuned"} <= set(EXPERIMENTS[name].presets), name
    for name in ("glm/fig1", "glm/fig1-tv", "glm/fig2", "glm/fig3", "glm/covertype"):
        assert {"experiments", "theory", "practical", "tuned"} <= set(EXPERIMENTS[name].presets), name
    for name, experiment in EXPERIMENTS.items():
        if name.startswith(("linear/", "glm/")):
            assert ("tuned" in experiment.presets) == (experiment.tuning is not None), name


def test_a_piece_of_the_tuning_gives_the_table_again(tmp_path):
    """CRMM: 66 points, 64 seeds, both panels of Figure 1."""
    command = [sys.executable, "tools/multipliers.py", "linear", "--only", "crmm", "--out", str(tmp_path)]
    here = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, env=here)
    assert done.returncode == 0, done.stderr
    found: dict = {}
    exec(done.stdout, found)  # the module that would be written
    assert found["MULTIPLIERS"] == {"crmm": TABLES["linear"]["crmm"]}
