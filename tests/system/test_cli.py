"""The command line: output, exit codes, one line for every mistake."""

import argparse
import dataclasses
import inspect
import json
import re
import resource
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from jaxbandits import __version__, cli
from jaxbandits.algorithms import ALGORITHMS
from jaxbandits.base.text import WIDTH
from jaxbandits.cli import main
from jaxbandits.commands.arguments import settings
from jaxbandits.commands.bibtex import references
from jaxbandits.environments import ENVIRONMENTS
from jaxbandits.reproduction import EXPERIMENTS
from jaxbandits.results.merge import merge
from jaxbandits.results.result import Result
from jaxbandits.simulation import Options, compare
from jaxbandits.sweeps.directory import Directory

ROOT = Path(__file__).parents[2]
QUICK = tuple(word for label in ("HEAVY-OFUL", "CRTM", "CRMM", "OFUL") for word in ("--exclude", label))


def _run(*arguments: str) -> subprocess.CompletedProcess:
    command = [sys.executable, "-m", "jaxbandits.cli", *arguments]
    return subprocess.run(command, capture_output=True, text=True, cwd=ROOT)


@pytest.mark.system
def test_help_is_quick_and_does_not_import_jax():
    code = (
        "import sys, jaxbandits.cli as c\n"
        "try: c.main(['--help'])\n"
        "except SystemExit: pass\n"
        "assert 'jax' not in sys.modules and 'numpy' not in sys.modules"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT)
    assert done.returncode == 0, done.stderr
    assert "reproduce" in done.stdout
    seconds = []  # of processor time: others may keep the machine busy
    for _ in range(5):
        begin = resource.getrusage(resource.RUSAGE_CHILDREN)
        _run("--help")
        end = resource.getrusage(resource.RUSAGE_CHILDREN)
        seconds.append(end.ru_utime - begin.ru_utime + end.ru_stime - begin.ru_stime)
    assert min(seconds) < 0.2


@pytest.mark.system
def test_a_process_leaves_its_garbage_alone():
    code = (
        "import gc, sys, jaxbandits.cli as c\n"
        "full = gc.get_stats()[-1]['collections']; code = c.process()\n"
        "print(code, gc.get_freeze_count() > 1000, gc.get_threshold()[0], gc.get_stats()[-1]['collections'] - full)"
    )
    command = [sys.executable, "-c", code, "show", "linear/nobody"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT)
    assert done.stdout.split() == ["2", "True", str(cli._GC_THRESHOLD), "0"], done.stderr


def test_list_names_every_room(capsys):
    assert main(["list"]) == 0
    out = capsys.readouterr().out
    for name in ("linear/hvt_ucb", "linear/heavy_tailed", "linear/fig1"):
        assert name in out
    assert main(["list", "algorithms"]) == 0
    assert "linear/fig1" not in capsys.readouterr().out


def test_list_and_show_of_a_family(capsys):
    for command in ("list", "show"):
        assert main([command, "oco"]) == 0
        out = capsys.readouterr().out
        for name in ("oco/ogd", "oco/linear_losses", "oco/e1"):
            assert name in out
        assert "linear/hvt_ucb" not in out
    assert main(["list", "coco"]) == 0  # a family without experiments says nothing of them
    assert ("experiments:" in capsys.readouterr().out) == any(name.startswith("coco/") for name in EXPERIMENTS)


@pytest.mark.parametrize(("name", "full"), [("HvtUCB", "linear/hvt_ucb"), ("HeavyTailed", "linear/heavy_tailed")])
def test_show_takes_the_name_of_a_class(capsys, name, full):
    assert main(["show", name]) == main(["show", full]) == 0
    out = capsys.readouterr().out
    assert out[: len(out) // 2] == out[len(out) // 2 :] and out.startswith(full)


def test_show_takes_the_parts_that_sweep_files_name(capsys):
    for name, text in (
        ("noise/student_t", "df      traced  2.1"),
        ("student_t", "degrees of freedom"),
        ("top_m", "size"),
        ("network", " adam  "),  # a function; its repr contains an address
    ):
        assert main(["show", name]) == 0
        assert text in capsys.readouterr().out
    assert main(["show", "linear/uniform"]) == main(["show", "uniform"]) == 0  # not that of a part, delay/uniform
    assert main(["show", "noise/student"]) == 2 and "did you mean 'noise/student_t'" in capsys.readouterr().err


def test_tables_of_fields_fit_a_terminal(capsys):
    from jaxbandits.catalogue import PARTS

    for name in PARTS:
        if not name.startswith("optax/"):
            assert main(["show", name]) == 0
    assert [line for line in capsys.readouterr().out.splitlines() if len(line) > WIDTH] == []


def test_a_class_that_has_two_names_is_not_guessed(capsys, monkeypatch):
    from jaxbandits.algorithms import ALGORITHMS

    monkeypatch.setitem(ALGORITHMS, "mine/oful", ALGORITHMS["linear/oful"])
    assert main(["show", "OFUL"]) == 2
    said = capsys.readouterr().err
    assert "OFUL" in said and "linear/oful" in said and "mine/oful" in said and said.count("\n") == 1


def test_show_says_whether_data_are_taken(capsys):
    for name, said in (
        ("dro/fig2", "data: a synthetic stand-in for Adult; --data selects your copy of the real data\n"),
        ("coco/fig2", "data: a synthetic stand-in for FilmTrust\n"),
    ):
        assert main(["show", name]) == 0
        assert said in capsys.readouterr().out
    assert main(["show", "linear/fig1"]) == 0 and "data: " not in capsys.readouterr().out


def test_show_says_defaults_and_everything_of_a_name(capsys):
    assert main(["show", "hvtucb"]) == 0
    out = capsys.readouterr().out
    (row,) = [line for line in out.splitlines() if line.startswith("beta_scale")]
    assert row.split()[2] == "1" and "example" not in out  # not what the tests run it with
    assert "required" in out and "\n  practical: " in out
    assert main(["show", "glm/covertype"]) == 0  # an environment and an experiment
    out = capsys.readouterr().out
    assert "GeneralizedLinear" not in out and "field" in out and "claims:" in out


def _bibtex(text):
    """Entries of a BibTeX file by key: kind, and fields by name. Fails on what BibTeX could not read."""
    found = {}
    for block in re.split(r"\n(?=@)", re.sub(r"^%.*$", "", text, flags=re.MULTILINE).strip()):
        kind, key, body = re.fullmatch(r"@(\w+)\{([\w.:-]+),\n(.*)\n\}\s*", block, re.DOTALL).groups()
        lines = [re.fullmatch(r"  (\w+) = \{(.*)\},", line).groups() for line in body.splitlines()]
        assert all(value.count("{") == value.count("}") and value for _, value in lines)
        assert not any(re.search(r"(?<!\\)[&%$#]", value) for _, value in lines)
        assert key not in found
        found[key] = kind, dict(lines)
    return found


def test_cite_prints_bibtex(capsys):
    assert main(["cite", "HvtUCB"]) == 0
    out = capsys.readouterr().out
    entries = _bibtex(out)
    kind, fields = entries["wang2025heavy"]
    assert kind == "inproceedings" and fields["booktitle"] == "ICML" and fields["year"] == "2025"
    assert fields["author"] == "Jing Wang and Yu-Jie Zhang and Peng Zhao and Zhi-Hua Zhou"
    assert fields["title"] == "{Heavy-Tailed Linear Bandits: Huber Regression with One-Pass Update}"
    assert (fields["eprint"], fields["archiveprefix"]) == ("2503.00419", "arXiv")
    assert fields["note"] == "Algorithm 1, Theorem 1, Corollary 1"
    assert entries["jaxbandits"][1]["version"] == __version__
    assert main(["cite", "armed/exp4"]) == 0
    entries = _bibtex(capsys.readouterr().out)
    assert entries["auer2002nonstochastic"][0] == "article" and entries["lattimore2020bandit"][0] == "book"
    assert (
        entries["auer2002nonstochastic"][1] | {"journal": "SIAM Journal on Computing", "volume": "32"}
        == (entries["auer2002nonstochastic"][1])
    )
    for name in ("linear/fig1", "linear/heavy_tailed"):  # they name the paper of an algorithm
        assert main(["cite", name]) == 0
        assert "wang2025heavy" in _bibtex(capsys.readouterr().out)


def test_a_title_of_small_words_has_a_key():
    (reference,) = references("Ada Lovelace. On and On. ICML 2025.")
    assert reference.key == "lovelace2025"


def test_the_output_of_commands_fits_a_terminal(capsys, tmp_path):
    seen = tmp_path / "seen.npz"
    learners = {name: ALGORITHMS[name].example for name in ("linear/oful", "linear/uniform")}
    compare(learners, ENVIRONMENTS["linear/heavy_tailed"].example, 40, 60, progress=False).save(seen)
    for command in (
        ["list"],
        ["data", "list"],
        ["info", str(seen)],
        ["analyse", str(seen), "--threshold", "3"],
        *(["show", name] for name in (*ALGORITHMS, *ENVIRONMENTS, *EXPERIMENTS)),
    ):
        assert main(command) == 0
        lines = capsys.readouterr().out.splitlines()
        assert [line for line in lines if len(line) > WIDTH and str(tmp_path) not in line] == [], command


@pytest.mark.slow
def test_everything_can_be_cited(capsys):
    """The papers of all algorithms but random play are found, and of the experiments of papers."""
    for name in (*ALGORITHMS, *ENVIRONMENTS, *EXPERIMENTS):
        assert main(["cite", name]) == 0
        out = capsys.readouterr().out
        entries = _bibtex(out)
        assert name in out
        assert len(entries) > 1 or name in ENVIRONMENTS or name in ("linear/uniform", *_WITHOUT_PAPER)
        for kind, fields in entries.values():
            assert (
                kind in ("software", "misc", "article", "inproceedings", "book") and len(fields.get("journal", "")) < 60
            )
            if kind != "software":
                assert re.fullmatch("(19|20)\\d\\d", fields["year"]) and " and  " not in fields["author"]


_WITHOUT_PAPER = ("oco/optax_learner",)


@pytest.mark.parametrize("name", ["linear/hvt_ucb", "linear/heavy_tailed", "linear/fig1", "dro/online"])
def test_show_prints_documentation_fields_and_ranges(capsys, name):
    assert main(["show", name]) == 0
    out = capsys.readouterr().out
    assert name in out
    if name == "linear/hvt_ucb":
        assert "(0, 1]" in out and "beta_scale" in out and "ICML 2025" in out


def test_every_out_has_the_same_short_option():
    parser = cli._parser()
    (commands,) = (action for action in parser._actions if isinstance(action, argparse._SubParsersAction))
    options = {name: command._option_string_actions for name, command in commands.choices.items()}
    with_out = [name for name, known in options.items() if "--out" in known]
    assert len(with_out) > 5 and all(options[name].get("-o") is options[name]["--out"] for name in with_out)


def test_settings_of_a_run_are_documented_once(capsys):
    """The help has the text of `Options` and does not import JAX."""
    documented = inspect.getdoc(Options)
    assert all(name in documented and about for name, about in settings().items())
    assert set(settings()) == {field.name for field in dataclasses.fields(Options)}
    with pytest.raises(SystemExit):
        main(["reproduce", "--help"])
    shown = " ".join(capsys.readouterr().out.split())
    for name in ("seed", "workers", "save_every"):
        assert settings()[name] in shown


EVERYBODY = [
    argument for label in ("Hvt, tau_scale 1", "Hvt, tau_scale 0.1", "RLS") for argument in ("--exclude", label)
]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["reproduce", "linear/fig11"], "did you mean 'linear/fig1'"),
        (["reproduce", "linear/sysid", *EVERYBODY], "every algorithm of panel system is left out"),
        (["reproduce", "linear/fig1", "--save-every", "-1"], "save_every must lie in [0, inf], got -1"),
        (["reproduce", "linear/fig1", "--seed", "-1"], "seed must be a whole number in [0, 4294967295], got -1"),
        (["show", "linear/hvt_uc"], "did you mean 'linear/hvt_ucb'"),
        (["show", "HvtUCP"], "did you mean 'HvtUCB'"),
        (["list", "algorithm"], "did you mean 'algorithms'"),
        (["list", "liner"], "did you mean 'linear'"),
        (["reproduce", "linear/fig1", "--horizon", "0"], "horizon must be a whole number in [1, 2147483647], got 0"),
        (["reproduce", "linear/fig1", "--seeds", "0"], "seeds must be a whole number in [1, 2147483647], got 0"),
        (["reproduce", "linear/fig1", "--seeds", str(2**31)], "seeds must be a whole number in [1, 2147483647]"),
        (["reproduce", "linear/fig1", "--save-every", "nan"], "save_every must lie in [0, inf], got nan"),
        (["reproduce", "linear/fig1", "--data", "no/such"], "linear/fig1"),
        (["reproduce", "all", "--data", "no/such"], "--data goes with one experiment"),
        (["reproduce", "glm/covertype", "--data", "no/such"], "no/such"),
        (["reproduce", ""], "experiment ''"),
        (["show", ""], "unknown name ''"),
        (["plot", ""], "holds no finished experiment"),
        (["reproduce", "linear/fig1", "--preset", "theorie"], "did you mean 'theory'"),
        (["reproduce", "linear/fig1", "--workers", "0"], "workers must be"),
        (["reproduce", "linear/fig1", "--exclude", "OFULL"], "did you mean 'OFUL'"),
        (["reproduce", "linear/fig1", "--exclude", "heavy-oful"], "did you mean 'HEAVY-OFUL'"),
        (["reproduce", "linear/fig1", "--include", "ofull"], "did you mean 'OFUL'"),
        (["reproduce", "linear/fig1", "--first-seed", "-1"], "first_seed must be a whole number in [0, 2147483647]"),
        (["cite", "HvtUCP"], "did you mean 'HvtUCB'"),
        (["show", "fig1"], "linear/fig1 and glm/fig1 and coco/fig1 and dro/fig1"),
        (["info", "no-such.npz"], "no such file"),
        (["info", "."], "is a directory"),
        (["plot", "a.npz", "--panel", "max"], "--panel goes with the directory"),
        (["export", "a.npz", "--out", "a.xls"], "--out must end in .csv, .parquet, .nc"),
        (["reproduce", "linear/al"], "did you mean 'linear/all'"),
        (["plot", "no-such.npz"], "no such file"),
    ],
)
def test_a_mistake_is_one_line_and_exit_code_2(tmp_path, monkeypatch, capsys, arguments, message):
    monkeypatch.chdir(tmp_path)
    assert main(arguments) == 2
    err = capsys.readouterr().err.strip()
    assert message in err and "\n" not in err


def test_a_wrong_type_is_exit_code_2(capsys):
    for setting, value, message in (
        ("--seeds", "many", "must be a whole number, got 'many'"),
        ("--save-every", "often", "must be a number, got 'often'"),
    ):
        with pytest.raises(SystemExit) as done:
            main(["reproduce", "linear/fig1", setting, value])
        assert done.value.code == 2
        assert message in capsys.readouterr().err


@pytest.mark.system
def test_whoever_has_seen_enough_may_go():
    command = f"{sys.executable} -m jaxbandits list | head -1"
    done = subprocess.run(command, shell=True, capture_output=True, text=True, cwd=ROOT)
    assert done.stdout.count("\n") == 1 and not done.stderr


def test_a_run_and_a_sweep_share_no_directory(tmp_path, capsys):
    Directory(tmp_path).begin({}, None)
    text = (tmp_path / "manifest.json").read_text()
    arguments = ["reproduce", "linear/sysid", "--seeds", "32", "--horizon", "20", "--quiet", "--out", str(tmp_path)]
    for more in ([], ["--overwrite"]):
        assert main([*arguments, *more]) == 2
        assert "holds a sweep: --out DIR gives the run" in capsys.readouterr().err
    assert main(["plot", str(tmp_path)]) == 2 and "holds a sweep, which" in capsys.readouterr().err
    assert (tmp_path / "manifest.json").read_text() == text
    (tmp_path / "manifest.json").write_text('{"experiment": "mine/race", "preset": "", "horizon": 3, "panels": {}}')
    assert main(["plot", str(tmp_path)]) == 2
    assert "holds mine/race, which is not registered here; --plugin FILE" in capsys.readouterr().err


def test_empty_text_is_no_path(capsys):
    with pytest.raises(SystemExit) as stopped:
        main(["sweep", "mine.toml", "--out", ""])
    assert stopped.value.code == 2 and "must be a path, got ''" in capsys.readouterr().err


def test_an_unwritable_directory_is_named(tmp_path, capsys):
    (tmp_path / "file").write_text("")
    assert main(["reproduce", "linear/fig1", "--out", str(tmp_path / "file" / "out")]) == 2
    assert "cannot create" in capsys.readouterr().err


@pytest.mark.slow
@pytest.mark.filterwarnings("always:.*intervals of skewed")
def test_shards_of_seeds_are_looked_at_merged_and_drawn(tmp_path, capsys):
    arguments = ["reproduce", "linear/sysid", "--horizon", "50", "--include", "RLS", "--no-timing"]
    for first, out in (("0", "a"), ("32", "b")):
        asked = ["--seeds", "32", "--first-seed", first, "--out", str(tmp_path / out)]
        assert main([*arguments, *asked]) == 0
    said = capsys.readouterr()
    assert "1,600 rounds in" in said.out and "compilation and figures included" in said.out
    assert said.err.count("only 32 seeds: confidence intervals") == 2 and f"1 figure to {tmp_path / 'a'}" in said.err
    files = [str(tmp_path / out / "sysid-system.npz") for out in "ab"]
    first, second = map(Result.load, files)
    whole = merge([first, second])
    whole.save(tmp_path / "whole.npz")
    np.testing.assert_array_equal(whole["RLS"].seeds, range(64))
    for metric in whole.metrics:
        parts = [np.asarray(part[metric]) for part in (first, second)]
        np.testing.assert_array_equal(whole[metric], np.concatenate(parts, axis=1))
    capsys.readouterr()
    for command, message in (
        (["info", str(tmp_path / "whole.npz")], "seeds: 0 to 63"),
        (["analyse", str(tmp_path / "whole.npz"), "--threshold", "0.5"], "share with excess loss <= 0.5"),
        (["export", str(tmp_path / "whole.npz"), "--final"], "whole.csv"),
        (["export", str(tmp_path / "whole.npz"), "--out", str(tmp_path / "whole.parquet")], "whole.parquet"),
        (["plot", str(tmp_path / "a"), "--paper", "--out", str(tmp_path / "one")], "one.pdf"),
    ):
        assert main(command) == 0
        assert message in capsys.readouterr().out
    assert len((tmp_path / "whole.csv").read_text().splitlines()) == 65


@pytest.mark.slow
def test_a_resume_with_changed_settings_is_refused_and_fresh_discards_it(tmp_path, capsys):
    arguments = ["reproduce", "linear/sysid", "--horizon", "50", "--out", str(tmp_path), "--quiet"]
    experiment = EXPERIMENTS["linear/sysid"]
    ((name, panel),) = experiment.panels(50).items()
    checkpoint = tmp_path / "checkpoint" / name
    learners = experiment.algorithms(experiment.preset(None), 50, panel)
    settings = {"width": experiment.width, "record_points": experiment.record_points, "progress": False}
    compare(learners, panel.environment, 50, 32, checkpoint=checkpoint, **settings)
    before = {path.name: path.read_bytes() for path in checkpoint.iterdir()}
    assert main([*arguments, "--seeds", "64"]) == 2
    err = capsys.readouterr().err.strip()
    assert "holds another run" in err and "\n" not in err
    assert {path.name: path.read_bytes() for path in checkpoint.iterdir()} == before
    assert main([*arguments, "--seeds", "64", "--overwrite"]) == 0
    assert not checkpoint.exists()
    capsys.readouterr()

    def contents():
        return {path.name: path.read_bytes() for path in tmp_path.iterdir() if path.name != ".lock"}

    before = contents()
    assert main([*arguments, "--seeds", "64"]) == 0  # the same request: what it found, and nothing written
    out, err = capsys.readouterr()
    assert "already contains this run" in err and out == (tmp_path / "sysid.txt").read_text() and contents() == before
    for other, what in (
        (["--seeds", "32"], "seeds (64, now 32)"),
        (["--seeds", "64", "--seed", "3"], "seed (0, now 3)"),
        (["--seeds", "64", "--exclude", "RLS"], 'learners left out ([], now ["RLS"])'),
        (["--seeds", "64", "--horizon", "60"], "horizon (50, now 60)"),
    ):
        assert main([*arguments, *other]) == 2
        err = capsys.readouterr().err.strip()
        assert f"holds a finished run that differs in {what}: --out DIR keeps both, --overwrite replaces it" in err
        assert "\n" not in err and contents() == before
    manifest = json.loads(before["manifest.json"])
    assert main([*arguments, "--seeds", "60", "--overwrite"]) == 0
    capsys.readouterr()
    fewer = json.loads(contents()["manifest.json"])
    assert fewer["judged before"] == "0 to 63" and "judged before" not in manifest
    manifest["request"]["package"] = "older"
    (tmp_path / "manifest.json").write_text(json.dumps(manifest))
    assert main([*arguments, "--seeds", "64"]) == 2 and "differs in package:" in capsys.readouterr().err
    (tmp_path / "manifest.json").write_text("{")
    assert main([*arguments, "--seeds", "64"]) == 2 and "manifest.json is damaged" in capsys.readouterr().err


@pytest.mark.slow
@pytest.mark.system
def test_reproduce_leaves_figures_tables_claims_and_a_manifest(tmp_path):
    out = tmp_path / "fig1"
    arguments = ("reproduce", "linear/fig1", *QUICK, "--seeds", "64", "--horizon", "400", "--out", str(out))
    done = _run(*arguments)
    assert done.returncode == 0, done.stderr
    names = {path.name for path in out.iterdir() if not path.name.startswith(".")}
    assert {"fig1.png", "fig1.svg", "fig1.pdf", "fig1.txt", "manifest.json", "fig1-max.npz", "fig1-unit.npz"} == names
    assert "Hvt-UCB" in done.stdout and "mean regret" in done.stdout and "rounds/s" in done.stderr
    assert any(verdict in done.stdout for verdict in ("HOLDS", "DOES NOT HOLD", "OPEN"))
    assert "one trial" in done.stdout and "32 trials side by side" in done.stdout
    assert "not measured in this run" in done.stdout  # claims about what was left out
    manifest = json.loads((out / "manifest.json").read_text())
    assert manifest["experiment"] == "linear/fig1" and manifest["versions"]["jax"] and len(manifest["claims"]) >= 4
    first = {name: (out / name).read_bytes() for name in ("fig1-max.npz",)}
    assert set(manifest["panels"]["max"]["labels"]) == {"Hvt-UCB", "uniform"}
    only = ("--include", "Hvt-UCB", "--x", "estimation_error")
    assert main(["plot", str(out / "fig1-max.npz"), "--band", "quantile", *only]) == 0
    assert (out / "fig1-max.png").stat().st_size > 10_000
    assert main(["plot", str(out / "fig1-max.npz"), "--out", str(tmp_path / "one.svg")]) == 0
    assert main(["plot", str(out / "fig1-max.npz"), "--out", str(tmp_path / "all.of")]) == 0
    assert {"one.svg", "all.of.svg", "all.of.png", "all.of.pdf"} == {path.name for path in tmp_path.glob("*.*")}
    assert main(["plot", str(out / "fig1-max.npz"), "--include", "Hvt-UBC"]) == 2

    # A damaged result file is one line.
    (out / "fig1-max.npz").write_bytes(first["fig1-max.npz"][:100])
    assert main(["plot", str(out / "fig1-max.npz")]) == 2


_PLUGIN = """
from jaxbandits import linear
from jaxbandits.reproduction import Experiment, Panel, register_experiment

register_experiment(
    Experiment(
        name="mine/plugged", title="A plug-in", source="mine", presets={"theory": ""}, seeds=32, horizon=20,
        metric="regret", panels=lambda horizon: {"one": Panel("one", linear.HeavyTailed(dim=2, n_arms=4))},
        algorithms=lambda preset, horizon, panel: {"OFUL": linear.OFUL(dim=2, ridge=RIDGE)}, figures=(),
    )
)
"""


@pytest.mark.slow
def test_a_finished_run_of_a_plugin_is_recalled_only_under_an_identity(tmp_path):
    def run(ridge, *more):
        plugin = tmp_path / "my_plugin.py"
        plugin.write_text(_PLUGIN.replace("RIDGE", ridge))
        command = ("reproduce", "mine/plugged", "--plugin", str(plugin), "--no-timing", "--quiet", *more)
        return _run(*command, "--out", str(tmp_path / "out"))

    first = run("1.0")
    assert first.returncode == 0, first.stderr
    for ridge in ("100.0", "1.0"):
        again = run(ridge)
        assert again.returncode == 2 and again.stdout == ""
        assert "my_plugin.py" in again.stderr
        assert "no digest identifies its version): --overwrite replaces it" in again.stderr
        assert len(again.stderr.strip().splitlines()) == 1
    edited = run("100.0", "--overwrite", "--identity", "v2")
    assert edited.returncode == 0 and edited.stdout.splitlines()[:12] != first.stdout.splitlines()[:12]
    recalled = run("100.0", "--identity", "v2")
    assert "already contains this run" in recalled.stderr and recalled.stdout in edited.stdout
    assert 'differs in identity ("v2", now "v3")' in run("100.0", "--identity", "v3").stderr
