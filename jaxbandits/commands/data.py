"""Command `data`, which lists and downloads published data sets."""

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from jaxbandits.commands.arguments import Subparsers
    from jaxbandits.reproduction import Experiment


def add(commands: "Subparsers") -> None:
    """Add the parsers of `data list` and `data fetch`."""
    data = commands.add_parser("data", help="list the published data sets of the experiments, or download one")
    actions = data.add_subparsers(metavar="action", required=True)
    listing = actions.add_parser(
        "list", help="list the data sets with their location, terms of use, and the experiments that use them"
    )
    listing.set_defaults(run=_list)
    fetch = actions.add_parser("fetch", help="download a data set and verify its checksum")
    fetch.add_argument("name", help="a name such as adult (see `jaxbandits data list`)")
    fetch.set_defaults(run=_fetch)


def _list(arguments: argparse.Namespace) -> int:
    del arguments
    from jaxbandits.base.text import fold
    from jaxbandits.environments.datasets import published
    from jaxbandits.reproduction import EXPERIMENTS

    for name, data_set in published.DATA_SETS.items():
        path = published.find(name)
        missing = f"  not downloaded; to download it: jaxbandits data fetch {name}"
        if data_set.by_hand:
            missing = f"  not downloaded; to download it by hand: {published.by_hand(name)}"
        taking = [x for x in EXPERIMENTS.values() if x.from_file is not None]
        users = [x.name for x in taking if name in map(str.lower, x.stand_ins.values())]
        lines = (
            f"{name}: {data_set.title}",
            f"  terms: {data_set.terms}",
            f"  used by: {', '.join(users) or 'no experiment'}",
            f"  path: {path}" if path else missing,
        )
        print(fold("\n".join(lines)))
    print(f"directory: {published.directory()} (the environment variable JAXBANDITS_DATA selects another)")
    return 0


def _fetch(arguments: argparse.Namespace) -> int:
    from jaxbandits.environments.datasets import published

    print(published.fetch(arguments.name))
    return 0


def data_set_of(experiment: "Experiment") -> str | None:
    """Return the name of the published data set of an experiment, or None if it has none or several."""
    from jaxbandits.environments.datasets import published

    names = {name.lower() for name in experiment.stand_ins.values()}
    name = names.pop() if len(names) == 1 and experiment.from_file is not None else None
    return name if name in published.DATA_SETS else None


def data_on_this_machine(experiment: "Experiment") -> tuple[Path | None, str]:
    """Return the path of an experiment's data set on this machine (None if it is missing), and a message on it."""
    from jaxbandits.environments.datasets import published

    name = data_set_of(experiment)
    if name is None:
        return None, ""
    path = published.find(name)
    if path is not None:
        return path, f"{experiment.name}: uses {path}"
    return (
        None,
        f"{experiment.name}: uses a synthetic stand-in for {name}; `jaxbandits data fetch {name}` downloads the data",
    )
