"""Claims: the rows of a paper's sentences, each with a statistic, its claimed region, and a wording."""

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
REPEATS = 3  # smallest number of timings for a decision
_ID = frozenset("abcdefghijklmnopqrstuvwxyz0123456789-./")


class Measurements(NamedTuple):
    """Measurements of an experiment: results and timings."""

    results: Mapping[str, Result]  # results by panel
    times: Mapping[tuple[str, int], RoundTimes]  # times by panel and trials per batch; empty if not timed


@dataclasses.dataclass(frozen=True)
class Claim:
    """Statistical test of one row (one rival in one panel) of a paper's sentence.

    A claim with two finite ends is a claim of equivalence ("comparable", "close"). It is tested by two one-sided tests
    with the margins `low` and `high`, each at 2.5 %. Equivalently, the 95 % interval has to lie inside the margins.

    Files and tables identify a claim by its `id` alone, so its wording may change at any time.

    Attributes:
      id: stable name, unique within its experiment, of the form "sentence/rival/panel", made of lower-case letters,
        digits, "-", "." and "/".
      says: the sentence, paraphrased.
      statistic: function from measurements to a scalar estimate with its confidence interval.
      place: place of the sentence in the paper, or the subject of one of our own observations.
      low: lower end of the claimed region `(low, high)` of the statistic.
      high: upper end of the claimed region.
      test: description of the statistic and its region; "" if `says` contains them.
      where: description of the panel; "" for no description.
      kind: kind of sentence, a key of `KINDS`; verdicts of different kinds are worded differently and counted
        separately.
      panels: names of the panels that the statistic uses; () to infer them from the results that it reads.
      labels: labels of the learners that the claim is about.
      rival: label of the rival in this row; "" for none.
      unit: what is counted: seeds, or repeats of timings.
      least: number of seeds or repeats that a decision needs.
      presets: presets that the sentence is about; () if it is about all presets.
      cannot_fail: reason why no run with these constants could violate the claim; "" if a run could.
      cannot_be_judged: reason why the paper does not say enough for a test; "" if it says enough.
      remark: conditions on which the verdict depends, shown if the statement does not hold.

    Raises:
      InputError: for an invalid id, or an empty region.
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
        """Id of the sentence within the experiment."""
        return self.id.partition("/")[0]

    @property
    def text(self) -> str:
        """Description of the row as text: the sentence, the test and the panel."""
        return ": ".join(filter(None, (self.says, self.test))) + (f" ({self.where})" if self.where else "")

    @property
    def equivalence(self) -> bool:
        """True for a claim of equivalence, whose region has two finite ends."""
        return math.isfinite(self.low) and math.isfinite(self.high)

    @property
    def region(self) -> str:
        """Claimed region of the statistic as text, such as "< 0"."""
        if math.isinf(self.low):
            return f"< {self.high:g}"
        return f"> {self.low:g}" if math.isinf(self.high) else f"in ({self.low:g}, {self.high:g})"


def quote_label(label: str) -> str:
    """Return a label for use in a sentence, in quotation marks if it could be mistaken for words of the sentence."""
    has_words = " " in label and (label[0].islower() or " as " in label)
    is_word = len(label) > 1 and label.isalpha() and label.islower()
    return f"'{label}'" if "," in label or has_words or is_word else label


def slug(words: str) -> str:
    """Convert words to the form of one part of an id: "Hvt-UCB, bound only" becomes "hvt-ucb-bound-only"."""
    spelled = "".join(c if c in _ID - {"/"} else " " for c in words.lower())
    return "-".join(spelled.split()).strip("-.")
