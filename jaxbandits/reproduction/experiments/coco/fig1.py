"""Figure 1: online matrix completion with full information, on MovieLens-100k or a stand-in."""

import functools

from jaxbandits.base.pytree import FieldValue
from jaxbandits.reproduction.experiments.coco import setting
from jaxbandits.reproduction.sentences import COMPARABLE, MUCH, Claim, claims, mean, observations

_RIVALS = ("OPDP", "LPM")
_METRICS = ("loss", "violation")
_JUDGED = {"remark": setting.UNKNOWN, "least": 32}  # the paper has ten repetitions, too few to decide about means
_REBUILT = "OPDP and LPM had to be rebuilt from the abstracts of their papers"


def _statements(prefix: str = "", rebuilt: str = _REBUILT, **fields: FieldValue) -> tuple[Claim, ...]:
    """Make the claims of the text about the figure; `rebuilt` is the reason why OPDP and LPM are not judged."""
    at = {"place": "Figure 1", **_JUDGED, **fields}
    lowest = {"says": "SCOFW-TVC ends below {rival}", **at}
    return (
        *(
            row
            for metric in _METRICS
            for row in claims(f"{prefix}outperforms/{metric}",
                              mean("OFW-TVC", of=metric) < 1.0 / MUCH * mean(*_RIVALS, of=metric),
                              says="OFW-TVC outperforms {rival} significantly", cannot_be_judged=rebuilt, **at)
        ),
        *claims(f"{prefix}lowest-loss", mean("SCOFW-TVC", of="loss") < mean("OFW-TVC", of="loss"), **lowest),
        *claims(f"{prefix}lowest-loss", mean("SCOFW-TVC", of="loss") < mean(*_RIVALS, of="loss"),
                cannot_be_judged=rebuilt, **lowest),
        *claims(f"{prefix}slight-compromise",
                mean("SCOFW-TVC", of="violation") / mean("OFW-TVC", of="violation") < COMPARABLE,
                says="SCOFW-TVC compromises slightly on violation", **at),
    )


FIG1 = setting.FIGURES.experiment(
    "fig1",
    "Figure 1",
    title="online matrix completion, full information, stand-in for MovieLens (20 x 26)",
    shows="Figure 1 shows the cumulative cost loss and, in a second panel, the cumulative constraint violation (CCV) "
    "of OFW-TVC, SCOFW-TVC, OPDP and LPM in online matrix completion with full information on MovieLens-100k. The "
    "paper states the trace-norm ball of radius 10^4, squared errors, constraints Tr(P X) with P uniform on [-1, 1], "
    "hyper-parameters from 10^-5 to 10^5, and means and standard deviations of 10 repetitions.",
    horizon=1500,
    seeds=32,
    algorithms=functools.partial(setting.learners, "fig1", False),
    panels=lambda horizon: setting.panels(setting.stand_in),
    from_file=setting.from_file(
        "fig1",
        "online matrix completion, full information, densest part of MovieLens-100k (256 x 256)",
        setting.on_movielens,
    ),
    stand_ins=dict.fromkeys(setting.TITLES, "MovieLens-100k"),
    claims=(
        *_statements(on=("figure", "vertex")),
        *_statements("budget-", "", on="budget", kind="observation"),
        *(
            row
            for metric in _METRICS
            for row in observations(f"ends-below/{metric}", mean("OFW-TVC", of=metric) < mean(*_RIVALS, of=metric),
                                    on=setting.TITLES.keys(), says="OFW-TVC ends below {rival}",
                                    place="weaker than Figure 1", **_JUDGED)
        ),
        *observations("pays-in-violation", mean("OFW-TVC", of="violation") < mean("SCOFW-TVC", of="violation"),
                      on=setting.TITLES.keys(), says="SCOFW-TVC has less loss and more violation", place="Figure 1",
                      **_JUDGED),
        *observations(
            "cannot-be-learned",
            mean(*setting.FULL, of="violation_share").between(0.207, 0.253),
            on="figure",
            says="the constraints of the figure cannot be learned: the violation is "
            "0.23 ||X_t|| per round, within 10 %",
            place="E max(<P, X>, 0) = ||X|| / sqrt(6 pi)",
            least=32,
        ),
    ),
    notes=(
        "The paper has ten repetitions; these runs have 32 orders of the data, because means over fewer decide "
        "nothing. "
        "On real data (`--data u.data`) the matrix is the part of MovieLens-100k with the 256 most active users "
        "and the 256 most rated films, 31,053 ratings, each played once, 32 per round, in 970 rounds. With all "
        "943 x 1,682 entries a round takes 18 to 33 ms of CPU time, and tuning and evaluation over the same "
        "number of rounds would take about six core-hours.",
        "LPM and OPDP are reconstructions. The multiplier of LPM is the queue of drift-plus-penalty, which adds "
        "up all violation; with the damping of the drift argument (preset theory) it has no effect. LPM calls the "
        "oracle at the end of a block, at most a hundred times, and not in every round: the figures against oracle "
        "calls show this.",
    ),
)
