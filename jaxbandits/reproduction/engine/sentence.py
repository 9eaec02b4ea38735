"""Functions that declare the sentences of a paper as claims. A sentence has one row for each rival and panel.

For example,

    *claims("far-ahead", mean("Hvt-UCB") < 0.5 * mean("OFUL", "CRTM"), on=PANELS,
            says="Hvt-UCB is far ahead of {rival}", place="Figure 4; Appendix E.2")

declares two rows in each panel: "far-ahead/oful/scale2", "far-ahead/crtm/scale2", ...
"""

from collections.abc import Iterable, Mapping

from jaxbandits.base.pytree import FieldValue
from jaxbandits.reproduction.engine.claim import Claim, quote_label, slug
from jaxbandits.reproduction.engine.quantities import Test, least_of


def claims(
    id: str,
    *tests: Iterable[Test],
    says: str,
    place: str,
    on: str | Iterable[str] | Mapping[str, str] = (),
    **fields: FieldValue,
) -> tuple[Claim, ...]:
    """Declare a sentence, and return its rows: one claim for each test in each panel.

    Args:
      id: stable id of the sentence, unique within its experiment.
      *tests: comparisons of quantities.
      says: the paper's words, in which `{rival}` and `{label}` stand for the learners of a row; labels are quoted as by
        `quote_label`.
      place: figure or section of the paper.
      on: name of a panel, names of several panels, or a mapping from names to titles; () if the tests name their own
        panels.
      **fields: further fields of `Claim`. A statement that is tested by times gets the kind "time".
    """
    titles, kind = _titles(on), fields.pop("kind", "statement")
    every = [test for several in tests for test in several]
    first = len({test.labels[:1] for test in every}) > 1
    kinds = len({test.kind for test in every}) > 1
    rows = []
    for panel, title in titles.items():
        for test in every:
            parts = [test.kind] * kinds + [*test.labels[:1]] * first + [test.rival, panel]
            labels: dict[str, str] = dict(zip(("label", "rival"), test.labels, strict=False))
            words = {
                "test": test.words,
                "says": _fill(says, labels),
                "where": title,
                "labels": test.labels,
                "rival": test.rival,
                "kind": "time" if kind == "statement" and test.unit == "repeats" else kind,
                "panels": (panel,) if panel else (),
            }
            ends = {"low": test.low, "high": test.high, "unit": test.unit, **least_of(test.unit)}
            name = "/".join([id, *map(slug, filter(None, parts))])
            rows.append(Claim(name, statistic=test.statistic(panel), place=place, **{**words, **ends, **fields}))
    return tuple(rows)


def theorems(id: str, *tests: Iterable[Test], says: str, place: str, **fields: FieldValue) -> tuple[Claim, ...]:
    """Declare a theorem, lemma or certificate that is checked by running; the arguments are those of `claims`."""
    return claims(id, *tests, says=says, place=place, kind="theorem", **fields)


def observations(
    id: str, *tests: Iterable[Test], says: str, place: str = "", **fields: FieldValue
) -> tuple[Claim, ...]:
    """Declare an observation of our own; the arguments are those of `claims`, but `place` names its subject."""
    return claims(id, *tests, says=says, place=place, kind="observation", **fields)


def _titles(on: str | Iterable[str] | Mapping[str, str]) -> Mapping[str, str]:
    if isinstance(on, Mapping):
        return on
    panels = (on,) if isinstance(on, str) else tuple(on)
    return {panel: panel for panel in panels} or {"": ""}


def _fill(says: str, labels: Mapping[str, str]) -> str:
    for name, label in labels.items():
        says = says.replace(f"{{{name}}}", quote_label(label))
    return says
