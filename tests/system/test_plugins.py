"""A user's own code by file and by entry point: registered names and messages."""

import concurrent.futures
import sys
from importlib import metadata

import pytest

from jaxbandits import InputError, catalogue, plugins
from jaxbandits.base.versions import ENTRY_POINTS
from jaxbandits.cli import _parser, main
from jaxbandits.linear import OFUL
from jaxbandits.reproduction import EXPERIMENTS, register_experiment
from tests.bad_values import WRONG, outcome

ENTRY = catalogue.Entry(OFUL, OFUL(dim=2), "nobody", ("linear/heavy_tailed",))


@pytest.fixture
def plugin_files(tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "path", [*sys.path])

    def write(text, name="surely_nobodys_plugin.py"):
        path = tmp_path / name
        path.write_text(text, encoding="utf-8")
        return path

    yield write
    for name in ("surely_nobodys_plugin", "its_neighbour"):
        sys.modules.pop(name, None)


def test_a_plugin_runs_once_and_sees_its_neighbours(plugin_files):
    plugin_files("names = []", "its_neighbour.py")
    path = plugin_files("import its_neighbour\nits_neighbour.names.append(__name__)")
    for _ in range(2):
        plugins.load(path)
    assert sys.modules["its_neighbour"].names == ["surely_nobodys_plugin"]


def test_a_thread_waits_while_another_loads_the_plugin(plugin_files):
    path = plugin_files("import time\ntime.sleep(0.3)\nvalue = 3\n")
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        values = list(pool.map(lambda _: (plugins.load(path), sys.modules[path.stem].value)[1], range(2)))
    assert values == [3, 3]


@pytest.mark.parametrize(
    ("text", "name", "message"),
    [
        ("x = (", "surely_nobodys_plugin.py", r"plugin .*plugin.py, line 1: SyntaxError: "),
        ("\n\nx = y", "surely_nobodys_plugin.py", r"plugin .*plugin.py, line 3: NameError: name 'y' is not defined$"),
        (
            "from jaxbandits import register_algorithm\nregister_algorithm('oful', 3)",
            "surely_nobodys_plugin.py",
            r"plugin .*, line 2: name must have the form 'family/name', got 'oful'$",
        ),
        ("", "numpy.py", r"there is another module named 'numpy'; rename the file"),
        ("", "with-dash.py", "'with-dash' is not a valid Python module name; rename the file"),
        ("", "text.txt", r"plugin .*text.txt must be a Python file"),
    ],
)
def test_mistakes_are_one_line(plugin_files, capsys, text, name, message):
    path = plugin_files(text, name)
    with pytest.raises(InputError, match=message):
        plugins.load(path)
    assert path.stem == "numpy" or path.stem not in sys.modules
    assert main(["list", "--plugin", str(path)]) == 2
    assert capsys.readouterr().err.count("\n") == 1


@pytest.mark.parametrize("wrong", WRONG)
def test_what_is_no_path(wrong):
    assert "plugin" in outcome(plugins.load, wrong)


class _Point:
    """An entry point of a package that is not installed."""

    dist = None

    def __init__(self, name, value):
        self.name, self.value = name, value

    def load(self):
        if isinstance(self.value, Exception):
            raise self.value
        return self.value


def test_entry_points_are_found_and_broken_ones_are_left_out(monkeypatch):
    points = [
        _Point("mine.good", ENTRY),
        _Point("mine.broken", ImportError("no\nsuch thing")),
        _Point("nameless", ENTRY),
        _Point("linear.oful", ENTRY),
        _Point("mine.class", OFUL),
    ]
    monkeypatch.setattr(metadata, "entry_points", lambda group: points if group == ENTRY_POINTS[0] else [])
    table = {"linear/oful": ENTRY}
    with pytest.warns(UserWarning, match="is skipped") as said:
        catalogue.discover(table, ENTRY_POINTS[0])
    assert table == {"linear/oful": ENTRY, "mine/good": ENTRY}
    texts = [str(warning.message) for warning in said]
    assert "entry point mine.broken is skipped: ImportError: no such thing" in texts
    assert len(texts) == 4 and any("registered already" in text for text in texts)


def test_check_says_what_it_was_asked(capsys):
    assert main(["check", "linear/ofull"]) == 2
    assert "did you mean 'linear/oful'" in capsys.readouterr().err
    assert main(["check", "OFUL", "--quick"]) == 0  # as for `show` and `cite`
    assert "OFUL on HeavyTailed: obeys the contract, as far as its" in capsys.readouterr().out


def test_experiments_are_registered_under_free_names():
    known = EXPERIMENTS["linear/fig1"]
    for wrong, message in ((known, "there is an experiment 'linear/fig1' already"), ("fig", "must be an Experiment")):
        with pytest.raises(InputError, match=message):
            register_experiment(wrong)


def test_status_takes_plugins_as_the_sweep_does():
    assert _parser().parse_args(["status", "results/mine", "--plugin", "mine.py"]).plugin == ["mine.py"]
