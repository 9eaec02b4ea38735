"""Imports point one way, every algorithm is registered and has a reference, public names are documented."""

import ast
import graphlib
import importlib
import inspect
import pkgutil
import re
import subprocess
import sys
from pathlib import Path

import jaxbandits
from jaxbandits.algorithms import ALGORITHMS
from jaxbandits.catalogue import PARTS
from jaxbandits.environments import ENVIRONMENTS
from jaxbandits.reproduction import EXPERIMENTS, TABLES, Experiment, Study
from jaxbandits.types import Algorithm, Environment

PACKAGE = Path(jaxbandits.__file__).parent
_NUMERIC = {"base", "tracing", "numerics"}
FAMILIES = (
    *("armed", "explore", "contextual", "combinatorial", "duels", "teams", "linear", "glm", "oco", "coco", "dro"),
    *("operators", "data"),
)
ALLOWED = {
    "base": {"base"},
    "tracing": {"base", "tracing"},
    "numerics": _NUMERIC,
    "types": _NUMERIC,
    "domains": _NUMERIC | {"types", "domains"},
    "estimation": _NUMERIC | {"types", "domains", "estimation"},
    "algorithms": _NUMERIC | {"types", "domains", "estimation", "catalogue", "algorithms"},
    "environments": _NUMERIC | {"types", "domains", "estimation", "catalogue", "environments"},
    "analysis": {"base", "analysis"},
    "plots": {"base", "analysis", "plots"},
    "results": {"base", "analysis", "plots", "results"},
    "catalogue": {"base"},
    "programs": {"base", "tracing", "programs"},
    "engine": _NUMERIC | {"types", "analysis", "catalogue", "programs", "engine"},
    "simulation": _NUMERIC | {"types", "analysis", "results", "engine", "simulation"},
    "bridges": _NUMERIC | {"types", "environments", "analysis", "results", "engine", "simulation", "bridges"},
    "sweeps": {"base", "algorithms", "environments", "catalogue", "analysis", "results"}
    | {"programs", "engine", "simulation", "sweeps"},
    "theory": _NUMERIC | {"algorithms", "theory"},
    "diagnostics": _NUMERIC | {"types", "domains", "estimation", "algorithms", "engine", "simulation", "diagnostics"},
    "reproduction": _NUMERIC
    | {"types", "domains", "estimation", "algorithms", "environments", "analysis", "plots", "results", "engine"}
    | {"simulation", "theory", "diagnostics", "reproduction", *FAMILIES},
    "testing": _NUMERIC | {"types", "analysis", "results", "programs", "engine", "simulation", "testing"},
    "plugins": {"base"},
    "__main__": {"cli"},
    "commands": {
        *("base", "catalogue", "algorithms", "environments", "analysis", "results", "engine", "simulation", "sweeps"),
        *("bridges", "reproduction", "testing", "plugins", "commands"),
    },
    "cli": {"base", "commands", "plugins"},
}
ALLOWED |= {family: {"estimation", "algorithms", "environments"} for family in FAMILIES}
ALLOWED["data"] |= {"base", "types", "analysis", "plots", "results", "simulation", "data"}
ALLOWED["__init__"] = _NUMERIC | {"types", "domains", "estimation", "analysis", "results", "simulation", "testing"}
ALLOWED["__init__"] |= {*FAMILIES, "algorithms", "environments", "catalogue", "sweeps"}


def _imports(path: Path) -> set[str]:
    names = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module:
            names |= {
                f"{node.module}.{alias.name}" if node.module == "jaxbandits" else node.module for alias in node.names
            }
        elif isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
    return {name.split(".")[1] for name in names if name.startswith("jaxbandits.")}


def test_imports_point_one_way():
    for path in sorted(PACKAGE.rglob("*.py")):
        room = path.relative_to(PACKAGE).parts[0].removesuffix(".py")
        wrong = _imports(path) - ALLOWED[room]
        assert not wrong, f"{path.relative_to(PACKAGE)} imports {', '.join(sorted(wrong))}"


def test_no_module_imports_itself_in_a_circle():
    """Imports inside functions and for type checkers count too."""
    paths = {".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts): path for path in PACKAGE.rglob("*.py")}
    modules = {name.removesuffix(".__init__"): path for name, path in paths.items() if name != "jaxbandits.__init__"}
    graph = {
        name: {full if full in modules else full.rpartition(".")[0] for full in _all_imports(path)} & modules.keys()
        for name, path in modules.items()
    }
    graphlib.TopologicalSorter(graph).prepare()  # a CycleError names the circle


def test_reports_know_no_particular_experiment():
    """The engine of experiments knows none either."""
    rooms = ("engine", "figures", "ledger")
    for path in (path for room in rooms for path in (PACKAGE / "reproduction" / room).glob("*.py")):
        for name in _all_imports(path):
            if name.startswith("jaxbandits.reproduction"):
                assert name.split(".")[2:3][0] in rooms, f"{path.name} imports {name}"


def test_folders_of_experiments_hold_experiments_and_nothing_else():
    """`family/a_b.py` declares the experiment `family/a-b`; `setting.py` what the experiments of the paper share."""
    folder = PACKAGE / "reproduction" / "experiments"
    for family in TABLES:
        declared = {name.partition("/")[2] for name in EXPERIMENTS if name.startswith(f"{family}/")}
        stems = {path.stem for path in (folder / family).glob("*.py")} - {"__init__"}
        assert stems - {"setting"} == {name.replace("-", "_") for name in declared}, family
        for stem in stems:
            values = vars(importlib.import_module(f"jaxbandits.reproduction.experiments.{family}.{stem}")).values()
            own = {value.name for value in values if isinstance(value, Experiment)}
            if stem == "setting":
                assert not own and any(isinstance(value, Study) for value in values), family
            else:
                assert f"{family}/{stem.replace('_', '-')}" in own, f"{family}/{stem}.py"


def test_declarations_and_the_simulator_load_neither_matplotlib_nor_chex():
    code = "import sys, jaxbandits.reproduction, jaxbandits.simulation; print({'matplotlib', 'chex'} & {*sys.modules})"
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True, cwd=PACKAGE.parent)
    assert done.stdout.strip() == "set()"


def _public_classes(package_name: str, method: str):
    package = importlib.import_module(package_name)
    for info in pkgutil.walk_packages(package.__path__, package_name + "."):
        module = importlib.import_module(info.name)
        for name, cls in vars(module).items():
            if (
                inspect.isclass(cls)
                and cls.__module__ == info.name
                and hasattr(cls, method)
                and not inspect.isabstract(cls)
                and not name.startswith("_")
            ):
                yield cls


def test_every_algorithm_and_environment_is_registered():
    registered = {entry.cls for entry in (*ALGORITHMS.values(), *ENVIRONMENTS.values())}
    for package, method in (("jaxbandits.algorithms", "select"), ("jaxbandits.environments", "step")):
        for cls in _public_classes(package, method):
            assert cls in registered, f"{cls.__module__}.{cls.__name__} is not in the registry"


def test_every_algorithm_has_an_independent_reference():
    """Some test module imports both the algorithm and a reference."""
    compared = set()
    for path in (PACKAGE.parent / "tests").rglob("test_*.py"):
        names = _all_imports(path)
        if any(name.startswith("tests.reference") for name in names):
            compared |= names
    for entry in ALGORITHMS.values():
        module, name = entry.cls.__module__, entry.cls.__name__
        family = module.split(".")[2]
        known = {module, f"{module}.{name}", f"jaxbandits.{name}", f"jaxbandits.{family}.{name}"}
        assert known & compared, f"no test compares {module} with a reference"


def test_references_do_not_import_the_library():
    for path in (PACKAGE.parent / "tests" / "reference").glob("*.py"):
        assert "jaxbandits" not in {name.split(".")[0] for name in _all_imports(path)}, path.name


def test_tests_mirror_the_package():
    """Other directories: tests of the references, the float32 process, whole runs, theorems, benchmarks."""
    tests = PACKAGE.parent / "tests"
    for path in tests.rglob("test_*.py"):
        room = path.relative_to(tests).parent
        assert (PACKAGE / room).is_dir() or str(room) in {"reference", "float32", "system", "theory", "benchmarks"}, (
            path
        )
        names = _all_imports(path)
        if any(name.startswith("tests.reference") for name in names) and room.name != "reference":
            assert any(name.startswith("jaxbandits") for name in names), f"{path} is about references alone"


def _all_imports(path: Path) -> set[str]:
    """Modules that a file imports, and `module.name` of what it imports from them."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom):
            found |= {f"{node.module}.{alias.name}" for alias in node.names}
        elif isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
    return found


NAMED_TEST = re.compile(r"([\w/]*test_\w+\.py)::\s*(\w+)")  # below tests/


def _numerics(path: Path):
    """The "Numerics" sections of the docstrings of a file, each up to the next section or empty line."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef):
            text = ast.get_docstring(node) or ""
            yield from re.findall(r"Numerics:(.*?)(?:\n\s*\n|\n\s*References:|$)", text, re.DOTALL)


def test_what_is_said_of_precision_names_its_test():
    """Every "Numerics" section and every case of docs/precision.md names a test that exists."""
    root = PACKAGE.parent
    page = root / "docs" / "precision.md"
    for path in PACKAGE.rglob("*.py"):
        for section in _numerics(path):
            assert NAMED_TEST.search(section), f"{path.relative_to(root)}: Numerics:{section}"
    ends = page.read_text().partition("## Where float32 ends")[2]
    cases = [line for line in ends.splitlines() if line.startswith("| ") and not line.startswith("| case")]
    assert len(cases) > 20
    for line in cases:
        assert NAMED_TEST.search(line), line
    for path in (page, *PACKAGE.rglob("*.py")):
        for file, test in NAMED_TEST.findall(path.read_text()):
            assert (root / "tests" / file).is_file(), f"{path.relative_to(root)} names {file}"
            known = (root / "tests" / file).read_text()
            assert f"def {test}(" in known, f"{path.relative_to(root)} names {file}::{test}"


def test_the_protocol_is_documented_where_it_is_defined():
    for protocol, methods in ((Algorithm, ("init", "select", "update")), (Environment, ("init", "observe", "step"))):
        for method in methods:
            text = vars(protocol)[method].__doc__ or ""
            assert "Args:" in text and "Returns:" in text and "`[]`" in text, f"{protocol.__name__}.{method}"


def test_docstrings_of_functions_open_with_a_verb():
    """Neither with a question word, an article, a preposition or a formula, nor in the third person."""
    opened = {"a", "an", "the", "as", "at", "by", "from", "in", "of", "all", "each", "no", "one", "that", "those"}
    opened |= {"what", "whether", "how", "where", "who", "when", "which"}
    for path in PACKAGE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            docstring = ast.get_docstring(node) if isinstance(node, ast.FunctionDef) else None
            if docstring and not any("property" in ast.unparse(mark) for mark in node.decorator_list):
                word = docstring.split()[0].rstrip(".,:;")
                verb = word.isalpha() and word[0].isupper() and word.lower() not in opened
                third = word.endswith("s") and not word.endswith("ss")
                assert verb and not third, f"{path.relative_to(PACKAGE)}, {node.name}: {docstring[:60]}"


def test_public_names_exist_and_are_documented():
    for name in jaxbandits.__all__:
        obj = getattr(jaxbandits, name)
        if inspect.isclass(obj) or inspect.isfunction(obj):
            assert inspect.getdoc(obj), name


def test_a_familys_namespace_holds_every_algorithm_and_environment_of_it():
    for name, entry in (ALGORITHMS | ENVIRONMENTS).items():
        family = getattr(jaxbandits, name.partition("/")[0])
        assert getattr(family, entry.cls.__name__, None) is entry.cls, f"{entry.cls.__name__} in {family.__name__}"


def test_what_a_namespace_holds_is_documented():
    for family in (*FAMILIES, "domains"):
        namespace = getattr(jaxbandits, family)
        assert inspect.getdoc(namespace)
        for name, value in vars(namespace).items():
            assert name.startswith("_") or inspect.getdoc(value), f"{family}.{name}"


NAMESAKES = {  # public names with two meanings, and why they keep them
    "Gaussian": "a law of noise, and the link that statistics names after it: `noise.Gaussian`, `links.Gaussian`",
    "EpsGreedy": "one rule: over the means of K arms in `armed`, over any model in `contextual.rules`",
    "IDS": "likewise: with beta posteriors, from draws of any posterior",
    "KnowledgeGradient": "likewise: with beta posteriors, with Gaussian ones",
    "SquareCB": "likewise: over an oracle in `contextual`, over any model in `contextual.rules`",
    "VIDS": "likewise: with beta posteriors, from draws of any posterior",
    "coverage": "one meter, of the confidence sets that the learners of a family have: `linear`, `glm`",
    "theorem_1": "the number in each paper: `theory.linear`, `theory.coco`, `theory.dro`",
    "theorem_2": "the number in each paper: `theory.glm`, `theory.coco`, `theory.dro`",
    "theorem_3": "the number in each paper: `theory.coco`, `theory.dro`",
    "theorem_4": "the number in each paper: `theory.coco`, `theory.dro`",
}


def test_a_public_name_has_one_meaning():
    """In the namespaces of the package, in the modules that the site documents, and among parts of specifications."""
    spaces = ["", *(f".{name}" for name in (*FAMILIES, "domains", "simulation", "testing", "reproduction"))]
    spaces += [".numerics.rng", ".numerics.inverse_factors", ".environments.linear.noise", ".estimation.links"]
    spaces += [f".{room}.{info.name}" for room in ("diagnostics", "theory") for info in _modules(room)]
    meanings: dict[str, dict[int, str]] = {}
    for space in spaces:
        module = importlib.import_module(f"jaxbandits{space}")
        listed = getattr(module, "__all__", [name for name in vars(module) if not name.startswith("_")])
        for name in listed:
            value = getattr(module, name)
            if str(getattr(value, "__module__", "")).startswith("jaxbandits"):
                meanings.setdefault(name, {})[id(value)] = f"jaxbandits{space}"
    for place in (place for place in PARTS.values() if isinstance(place, str)):  # others a test has registered
        module, _, name = place.partition(":")
        value = getattr(importlib.import_module(module), name)
        meanings.setdefault(name, {})[id(value)] = module
    several = {name: [*places.values()] for name, places in meanings.items() if len(places) > 1}
    assert several.keys() == NAMESAKES.keys(), several


def _modules(room: str):
    return pkgutil.iter_modules(importlib.import_module(f"jaxbandits.{room}").__path__)


def test_a_registered_class_is_final():
    """A class is abstract or final: none inherits from an algorithm or environment that can be played."""
    for entry in (*ALGORITHMS.values(), *ENVIRONMENTS.values()):
        assert not inspect.isabstract(entry.cls), entry.cls
        heirs = [cls for cls in entry.cls.__subclasses__() if cls.__module__.startswith("jaxbandits.")]
        assert not heirs, heirs


def test_the_version_is_known_without_importing_jax():
    code = "import sys, jaxbandits; print(jaxbandits.__version__); assert 'jax' not in sys.modules"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=PACKAGE.parent)
    assert done.returncode == 0, done.stderr
    citation = (PACKAGE.parent / "CITATION.cff").read_text()
    assert f"version: {done.stdout.strip()}" in citation


def test_no_barrier_is_placed_by_hand_in_what_the_interpreter_runs():
    """`tracing.liveness` places them; one placed by hand would only distract a reader of the algorithm."""
    rooms = ("algorithms", "environments", "domains", "reproduction", "estimation")
    by_hand = {
        PACKAGE / "estimation/likelihood.py",  # no rule knows that a loop seldom runs
        PACKAGE / "estimation/history.py",  # nor that a row is read before its place is written
    }
    for path in (path for room in rooms for path in (PACKAGE / room).rglob("*.py") if path not in by_hand):
        text = path.read_text(encoding="utf-8")
        assert "tracing.barrier" not in text and "optimization_barrier" not in text, path


_MAY_BE_0 = re.compile(
    r"\b(horizon|rounds|seeds?|first_seed|width|workers|processes|capacity|level|margin|n_\w+)('\))?$"
)


def test_0_is_never_taken_for_nothing():
    """`x or default` replaces a number 0 as well: `default if x is None else x`."""
    found = []
    for path in (path for root in (PACKAGE, PACKAGE.parent / "benchmarks") for path in root.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.BoolOp) and isinstance(node.op, ast.Or):
                numbers = [x for x in node.values[:-1] if isinstance(x, (ast.Name, ast.Attribute, ast.Call))]
                found += [f"{path}:{node.lineno}" for x in numbers if _MAY_BE_0.search(ast.unparse(x))]
    assert not found, found


_MODULES = "core|extend|interpreters|experimental|_src"
INSIDE_JAX = re.compile(rf"^\s*(?:from|import) jax\.(?:{_MODULES})|\bjax\.(?:core|_src)\.\w")


def test_what_is_inside_jax_is_imported_in_one_file():
    for path in set(PACKAGE.rglob("*.py")) - {PACKAGE / "tracing" / "jax_compat.py"}:
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
            assert not INSIDE_JAX.search(line), f"{path.relative_to(PACKAGE)}:{number}"
