"""Every public function that runs, measures or reports, with wrong values of every argument."""

import matplotlib.pyplot as plt
import numpy as np
import pytest

from jaxbandits import Entry, InputError, check_algorithm, check_environment, register_algorithm
from jaxbandits.results.merge import merge
from jaxbandits.results.result import Result
from jaxbandits.simulation import Grid, Meter, compare, product, simulate, sweep, time_rounds, zip_fields
from tests.bad_values import WRONG, outcome
from tests.results import factories
from tests.toy_problems import Noisy, Shrink

A, E = Shrink(), Noisy()
SETTINGS = {"record_points": 2, "progress": False, "width": 1}
MADE = factories.result()
SWEPT = Result({"swept": MADE["swept"]}, MADE.info)
TWINS = Result({"a": MADE["swept"], "b": MADE["swept"]}, MADE.info)
CELLS = Result({"s": factories.trials({"loss": np.ones((4, 3, 2))}, product({"a": [1, 2], "b": [1, 2]}))})
ANY_NUMBER = {"nan", "inf", "-inf", "negative", "zero", "fraction", "huge", "flag"}  # of a grid that nothing runs


def with_one(function, given):
    """Return, by argument name, the function with that argument open and the others given."""
    return lambda name: lambda value: function(**given | {name: value})


run = with_one(simulate, {"algorithm": A, "environment": E, "horizon": 3, "seeds": 2} | SETTINGS)
each = with_one(
    lambda **given: compare({"a": A, "b": A}, **{k: {"a": GIVEN[k], "b": v} for k, v in given.items()}, progress=False),
    GIVEN := {"environment": E, "horizon": 3, "seeds": 2, "record_points": 2},
)
timed = with_one(
    time_rounds,
    {
        "algorithms": [A],
        "environment": E,
        "horizon": 4,
        "repeats": 1,
        "patience": 0.1,
        "stretches": 1,
        "progress": False,
    },
)
best = with_one(SWEPT.best, {"metric": "regret"})
paired = with_one(TWINS.paired_difference, {"first": "a", "second": "b"})


def plot(name):
    return lambda value: MADE.plot(**{"metric": "risk" if name == "group" else "regret", "ax": plt.gca(), name: value})


def heatmap(name):
    given = {"metric": "loss", "first": "a", "second": "b", "ax": plt.gca()}
    return lambda value: CELLS.heatmap(**given | {name: value})


def call_with_meter(name):
    given = {"name": "m", "measure": lambda r: 1.0}
    return lambda value: simulate(A, E, 3, 2, meters=[Meter(**given | {name: value})], **SETTINGS)


def swept(grid):
    return sweep(A, E, 3, 2, grid=grid, **SETTINGS)


def register_entry(**given):
    register_algorithm("my/name", Entry(**{"cls": Shrink, "example": A, "source": "s"} | given))


# The call, the pattern of its messages, and the values that it accepts.
CASES = {
    **{f"simulate.{k}": (run(k), k, ()) for k in ("algorithm", "environment", "horizon", "seeds", "record_points")},
    "option.meters": (run("meters"), "meters", {"empty"}),
    "option.seed": (run("seed"), "seed", {"zero"}),
    "option.first_seed": (run("first_seed"), "first_seed", {"zero"}),
    "option.width": (run("width"), "width", {"None"}),
    "option.devices": (run("devices"), "devices", {"None"}),
    "option.workers": (run("workers"), "workers", {"None"}),
    "option.seconds_per_call": (run("seconds_per_call"), "seconds_per_call", {"fraction", "huge"}),
    "option.checkpoint": (run("checkpoint"), "checkpoint", {"text", "None"}),
    "option.save_every": (run("save_every"), "save_every", {"inf", "zero", "fraction", "huge"}),
    "option.progress": (run("progress"), "progress", {"flag"}),
    "option.unknown": (run("sed"), "unknown option 'sed'; did you mean 'seed'", ()),
    "compare.algorithms": (lambda v: compare(v, E, 3, 2, **SETTINGS), "algorithm", ()),
    "compare.algorithms[i]": (lambda v: compare([v], E, 3, 2, **SETTINGS), "algorithm", ()),
    "compare.algorithms[label]": (lambda v: compare({"a": v}, E, 3, 2, **SETTINGS), "algorithm 'a'", ()),
    **{f"compare.{k}[label]": (each(k), k, ()) for k in GIVEN},
    "sweep.grid": (swept, "grid", ()),
    "sweep.grid[field]": (lambda v: swept({"rate": v}), "rate|grid", {"zero"}),
    "sweep.grid[i]": (lambda v: swept([v]), "grid", ()),
    "sweep.grid[i][field]": (lambda v: swept([{"rate": v}]), "rate", {"zero"}),
    "Grid.algorithm": (lambda v: compare({"a": Grid(v, {"rate": [0.1]})}, E, 3, 2, **SETTINGS), "algorithm 'a'", ()),
    "Grid.points": (lambda v: compare({"a": Grid(A, v)}, E, 3, 2, **SETTINGS), "grid", ()),
    "product": (product, "grid", ()),
    # Arrays are values, too; those of different shapes belong to different sizes, such as a static field has.
    "product.values": (lambda v: product({"rate": v}), "rate|grid", ANY_NUMBER | {"text", "texts", "ragged", "shape"}),
    "zip_fields": (zip_fields, "grid", ()),
    "zip_fields.values": (
        lambda v: zip_fields({"rate": [1], "start": v}),
        "start|grid",
        ANY_NUMBER | {"text", "texts"},
    ),
    "Meter.name": (call_with_meter("name"), "name of a meter", {"text"}),
    "Meter.measure": (call_with_meter("measure"), "meter 'm'.* measure", {"function"}),  # a round has a length
    "Meter.measure's value": (lambda v: call_with_meter("measure")(lambda r: v), "meter 'm'", ANY_NUMBER | {"shape"}),
    "Meter.reduce": (call_with_meter("reduce"), "meter 'm': reduce", ()),
    "Meter.axes": (call_with_meter("axes"), "meter 'm': axes", ()),
    "Meter.unit": (call_with_meter("unit"), "meter 'm': unit", {"text"}),
    "time_rounds.algorithms": (timed("algorithms"), "algorithm", ()),
    **{f"time_rounds.{k}": (timed(k), k, ()) for k in ("environment", "horizon", "width", "repeats", "stretches")},
    "time_rounds.patience": (timed("patience"), "patience", {"inf", "fraction", "huge"}),
    "time_rounds.progress": (timed("progress"), "progress", {"flag"}),
    "get.metric": (lambda v: MADE.get(v, "swept"), "metric", {"None"}),
    "get.label": (lambda v: MADE.get("regret", v), "label", ()),
    "[label]": (lambda v: MADE[v], "label", ()),
    "summary.metric": (SWEPT.summary, "metric", {"None"}),
    "summary.level": (lambda v: SWEPT.summary(level=v), "level", ()),
    "summary.at": (lambda v: MADE.summary("risk", group=v), "group", {"zero"}),
    "table.metric": (SWEPT.table, "metric", {"None"}),
    "table.level": (lambda v: SWEPT.table(level=v), "level", ()),
    "table.at": (lambda v: MADE.table("risk", grp=v), "no axis 'grp'", ()),
    "best.metric": (best("metric"), "metric", {"None"}),
    "best.by": (best("by"), "by", {"function"}),
    "best.by's value": (lambda v: best("by")(lambda values: v), "by|point", ANY_NUMBER - {"nan", "inf", "-inf"}),
    "best.minimise": (best("minimise"), "minimise", {"flag"}),
    "best.select": (best("select"), "select|to choose the point", ()),
    "best.level": (best("level"), "level", ()),
    "paired_difference.first": (paired("first"), "label", ()),
    "paired_difference.second": (paired("second"), "label", ()),
    "paired_difference.metric": (paired("metric"), "metric", {"None"}),
    "paired_difference.level": (paired("level"), "level", ()),
    "plot.metric": (plot("metric"), "metric", {"None"}),
    "plot.x": (plot("x"), "x-axis", ()),
    "plot.algorithms": (plot("algorithms"), "algorithms|label", {"None"}),
    "plot.points": (plot("points"), "points", {"None", "dict"}),
    "plot.points[i]": (lambda v: plot("points")([v]), "points", {"zero"}),
    "plot.points[field]": (lambda v: plot("points")({"rate": v}), "rate", ()),
    "plot.ax": (plot("ax"), "ax", {"None"}),
    "plot.band": (plot("band"), "band", ()),
    "plot.at": (plot("group"), "group", {"zero"}),
    "plot.linewidth": (
        plot("linewidth"),
        "setting of matplotlib's lines",
        ANY_NUMBER | {"None"},
    ),  # matplotlib takes these
    "heatmap.metric": (heatmap("metric"), "metric", {"None"}),
    "heatmap.first": (heatmap("first"), "field", ()),
    "heatmap.second": (heatmap("second"), "field", ()),
    "heatmap.label": (heatmap("label"), "label", {"None"}),
    "heatmap.points": (heatmap("points"), "points", {"None", "dict"}),
    "heatmap.ax": (heatmap("ax"), "ax", {"None"}),
    "heatmap.at": (heatmap("row"), "no axis 'row'", ()),
    "merge": (merge, "merge needs a list of results", ()),
    "merge[i]": (lambda v: merge([MADE, v]), "merge needs a list of results", ()),
    "save": (MADE.save, "file", {"text"}),
    "load": (Result.load, "file", ()),
    "to_csv": (MADE.to_csv, "file", {"text"}),
    "Entry.cls": (lambda v: register_entry(cls=v), "entry.cls", ()),
    "Entry.example": (lambda v: register_entry(example=v), "entry.example", ()),
    "Entry.source": (lambda v: register_entry(source=v), "entry.source|my/name", {"text"}),
    "Entry.environments": (lambda v: register_entry(environments=v), "entry.environments", ()),
}


@pytest.mark.slow_cases("Meter.measure's value")
@pytest.mark.parametrize("case", CASES)
@pytest.mark.filterwarnings("ignore")  # few seeds, and what matplotlib says of strange widths
def test_a_wrong_argument_is_one_line_that_names_it(case, tmp_path, monkeypatch):
    from jaxbandits.algorithms import ALGORITHMS

    monkeypatch.chdir(tmp_path)
    call, named, fine = CASES[case]
    for wrong in WRONG:
        if (case, wrong) == ("Meter.measure's value", "tracer"):  # known only when the compiled program is called
            continue
        text = outcome(call, wrong)
        ALGORITHMS.pop("my/name", None)
        assert (text is None) == (wrong in fine), f"{case} = {wrong}: {text}"
        if text is not None:
            with pytest.raises(InputError, match=named):
                raise InputError(text)
    plt.close("all")


@pytest.mark.parametrize("name", ["", " ", "a:b", "a\nb", "healthy", "inadmissible", "seed", "round", "label", "point"])
def test_no_meter_takes_a_name_that_results_use(name):
    with pytest.raises(InputError, match=r"name of a meter|a metric cannot be called"):
        simulate(A, E, 3, 2, meters=[Meter(name, lambda r: 1.0)], **SETTINGS)


@pytest.mark.parametrize("wrong", [w for w in WRONG if w != "tracer"])
def test_contract_checks_say_what_is_no_algorithm_and_no_environment(wrong):
    for check in (
        lambda value: check_algorithm(value, E),
        lambda value: check_algorithm(A, value),
        check_environment,
    ):
        with pytest.raises(AssertionError, match=r"^\w+ (has no method|is a class)"):
            check(WRONG[wrong])
