"""The first run on a GPU: children that die or hang, the whole run in miniature, what it writes into docs/gpus.md."""

import json
import os
import re
import subprocess
import sys
import threading
import types

import numpy as np
import pytest

from benchmarks import precision
from benchmarks.gpu import first_run, measured, on_device, rate
from benchmarks.gpu.agreement import compare
from benchmarks.gpu.children import Budget, Children, Record, Task
from benchmarks.gpu.devices import GPUS
from benchmarks.gpu.estimate import COUNTS, Costs, counts_path, fit, rounds_per_second
from benchmarks.gpu.programs import TABLE, TARGETS, builders
from tests.doc_blocks import ROOT
from tests.toy_problems import Noisy, Shrink

PRETENDED = "tests.benchmarks.fake_device"


@pytest.fixture
def children(tmp_path):
    return Children(PRETENDED, Record(tmp_path / "found.json"), Budget(100.0))


def task(silence=30.0):
    return Task("section", "some", {}, {**os.environ, "PYTHONPATH": str(ROOT)}, silence)


def run_with_fake_device(monkeypatch, directory, *arguments):
    """Run the script with children that answer at once; return what it wrote."""
    monkeypatch.setattr(first_run, "MODULE", PRETENDED)
    monkeypatch.setattr(first_run.signal, "signal", lambda *_: None)
    first_run.main([*arguments, "--out", str(directory)])
    return json.loads((directory / "first_run.json").read_text())


def test_a_child_that_dies_and_one_that_hangs_cost_their_items(children):
    children.run(task(silence=0.4), ["first", "dies", "answers and dies", "hangs", "last"], 1.0)
    found = json.loads(children.record.path.read_text())["section"]
    assert list(found) == ["first", "dies", "answers and dies", "hangs", "last"]
    assert found["dies"] == {"error": "ended with -11: out of luck"}
    assert found["hangs"] == {"error": "silent for 0 s"}
    assert [*children.record.get("section")] == ["first", "answers and dies", "last"]


def test_a_run_that_is_stopped_ends_its_children_and_names_what_it_left_out(children):
    threading.Timer(0.5, children.budget.stop).start()
    children.run(task(), ["first", "hangs", "last"], 1.0)
    assert children.record.found["left out"] == {"section": ["hangs", "last"]}


def test_items_for_which_no_time_is_left_are_named(children):
    children.run(task(), ["first"], 0.04)
    assert children.record.found == {"left out": {"section": ["first"]}}


def test_a_child_that_does_not_start_is_tried_twice(children):
    children.module = "tests.benchmarks.no_such_module"
    children.run(task(), ["first"], 1.0)
    assert "No module named" in children.record.found["section"]["start"]["error"]
    assert children.record.found["left out"] == {"section": ["first"]}


@pytest.mark.slow
def test_the_whole_run_with_pretended_children(monkeypatch, tmp_path, capsys):
    programs = ["ucb1 K=10", "oons d=2", "ogd d=10"]  # costs are fitted to those without loops, all but OONS
    arguments = ["--minutes", "2", "--widths", "64", "128", "256", "--programs", *programs]
    found = run_with_fake_device(monkeypatch, tmp_path, *arguments)
    assert "errors" not in found and "left out" not in found
    assert found["loops"]["graph without CUBLAS"]["error"].startswith("ended with -11")
    assert found["choice"] == {"form": "graph", "options": "graph of fusions"}  # the first that passes
    assert len(found["agreement"]) == 2 * 2 * 2  # of UCB1 and OONS
    assert all(x["share that parts"] == 0.0 and x["largest difference"] == 0.0 for x in found["agreement"].values())
    assert {*found["rates graph"]} == {f"{name}, {width}" for name in programs for width in (64, 128, 256)}
    cores = len(os.sched_getaffinity(0))
    assert {*found["rates cpu"]} == {f"{name}, {n}" for name in programs for n in (1, cores)}
    assert {*found["fit"]} == {"costs", *found["rates graph"]}
    assert {*found["rounding"]} == {*first_run.ROUNDING}
    assert measured.measurements(found) in capsys.readouterr().out


def test_without_a_gpu_the_run_stops_at_once(monkeypatch, tmp_path):
    monkeypatch.setenv("PRETEND", "no GPU")
    with pytest.raises(SystemExit, match=r"no GPU: .*JAX found no GPU and took the CPU"):
        run_with_fake_device(monkeypatch, tmp_path)


def test_a_cpu_that_jax_took_instead_of_a_gpu_is_refused(tmp_path):
    with pytest.raises(SystemExit, match=first_run.NO_GPU):
        on_device.main("device", on_device.Settings(str(tmp_path)), ["device"])


def test_flags_that_end_xla_are_left_out(monkeypatch, tmp_path):
    """A flag that this XLA does not know, and blanks alone."""

    class OnlyWithoutFlags(Children):
        def run(self, task, items, share):
            flags = task.environment.get("XLA_FLAGS")
            starts.append(flags)
            item, value = ("start", {"error": "Unknown flag"}) if flags else ("device", {"nvidia-smi": None})
            self.record.put(task.section, item, value)

    starts = []
    monkeypatch.setenv("XLA_FLAGS", " ")
    record = Record(tmp_path / "found.json")
    run = first_run.Run(OnlyWithoutFlags(PRETENDED, record, Budget(60.0)), str(tmp_path), forced=False)
    first_run.find_device(run)
    assert starts == [first_run.FLAGS[0], None]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [(("--minutes", "nan"), "must be at least 1, got nan"), (("--programs", "oons"), "'oons'")],
)
def test_arguments_that_make_no_run_are_refused(capsys, arguments, message):
    with pytest.raises(SystemExit):
        first_run.main(arguments)
    assert message in capsys.readouterr().err


def test_an_error_in_a_step_is_a_line(tmp_path):
    run = first_run.Run(Children(PRETENDED, Record(tmp_path / "found.json"), Budget(60.0)), str(tmp_path), forced=True)
    run.attempt("fit", lambda: 1 / 0)
    assert run.record.found["errors"] == {"fit": "ZeroDivisionError: division by zero"}


def test_the_parent_does_not_import_jax():
    code = "import sys, benchmarks.gpu.first_run; sys.exit('jax' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], cwd=ROOT).returncode == 0


def test_programs_and_pages_that_the_run_names_exist():
    assert {*TABLE, *first_run.COMPARED, *TARGETS} <= {*builders()}
    page = (ROOT / "docs" / "precision.md").read_text()
    for item in first_run.ROUNDING[1:]:
        domain, learner = item.split(": ")
        assert learner in precision.LEARNERS[domain] and f"| {learner} | {domain} |" in page


@pytest.mark.slow
def test_the_run_in_miniature(tmp_path):
    """On the CPU, with programs as for a GPU."""
    arguments = ["--forced", "--minutes", "4", "--widths", "64", "--programs", "ucb1 K=10", "--out", str(tmp_path)]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    environment.pop("XLA_FLAGS", None)
    command = [sys.executable, "-m", "benchmarks.gpu.first_run", *arguments]
    subprocess.run(command, cwd=tmp_path, env=environment, check=True, stdout=subprocess.DEVNULL)
    found = json.loads((tmp_path / "first_run.json").read_text())
    assert "errors" not in found and "left out" not in found
    assert not [item for items in found.values() for item, x in items.items() if isinstance(x, dict) and "error" in x]
    assert all(x["share that parts"] == 0.0 for x in found["agreement"].values()) and len(found["agreement"]) == 4
    assert found["bits"]["same seeds twice"] == found["bits"]["resumed"] == {"equal": True}
    assert found["rates graph"]["ucb1 K=10, 64"]["rounds_per_second"] > 1e5


def test_the_fixed_cost_of_a_call_drops_out(monkeypatch):
    clock = [0.0]
    monkeypatch.setattr(rate.time, "perf_counter", lambda: clock[0])

    def play(algorithm, environment, carry, t, end, record_points):
        clock[0] += 0.3 + 2e-5 * (end - t)
        return (), {}, end

    program = types.SimpleNamespace(device=None, start=lambda *_: (), play=play)
    monkeypatch.setattr(rate, "base_key", lambda seed: None)
    found = rate.measure(program, (Shrink(), Noisy()), 32, seconds=0.5)
    assert found.seconds_per_round == pytest.approx(2e-5) and found.rounds_per_second == pytest.approx(32 / 2e-5)
    assert found.seconds_per_call == pytest.approx(0.3) and found.rounds == 16384
    assert not found.is_sound  # the fixed cost is most of both calls


def test_trials_that_part_are_told_from_roundings():
    rng = np.random.default_rng(0)
    reference = rng.uniform(0.5, 1.0, (40, 50)).cumsum(axis=1)
    other = reference * (1 + 1e-6)
    other[:12, 20:] += rng.uniform(0.1, 0.2, (12, 1))  # another play in round 21
    found = compare(other, reference, "float32")
    assert found["share that parts"] == 0.3 and found["median round"] == 21
    assert found["largest difference"] == pytest.approx(1e-6) and found["z"] > 10
    same = compare(reference, reference, "float64")
    assert same["share that parts"] == 0.0 and same["median round"] is None and same["z"] is None
    other[12, 30:] = reference[12, 30:] = np.nan  # a trial that failed on both devices
    assert compare(other, reference, "float32")["share that parts"] == 0.3


def test_costs_are_recovered_from_rates_that_follow_the_formula():
    counts, gpu = json.loads(COUNTS.read_text()), GPUS["h100"]
    costs = Costs(node=1.3e-6, share=0.4)
    pairs = [(width, counts[f"{name}, h100, 8192"]) for name in TABLE for width in (8192, 262_144)]
    seconds = [width / rounds_per_second(gpu, width, program, costs) for width, program in pairs]
    assert fit(gpu, *zip(*pairs, strict=True), seconds) == pytest.approx(costs)


def made_up():
    """Return a made-up record of a run: rates follow from other costs, one program is slow, one lost to the CPU."""
    costs, counts, gpu = Costs(node=1e-6, share=0.5), json.loads(counts_path("0.11.2").read_text()), GPUS["h200"]

    def rate_of(name, width, factor=1.0):
        rounds = factor * rounds_per_second(gpu, width, counts[f"{name}, h100, 8192"], costs)
        measured_rate = {"rounds_per_second": rounds, "seconds_per_round": width / rounds, "is_sound": True}
        return measured_rate | {"compile_s": 3.25, "MB": 120.0}

    rates = {f"{name}, {width}": rate_of(name, width) for name in TABLE[:5] for width in (8192, 262_144)}
    rates["oons d=2, 8192"] = rate_of("oons d=2", 8192, factor=0.2)
    found = {
        "facts": {
            "device": {"kind": "NVIDIA H200", "platform": "gpu", "jax": "0.11.2", "cores": 16},
            "first simulate": {"form": "graph", "seconds": 4.0},
        },
        "loops": {"graph": {"passes": True, "seconds": 2.0}, "host": {"error": "ended with -11: out of luck"}},
        "choice": {"form": "graph", "options": "graph"},
        "rates graph": rates,
        "numbers graph float32": {"ucb1 K=10": {"failed": 2}},
        "rates blocks": {"ogd d=10, 8192": {"rounds_per_second": 5e6, "is_sound": True}},
        "rates cpu": {
            "ogd d=10, 1": {"rounds_per_second": 4.2e7, "is_sound": True},
            "ogd d=10, 16": {"rounds_per_second": 1e13, "is_sound": True},
        },
        "agreement": {
            "ucb1 K=10, graph, float32": compare(np.ones((4, 3)), np.ones((4, 3)), "float32"),
            "armed/moss, graph, float64": compare(np.ones((4, 3)), np.ones((4, 3)), "float64"),
            "armed/ucb_v, graph, float32": compare(1.0 + np.eye(4), 1.0 + np.eye(4)[[0, 1, 2, 2]], "float32"),
        },
        "bits": {"same seeds twice": {"equal": True}, "killed": "as wanted", "resumed": {"equal": False}},
        "chains": {"4 kernels": {"us a round": 6.0, "us a call": 20.0}},
        "rounding": {"operations": {"x / y": 1.9}, "unit ball: OONS": [3.5e-7, 4.5e-7]},
        "left out": {"profiles": ["oons d=2"]},
    }
    return found | {"fit": measured.fit_costs(found)}


def test_a_file_of_a_run_is_rendered_beside_the_estimates():
    found = made_up()
    multiples = found["fit"]
    assert multiples["oons d=2, 8192"]["of fitted"] == min(x["of fitted"] for k, x in multiples.items() if k != "costs")
    page = measured.render((ROOT / "docs" / "gpus.md").read_text(), found)
    assert "Nothing was" not in page and "assumptions" not in page
    estimated = re.search(r"<!-- estimated -->\n(.*)<!-- /estimated -->", page, re.DOTALL)
    text = re.search(r"<!-- measured -->\n(.*)<!-- /measured -->", page, re.DOTALL)
    assert estimated and text
    assert "were fitted to 6 rates of programs without inner loops on one NVIDIA H200" in estimated[1]
    row = next(line for line in text[1].splitlines() if line.startswith("| ogd d=10"))
    cells = [cell.strip() for cell in row.strip("|").split("|")]
    for width, (estimate, rate_) in ((8192, cells[1:3]), (262_144, cells[3:5])):
        assert float(rate_.replace(",", "")) == round(
            found["rates graph"][f"ogd d=10, {width}"]["rounds_per_second"] / 1e6
        )
        assert float(estimate.replace(",", "")) == pytest.approx(float(rate_.replace(",", "")), rel=0.3)
    assert cells[5:] == ["5", "42", "10,000,000"]
    for line in (
        "loops in CUDA graphs (passes), loops whose predicates the host reads (does not pass, ended with -11)",
        "Programs that miss their target at every width: oons d=2.",
        "| ogd d=10 | 3.2 | 120 | 3.2 | 120 |",
        "Trials that failed: ucb1 K=10 (graph float32: 2).",
        "* loops: host: ended with -11: out of luck",
        "Programs that are slower than one CPU core at every width: none.",
        "Programs that are slower than 16 CPU cores at every width: ogd d=10.",
        "(measured / estimated in brackets): oons d=2 at W = 8192 (",
        "| ucb1 K=10 | 0.0e+00 | 0.0 % |  |  |",
        "2 registered learners were run on the small problems that their classes define by `example()`",
        "with such trials (in brackets the share of these trials): armed/ucb_v (25 %).",
        "with the same seeds gave equal bits. A resumed run and an uninterrupted one gave different bits.",
        "x / y 1.90",
        "| unit ball: OONS | 1.5e-07 | 3.5e-07 | 2.2e-07 | 4.5e-07 |",
        "Not measured for lack of time: profiles (oons d=2).",
    ):
        assert line in text[1], line


def test_a_file_that_was_cut_off_is_rendered_as_far_as_it_goes():
    found = made_up()
    for section in [*found][:0:-1]:
        del found[section]
        assert "NVIDIA H200" in measured.measurements(found)
    assert measured.measurements({}) == measured.measurements({"facts": {"start": {"error": ""}}})


def test_a_rehearsal_is_not_rendered(monkeypatch, tmp_path):
    path = tmp_path / "first_run.json"
    path.write_text(json.dumps({"facts": {"device": {"kind": "cpu", "platform": "cpu"}}}))
    monkeypatch.setattr(sys, "argv", ["measured", str(path)])
    with pytest.raises(SystemExit, match="rehearsal on a CPU"):
        measured.main()


def test_the_page_has_what_was_counted_and_measured():
    page = (ROOT / "docs" / "gpus.md").read_text()
    assert measured.render(page, measured.committed()) == page


def test_the_notes_name_where_another_jax_has_other_counts():
    page = (ROOT / "benchmarks" / "NOTES.md").read_text()
    (named,) = re.findall(r"nodes per round differ in \w+ programs:\s(.*?)\.\n\n", page, re.DOTALL)
    usual, other = (json.loads(path.read_text()) for path in (COUNTS, counts_path("0.11.2")))
    differences = [(x["nodes"], usual[key]["nodes"]) for key, x in other.items() if x["nodes"] != usual[key]["nodes"]]
    pairs = re.findall(r"(\d+) \((\d+)", named)
    assert sorted(differences) == sorted((int(a), int(b)) for a, b in pairs)
    assert {key.rsplit(", ", 2)[0] for key in other} == {*TABLE}
