"""Settings that the experiments of a paper share. An experiment declares only the settings in which it differs.

For example:

    FIGURES = Study("linear", "Wang, Zhang, Zhao & Zhou, ICML 2025", horizon=18_000, seeds=512, presets=PRESETS)
    FIG2 = FIGURES.experiment("fig2", "Figure 2", title="Gaussian noise", algorithms=..., panels=..., claims=...)
"""

from jaxbandits.base.pytree import FieldValue
from jaxbandits.reproduction.engine.experiment import Experiment


class Study:
    """Common fields of the experiments of a paper.

    Args:
      family: first part of the experiments' names.
      citation: citation of the paper in figures and tables.
      **shared: fields of `Experiment`; `notes` are appended to the notes of each experiment, and all other fields are
        defaults.
    """

    def __init__(self, family: str, citation: str, **shared: FieldValue) -> None:
        self.family, self.citation = family, citation
        self._notes, self._shared = tuple(shared.pop("notes", ())), {"metric": "regret", **shared}

    def experiment(self, name: str, place: str, *, notes: tuple[str, ...] = (), **fields: FieldValue) -> Experiment:
        """Declare an experiment of the paper, and return it.

        Args:
          name: second part of the experiment's name.
          place: figure, theorem or section of the paper.
          notes: notes for readers of the figure.
          **fields: fields of `Experiment`, which add to the shared fields or replace them.

        Raises:
          TypeError: for an unknown field of `Experiment`, or if a field is missing.
        """
        return Experiment(
            name=f"{self.family}/{name}",
            **{"source": f"{self.citation}, {place}", **self._shared, **fields},
            notes=(*notes, *self._notes),
        )
