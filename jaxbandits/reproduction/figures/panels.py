"""Load a panel of a reproduced experiment, with the settings that draw it as in the experiment's figure."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from jaxbandits.base.errors import InputError, unknown_name
from jaxbandits.reproduction.engine.experiment import Experiment
from jaxbandits.reproduction.engine.figures import Curves
from jaxbandits.reproduction.figures.curves import drawn_of
from jaxbandits.reproduction.ledger.manifest import MANIFEST, is_of_a_sweep, load, read
from jaxbandits.results.result import Result

_FORM = {"experiment": str, "preset": str, "horizon": int, "panels": dict}


def of_directory(
    directory: Path, panel: str | None, experiments: Mapping[str, Experiment]
) -> tuple[Path, Result, dict[str, Any]]:
    """Return the path of a panel's result file, its contents, and the arguments with which `render.single` draws it.

    Args:
      directory: directory written by `reproduce`.
      panel: name of the panel; None if there is only one.
      experiments: mapping from names to experiments.

    Raises:
      InputError: if the directory holds no finished experiment or one that is not in `experiments`, or if the panel is
        unknown or has to be named.
    """
    path = directory / MANIFEST
    try:
        if is_of_a_sweep(load(path)):
            what = "which `jaxbandits analyse` summarises and `jaxbandits export` converts"
            raise InputError(f"{directory} holds a sweep, {what}")
        manifest = read(path, form=_FORM)
    except FileNotFoundError:
        raise InputError(f"{directory} holds no finished experiment: name a result file (.npz)") from None
    name, preset, horizon = manifest["experiment"], manifest["preset"], manifest["horizon"]
    names = list(manifest["panels"])
    if name not in experiments:
        raise InputError(f"{directory} holds {name}, which is not registered here; --plugin FILE registers your own")
    experiment = experiments[name]
    if panel is None and len(names) > 1:
        raise InputError(f"{directory} has several panels: choose one with --panel, of {', '.join(names)}")
    panel = names[0] if panel is None else panel
    if panel not in names:
        raise unknown_name("panel", panel, names)
    file = directory / f"{name.rpartition('/')[2]}-{panel}.npz"
    result = Result.load(file)
    drawing = next((each for each in experiment.figures if isinstance(each, Curves)), Curves())
    panels = experiment.panels(horizon).values()
    declared = dict.fromkeys(label for each in panels for label in experiment.algorithms(preset, horizon, each))
    metric, measured = result.labels_with_metric(drawing.metric or experiment.metric)
    last = [label for label in declared if label in drawing.not_drawn]
    return (
        file,
        result,
        {
            "metric": metric,
            "x": drawing.x,
            "logarithmic": drawing.logarithmic,
            "algorithms": drawn_of(list(measured), drawing.not_drawn),
            "order": [*(label for label in declared if label not in last), *last],
        },
    )
