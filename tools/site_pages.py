"""Write the generated pages of the site: reference, gallery, tutorials, and copies of the repository's pages.

python tools/site_pages.py     write docs/generated (docs/conf.py does so before each build)

The entries of the reference and the gallery come from the registries, the docstrings and argparse.
"""

import argparse
import importlib
import inspect
import re
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import plain_tex
import typeset

import jaxbandits
import notebooks
from jaxbandits import cli
from jaxbandits.algorithms import ALGORITHMS
from jaxbandits.base import lazy
from jaxbandits.base.pytree import field_table, named_constructors
from jaxbandits.catalogue import FAMILIES, PARTS, Names
from jaxbandits.environments import ENVIRONMENTS
from jaxbandits.reproduction import EXPERIMENTS
from jaxbandits.reproduction.papers import PAPERS

ROOT = Path(__file__).resolve().parent.parent
OUT = ROOT / "docs" / "generated"
COPIES = {  # file of the repository: page
    "ARCHITECTURE.md": "project/architecture.md",
    "CHANGELOG.md": "project/changelog.md",
    "CONTRIBUTING.md": "project/contributing.md",
    "CODE_OF_CONDUCT.md": "project/code_of_conduct.md",
    "SUPPORT.md": "project/support.md",
    "benchmarks/NOTES.md": "project/notes.md",
}
TITLES = {
    "armed": "Multi-armed bandits",
    "contextual": "Contextual bandits",
    "combinatorial": "Lists and sets of items",
    "duels": "Dueling bandits",
    "teams": "Multi-player bandits",
    "explore": "Best-arm identification",
    "linear": "Linear bandits, heavy tails",
    "glm": "Generalised linear bandits",
    "oco": "Online convex optimisation",
    "coco": "Constrained online convex optimisation",
    "dro": "Group DRO",
    "operators": "Operators",
    "data": "Data",
    "classics": "Classical bandits",
}
ROOMS = {  # page of top-level names: its title, and the subpackages that define the names
    "run": ("Simulate, compare, sweep", ("simulation", "engine", "sweeps")),
    "results": ("Results", ("results", "analysis", "plots")),
    "own": ("Your own algorithm and environment", ("",)),  # all other subpackages
}
MODULES = {  # page: its title, and modules whose members it lists
    "domains": ("Domains", ["jaxbandits.domains"]),
    "noise": ("Noise distributions and links", ["jaxbandits.environments.linear.noise", "jaxbandits.estimation.links"]),
    "numerics": ("Random numbers and inverses", ["jaxbandits.numerics.rng", "jaxbandits.numerics.inverse_factors"]),
    "meters": ("Meters", [f"jaxbandits.diagnostics.{name}" for name in ("linear", "glm", "oco", "coco", "history")]),
    "bridges": (
        "Bridges to other packages",
        [f"jaxbandits.bridges.{name}" for name in ("learners", "environments", "logs", "executors", "tracking")],
    ),
    "theory": ("Bounds of the theorems", [f"jaxbandits.theory.{name}" for name in PAPERS]),
    "experiments": ("Experiments", ["jaxbandits.reproduction"]),
}


def pages() -> dict[str, str]:
    """Return the text of every page, by its path below docs/generated."""
    return {**_copies(), **_tutorials(), **_reference(), **_gallery()}


def write() -> None:
    """Write the pages that changed, and remove files that are no longer pages."""
    texts = pages()
    for path in OUT.rglob("*.*"):
        if path.relative_to(OUT).as_posix() not in texts:
            path.unlink()
    for name, text in texts.items():
        path = OUT / name
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")


def public_names() -> Iterator[tuple[str, Any]]:
    """Yield the public names of the package, its families and `domains`, each with its object."""
    for module in (jaxbandits, *(importlib.import_module(f"jaxbandits.{name}") for name in (*FAMILIES, "domains"))):
        names = getattr(module, "__all__", [name for name in vars(module) if not name.startswith("_")])
        for name in names:
            if name != "__version__" and not (module is jaxbandits and name in FAMILIES):
                yield f"{module.__name__}.{name}", getattr(module, name)


# --- copies and tutorials ----------------------------------------------------------------------------------------


def _copies() -> dict[str, str]:
    return {page: (ROOT / file).read_text(encoding="utf-8") for file, page in COPIES.items() if (ROOT / file).exists()}


def _tutorials() -> dict[str, str]:
    return {f"tutorials/{source.stem}.ipynb": notebooks.made(source) for source in notebooks.sources()}


# --- reference ---------------------------------------------------------------------------------------------------


def _reference() -> dict[str, str]:
    texts = {name: _top_level(*page) for name, page in ROOMS.items()}
    texts |= {family: _family(family) for family in FAMILIES}
    texts |= {name: _page(title, *(_auto("automodule", module, "members:") for module in modules))
              for name, (title, modules) in MODULES.items()}  # fmt: skip
    texts |= {"models": _page("Models and rules", *_parts("models"), "## Rules", *_parts("rules"))}
    texts |= {"cli": _command_line(), "names": _spec_names()}
    return {f"reference/{name}.md": text for name, text in texts.items()}


def _parts(namespace: str) -> list[str]:
    """Return the entries of the parts of a `contextual.Bandit`: documentation and fields."""
    module = getattr(jaxbandits.contextual, namespace)
    blocks = []
    for name in module.__all__:
        cls = getattr(module, name)
        rows = list(field_table(cls))
        fields = ", ".join(row.name for row in rows if "." not in row.name)
        exclude = [f"exclude-members: {fields}"] if fields else []
        blocks.append(_auto("autoclass", f"jaxbandits.contextual.{namespace}.{name}", "members:", *exclude))
        blocks.append(_fields(rows))
    return blocks


def _fields(rows: Iterable[Any]) -> str:
    """Return the table of the fields of a class; "" for none."""
    cells = [(f"`{row.name}`", row.kind, _code(row.value), _code(row.range or ""), escape(row.doc)) for row in rows]
    return table(("field", "kind", "default", "range", "meaning"), cells) if cells else ""


def _page(title: str, *blocks: str) -> str:
    return "\n\n".join((f"# {title}", *(block.strip("\n") for block in blocks if block))) + "\n"


def _auto(directive: str, name: str, *options: str) -> str:
    lines = [f".. {directive}:: {name}", *(f"   :{option}" for option in options)]
    return "\n".join(("```{eval-rst}", *lines, "```"))


def _object(name: str, obj: Any) -> str:
    """Return the directive that documents an object."""
    if inspect.ismodule(obj):
        return ""
    if inspect.isclass(obj):
        fields = ", ".join(getattr(obj, "_fields", ()))  # of a named tuple: described by its docstring
        return _auto("autoclass", name, "members:", *([f"exclude-members: {fields}"] if fields else []))
    return _auto("autofunction" if callable(obj) else "autodata", name)


def _top_level(title: str, rooms: tuple[str, ...]) -> str:
    """Return the page of the top-level names that some subpackages define, except those of the family `linear`."""
    others = {room for _, listed in ROOMS.values() for room in listed} - {""}
    places = lazy.declared_imports("jaxbandits")
    blocks = []
    for name, place in places.items():
        room = place.removeprefix("jaxbandits.").partition(".")[0].partition(":")[0]
        here = room in rooms or (rooms == ("",) and room not in others | {"jaxbandits"})
        if here and not place.startswith(("jaxbandits.algorithms.linear", "jaxbandits.environments.linear")):
            blocks.append(_object(f"jaxbandits.{name}", getattr(jaxbandits, name)))
    return _page(title, *blocks)


def _family(family: str) -> str:
    """Return the page of a family: its algorithms, its environments, and its other names."""
    module = importlib.import_module(f"jaxbandits.{family}")
    rooms = {
        "Algorithms": {name: entry for name, entry in ALGORITHMS.items() if name.startswith(f"{family}/")},
        "Environments": {name: entry for name, entry in ENVIRONMENTS.items() if name.startswith(f"{family}/")},
    }
    blocks, listed = [prose(inspect.getdoc(module) or "")], set()
    for title, entries in rooms.items():
        if entries:
            blocks.append(f"## {title}")
        for name, entry in entries.items():
            blocks.append(_entry(name, entry, module))
            listed.add(entry.cls)
    names = {name: obj for name, obj in vars(module).items() if not name.startswith("_") and _is_public(obj)}
    others = {name: obj for name, obj in names.items() if not (inspect.isclass(obj) and obj in listed)}
    if others:
        blocks.append("## Further names")
        blocks += [_object(f"{module.__name__}.{name}", obj) for name, obj in sorted(others.items())]
    return _page(TITLES.get(family, family), *blocks)


def _is_public(obj: Any) -> bool:
    return callable(obj) and str(getattr(obj, "__module__", "")).startswith("jaxbandits")


def _entry(name: str, entry: Any, module: Any) -> str:
    """Return the entry of a class: source, documentation, fields, presets and commands."""
    cls = entry.cls
    presets = {key: _first_line(preset) for key, preset in named_constructors(cls).items()}
    own = [key for key in vars(cls) if not key.startswith("_") and callable(getattr(cls, key, None))]
    shown = [key for key in own if key not in _PROTOCOL and inspect.getdoc(getattr(cls, key))]
    members = ", ".join(dict.fromkeys((*presets, *shown)))
    blocks = [
        f"### {cls.__name__}",
        f"`{name}`. {escape(entry.source)}.",
        _auto("autoclass", f"{module.__name__}.{cls.__name__}", *([f"members: {members}"] if members else [])),
        _fields(field_table(cls)),
        table(("preset or constructor", "what it does"), [(f"`{k}`", escape(v)) for k, v in presets.items()])
        if presets
        else "",
        f"`jaxbandits show {name}` prints this entry, and `jaxbandits cite {name}` prints the citation.",
    ]
    return "\n\n".join(block for block in blocks if block)


_PROTOCOL = (  # documented once: docs/protocol.md
    "init", "init_from_obs", "select", "update", "observe", "step", "admits", "at_record", "is_counted", "learner_time",
    "in_hindsight", "rebuild_instance", "derive", "check", "example",
)  # fmt: skip


def _first_line(obj: Any) -> str:
    text = inspect.getdoc(obj) or ""
    return " ".join(text.partition("\n\n")[0].split())


def _code(value: Any) -> str:
    if isinstance(value, float):
        value = f"{value:g}"
    text = " ".join(str(value).split())
    if " object at 0x" in text or len(text) > 60:
        text = text[:40] + "..."
    return f"`{text}`" if text else ""


def header_of(cls: Any) -> str:
    """Return the docstring of the module of a registered class, which has its formulas; "" for any other class."""
    header = inspect.getdoc(sys.modules[cls.__module__]) or ""
    registered = (entry.cls for entry in (*ALGORITHMS.values(), *ENVIRONMENTS.values()))
    here = [other for other in registered if other.__module__ == cls.__module__]
    if here:
        return header if cls in here else ""
    parts = [str(place) for place in PARTS.values() if str(place).startswith(f"{cls.__module__}:")]
    is_only_part = parts == [f"{cls.__module__}:{cls.__qualname__}"]  # links, for example, share a module
    return header if is_only_part and "\n    " in header else ""


def escape(text: str) -> str:
    """Return prose of a docstring as Markdown: code is kept, formulas become TeX, and other text is escaped."""
    parts = []
    for kind, content in typeset.prose(str(text)):
        if kind == "math":
            content = f"${plain_tex.tex(content)}$" if typeset.is_settable(content) else f"`{content}`"
        elif kind == "text":
            content = re.sub(r"([\\*_<>\[\]$#])", r"\\\1", content)
        parts.append(content)
    return "".join(parts)


def table(header: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    """Return a table in Markdown."""
    header = tuple(header)
    lines = [" | ".join(str(cell).replace("|", "\\|") or " " for cell in row) for row in rows]
    return "\n".join([f"| {' | '.join(header)} |", "|" + "---|" * len(header), *(f"| {text} |" for text in lines)])


def prose(text: str) -> str:
    """Return the docstring of a module as Markdown."""
    return "\n\n".join(escape(block) for block in text.split("\n\n"))


def _command_line() -> str:
    """Return the page of the command line, from argparse."""
    parser = cli._parser()
    (commands,) = (action for action in parser._actions if isinstance(action, argparse._SubParsersAction))
    about = {choice.dest: choice.help for choice in commands._choices_actions}
    blocks = [escape(parser.description or "")]
    blocks.append(table(("command", "what it does"), [(f"[`{k}`](#{k})", escape(about[k] or "")) for k in about]))
    for name, command in commands.choices.items():
        command.prog = f"jaxbandits {name}"
        rows = [
            (f"`{', '.join(action.option_strings) or action.metavar or action.dest}`",
             escape((action.help or "").replace("%%", "%")))
            for action in command._actions
        ]  # fmt: skip
        usage = " ".join(command.format_usage().removeprefix("usage: ").split())
        blocks += [f"## {name}", escape((about.get(name) or "").capitalize()), f"```text\n{_wrapped(usage)}\n```"]
        blocks.append(table(("argument", "meaning"), rows))
    return _page("Command line", *blocks)


def _wrapped(usage: str, width: int = 80) -> str:
    lines = [""]
    for word in usage.replace("] [", "]\n[").split("\n"):
        if len(lines[-1]) + len(word) > width:
            lines.append("   ")
        lines[-1] += f" {word}" if lines[-1] else word
    return "\n".join(lines)


def _spec_names() -> str:
    """Return the page of all names that a specification may use."""
    names = Names()
    blocks = [
        "This page lists the names that may appear in a sweep file or in a specification, the JSON form of a learner "
        "or environment that `from_spec` reads. Parts are components of both, such as domains, noises and models. "
        "`register_algorithm`, `register_environment` and `register_part` add your own. Functions of `optax` and "
        "`optax.contrib` are named `optax/adam`, `optax/dog` and so on."
    ]
    for title, known in (("Algorithms", ALGORITHMS), ("Environments", ENVIRONMENTS), ("Parts", PARTS)):
        rows = []
        for name in sorted(known):
            obj = inspect.unwrap(names[name])
            place = f"{obj.__module__}.{obj.__qualname__}" if hasattr(obj, "__qualname__") else PARTS[name]
            rows.append((f"`{name}`", f"`{place.replace(':', '.')}`"))
        blocks += [f"## {title}", table(("name", "stands for"), rows)]
    return _page("Registered names", *blocks)


# --- gallery -----------------------------------------------------------------------------------------------------


def _gallery() -> dict[str, str]:
    blocks = [
        "The pictures show algorithms on their registered examples, and experiments with few seeds and rounds. They "
        "are from short runs for illustration; the verdicts are on the pages of the papers. A click on a picture opens "
        "it in full size. `python tools/gallery.py` draws the pictures."
    ]
    for family in (*FAMILIES, "classics"):
        algorithms = [
            _card(entry.cls.__name__, name, _first_line(entry.cls), f"jaxbandits show {name}",
                  f"reference/{family}.md#{entry.cls.__name__.lower()}")
            for name, entry in ALGORITHMS.items()
            if name.startswith(f"{family}/")
        ]  # fmt: skip
        experiments = [
            _card(name, name, f"{experiment.title} ({experiment.source})", f"jaxbandits reproduce {name}",
                  f"../papers/{family}.md")
            for name, experiment in EXPERIMENTS.items()
            if name.startswith(f"{family}/")
        ]  # fmt: skip
        for title, cards in (("algorithms", algorithms), ("experiments", experiments)):
            if cards:
                blocks.append(f"## {TITLES.get(family, family)}: {title}")
                blocks.append("\n".join(("::::{grid} 2 2 3 3", ":gutter: 2 2 3 3", "", *cards, "::::")))
    return {"gallery.md": _page("Gallery", *blocks)}


def _card(title: str, name: str, sentence: str, command: str, link: str) -> str:
    picture = f"../gallery/{name.replace('/', '-')}.svg"
    image = [f":img-top: {picture}", f":img-alt: {name}"] if (ROOT / "docs" / "gallery" / picture[11:]).exists() else []
    sentence = escape(sentence[:1].upper() + sentence[1:]).rstrip(".")
    lines = [f":::{{grid-item-card}} {escape(title)}", *image, "", f"{sentence}.", "", f"`{command}`", ""]
    return "\n".join((*lines, f"[More]({link})", ":::", ""))


if __name__ == "__main__":
    write()
