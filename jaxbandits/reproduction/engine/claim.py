"""Claims: a row of a sentence of a paper as data: a statistic, the region where it is said to lie, and the words."""

import dataclasses
import math
from collections.abc import Callable, Mapping
from typing import Literal, NamedTuple

from jaxbandits.analysis.intervals import Estimate
from jaxbandits.base.errors import InputError, format_value
from jaxbandits.results.result import Result
from jaxbandits.simulation import RoundTimes

Kind = Literal["statement", "time", "theorem", "observation"]
Unit = Literal["seeds", "repeats"]

KINDS: Mapping[Kind, str] = {
    "statement": "statements of the paper about its experiments",
    "time": "statements of the paper on times, in this implementation",
    "theorem": "theorems and certificates, checked by running",
    "observation": "our own observations",
}
REPEATS = 3  # least number of timings
_ID = frozenset("abcdefghijklmnopqrstuvwxyz0123456789-./")


class Measurements(NamedTuple):
    """Measurements of an experiment."""

    results: Mapping[str, Result]  # panel name to result
    times: Mapping[tuple[str, int], RoundTimes]  # (panel, trials side by side) to time per round; empty if not timed


@dataclasses.dataclass(frozen=True)
class Claim:
    """A row of a sentence of a paper as a statistical test: one rival, one panel.

    A claim with both ends finite is one of equivalence ("comparable", "close"): two one-sided tests with the margins
    `low` and `high`, both at 2.5 %, which is what an interval of 95 % inside the margins is.

    Files and tables join by `id` alone: words may change at any time.

    Attributes:
      id: unique within its experiment and stable, "sentence/rival/panel": lower-case letters, digits, "-", "." and "/".
      says: the sentence, paraphrased.
      statistic: from what was measured to a scalar estimate with its confidence interval.
      place: of the sentence in the paper, or what an observation of ours is about.
      low: the claim says that the statistic lies in `(low, high)`.
      high: see `low`.
      test: the statistic and its region in words; "": `says` has them.
      where: the panel in words; "": none.
      kind: which words its verdict has, and among which sentences it is counted.
      panels: that the statistic looks at; (): all that it turns out to read.
      labels: of the learners that it is about.
      rival: the one of them that the row is against; "": none.
      unit: of what is counted: seeds, or repeats of timings.
      least: seeds or repeats below which nothing is decided.
      presets: those that the sentence speaks about; (): whichever is run.
      cannot_fail: why no run could violate it at the constants used; "": a run could.
      cannot_be_judged: why the paper does not say enough to test it; "": it does.
      remark: for readers of a statement that does not hold: what its verdict depends on.

    Raises:
      InputError: for an id of another form, or ends that enclose nothing.
    """

    id: str
    says: str
    statistic: Callable[[Measurements], Estimate]
    place: str
    low: float = -math.inf
    high: float = math.inf
    test: str = ""
    where: str = ""
    kind: Kind = "statement"
    panels: tuple[str, ...] = ()
    labels: tuple[str, ...] = ()
    rival: str = ""
    unit: Unit = "seeds"
    least: int = 50
    presets: tuple[str, ...] = ()
    cannot_fail: str = ""
    cannot_be_judged: str = ""
    remark: str = ""

    def __post_init__(self) -> None:
        if not self.id or not _ID.issuperset(self.id):
            raise InputError(f"id of a claim must be made of a-z, 0-9, '-', '.' and '/', got {format_value(self.id)}")
        if not self.low < self.high:
            raise InputError(f"claim {self.id}: low must be below high, got {self.low:g} and {self.high:g}")

    @property
    def sentence(self) -> str:
        """Id of the sentence, within the experiment."""
        return self.id.partition("/")[0]

    @property
    def text(self) -> str:
        """The whole row in words."""
        return ": ".join(filter(None, (self.says, self.test))) + (f" ({self.where})" if self.where else "")

    @property
    def equivalence(self) -> bool:
        """True where both ends are margins."""
        return math.isfinite(self.low) and math.isfinite(self.high)

    @property
    def region(self) -> str:
        """The claimed region of the statistic, such as "< 0"."""
        if math.isinf(self.low):
            return f"< {self.high:g}"
        return f"> {self.low:g}" if math.isinf(self.high) else f"in ({self.low:g}, {self.high:g})"


def slug(words: str) -> str:
    """Return words in the form of a part of an id: "Hvt-UCB, bound only" is "hvt-ucb-bound-only"."""
    spelled = "".join(c if c in _ID - {"/"} else " " for c in words.lower())
    return "-".join(spelled.split()).strip("-.")
