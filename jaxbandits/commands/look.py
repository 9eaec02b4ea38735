"""Commands for registered names: `list`, `show` and `check`."""

import argparse
import sys
import textwrap
from typing import TYPE_CHECKING

from jaxbandits.commands.arguments import with_plugins

if TYPE_CHECKING:
    from jaxbandits.commands.arguments import Subparsers
    from jaxbandits.reproduction import Experiment


def add(commands: "Subparsers") -> None:
    """Add the parsers of `list`, `show` and `check`."""
    own = with_plugins()
    listing = commands.add_parser("list", parents=[own], help="list algorithms, environments and experiments")
    listing.add_argument(
        "what",
        nargs="?",
        help="algorithms, environments or experiments, or a family such as linear (default: everything)",
    )
    listing.set_defaults(run=_list)

    show = commands.add_parser(
        "show",
        parents=[own],
        help="print the documentation, fields and ranges of an algorithm, environment, experiment or part",
    )
    show.add_argument(
        "name",
        help="a name such as linear/hvt_ucb or noise/student_t, a class such as HvtUCB, or a family such as linear",
    )
    show.set_defaults(run=_show)

    check = commands.add_parser(
        "check", parents=[own], help="run the contract tests on an algorithm: does it obey the protocol?"
    )
    check.add_argument("name", help="name of a registered algorithm, such as mine/lin_ts, or a class such as HvtUCB")
    check.add_argument("--quick", action="store_true", help="check only the traced code, which takes a few seconds")
    check.set_defaults(run=_check)


def _list(arguments: argparse.Namespace) -> int:
    from jaxbandits.base.errors import unknown_name

    rooms, families = _rooms(), _families()
    if arguments.what in families:
        rooms = {room: _of_family(names, arguments.what) for room, names in rooms.items()}
    elif arguments.what is not None:
        if arguments.what not in rooms:
            raise unknown_name("kind or family", arguments.what, [*rooms, *families])
        rooms = {arguments.what: rooms[arguments.what]}
    _print_rooms(rooms)
    return 0


def _rooms() -> dict[str, dict[str, str]]:
    """Return one line for each name, grouped by kind."""
    from jaxbandits.algorithms import ALGORITHMS
    from jaxbandits.environments import ENVIRONMENTS
    from jaxbandits.reproduction import EXPERIMENTS

    return {
        "algorithms": {name: entry.source for name, entry in ALGORITHMS.items()},
        "environments": {name: entry.source for name, entry in ENVIRONMENTS.items()},
        "experiments": {name: f"{e.title} ({e.source})" for name, e in EXPERIMENTS.items()},
    }


def _families() -> list[str]:
    return list(dict.fromkeys(name.partition("/")[0] for names in _rooms().values() for name in names))


def _of_family(names: dict[str, str], family: str) -> dict[str, str]:
    return {name: about for name, about in names.items() if name.startswith(f"{family}/")}


def _print_rooms(rooms: dict[str, dict[str, str]]) -> None:
    from jaxbandits.base.text import WIDTH

    for room, names in rooms.items():
        if names:
            indent = " " * (max(map(len, names)) + 4)
            lines = (
                textwrap.fill(about, WIDTH, initial_indent=f"  {name}".ljust(len(indent)), subsequent_indent=indent)
                for name, about in names.items()
            )
            print(f"{room}:", *lines, sep="\n")


def _show(arguments: argparse.Namespace) -> int:
    from jaxbandits.algorithms import ALGORITHMS
    from jaxbandits.base.errors import UnknownNameError
    from jaxbandits.catalogue import PARTS, Names
    from jaxbandits.commands.cite import full_names
    from jaxbandits.environments import ENVIRONMENTS
    from jaxbandits.reproduction import EXPERIMENTS

    if arguments.name in _families():
        _print_rooms({room: _of_family(names, arguments.name) for room, names in _rooms().items()})
        return 0
    entries = {**ALGORITHMS, **ENVIRONMENTS}
    try:
        names = full_names(arguments.name, {**entries, **EXPERIMENTS})
    except UnknownNameError:  # a part has lower priority, so that it makes no short name of these ambiguous
        names = full_names(arguments.name, {**entries, **EXPERIMENTS, **PARTS})
    for name in names:
        if name in entries:
            _show_class(name, entries[name].cls)
        elif name in PARTS:
            _show_class(name, Names()[name])
        if name in entries and name in EXPERIMENTS:
            print()
        if name in EXPERIMENTS:
            _show_experiment(EXPERIMENTS[name])
    return 0


def _show_experiment(e: "Experiment") -> None:
    from jaxbandits.base.text import WIDTH, count_of, fold

    print(fold(f"{e.name}: {e.title} ({e.source})") + "\n")
    print(textwrap.fill(e.shows, WIDTH) + "\n\n" if e.shows else "", end="")
    print(f"defaults: {count_of(e.horizon, 'round')}, {count_of(e.seeds, 'seed')}; metric: {e.metric}")
    panels = e.panels(e.horizon)
    print("presets:", *(fold(f"  {name}: {meaning}") for name, meaning in e.presets.items()), sep="\n")
    if e.interpretations:
        print(
            "other interpretations:",
            *(fold(f"  {name}: {interpretation.text}") for name, interpretation in e.interpretations.items()),
            sep="\n",
        )
    print("panels:", *(fold(f"  {name}: {panel.title}") for name, panel in panels.items()), sep="\n")
    labels = dict.fromkeys(
        label for panel in panels.values() for label in e.algorithms(e.preset(None), e.horizon, panel)
    )
    print("algorithms:", *(f"  {label}" for label in labels), sep="\n")
    if e.stand_ins:
        names = ", ".join(dict.fromkeys(e.stand_ins.values()))
        own = "; --data selects your copy of the real data" if e.from_file is not None else ""
        print(fold(f"data: a synthetic stand-in for {names}{own}"))
    print(
        "claims:",
        *(fold(f"  {claim.id}: {claim.text}" + (f" [{claim.place}]" if claim.place else "")) for claim in e.claims),
        sep="\n",
    )
    print(*(fold(f"note: {note}") for note in e.notes), sep="\n")


def _show_class(name: str, cls: type) -> None:
    """Print the documentation of a class, or of a function that is registered as a part."""
    import dataclasses
    import inspect

    from jaxbandits.analysis import table
    from jaxbandits.base.pytree import field_table, named_constructors
    from jaxbandits.base.text import fold, refill

    documented = (sys.modules[cls.__module__], cls)
    module, text = (
        (inspect.getdoc(obj) or "").replace("$", "") for obj in documented
    )  # dollar signs are formulas on the site
    print(refill(f"{name}: {cls.__module__}.{cls.__name__}\n\n{module}\n\n{text}\n\n"))
    if not dataclasses.is_dataclass(cls):
        return
    rows = [(row.name, row.kind, _value(row.value), row.range or "", row.doc) for row in field_table(cls)]
    if rows:
        print(table.align(("field", "kind", "default", "range", "meaning"), rows, left=5))
    presets = {key: inspect.getdoc(preset) or "" for key, preset in named_constructors(cls).items()}
    if presets:
        first_lines = {key: about.splitlines()[0] if about else "" for key, about in presets.items()}
        print("\npresets:", *(fold(f"  {key}: {about}") for key, about in first_lines.items()), sep="\n")


def _value(value: object) -> str:
    if isinstance(value, float):
        return f"{value:g}"
    return getattr(value, "__name__", str(value))  # of a function: its text has an address


def _check(arguments: argparse.Namespace) -> int:
    from jaxbandits.algorithms import ALGORITHMS
    from jaxbandits.base.errors import InputError, unknown_name
    from jaxbandits.commands.cite import full_names
    from jaxbandits.environments import ENVIRONMENTS
    from jaxbandits.testing import check_algorithm

    (algorithm,) = full_names(arguments.name, ALGORITHMS)
    entry = ALGORITHMS[algorithm]
    if not entry.environments:
        raise InputError(f"the registry entry of {algorithm} names no environment for the check")
    for name in entry.environments:
        if name not in ENVIRONMENTS:
            raise unknown_name("environment", name, ENVIRONMENTS, "jaxbandits list environments")
        try:
            check_algorithm(entry.example, ENVIRONMENTS[name].example, quick=arguments.quick)
        except AssertionError as error:
            print(error)
            return 1
    return 0
