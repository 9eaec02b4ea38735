"""Certificates of the constrained family through a run."""

import numpy as np
import pytest

from jaxbandits.base.errors import InputError
from jaxbandits.coco import LOOBOGD, OFW, OFWTVC, SCOFWTVC, LinearConstraints, SinhaVaze
from jaxbandits.diagnostics import coco as meters
from jaxbandits.domains import L1Ball
from jaxbandits.engine.meters import Meter
from jaxbandits.simulation import compare

ENVIRONMENT = LinearConstraints(dim=2, domain=L1Ball())


def run(algorithm, *wanted):
    return compare(
        {"learner": algorithm}, ENVIRONMENT, 60, 3, record_points=4, progress=False, width=32,
        meters=[Meter(name, meters.diagnostic(name), reduce) for name, reduce in wanted],
    )["learner"].values  # fmt: skip


@pytest.mark.slow
def test_certificates_of_a_run():
    learner = SCOFWTVC.theory(dim=2, horizon=60, curvature=0.5, lipschitz=2.0, domain=L1Ball())
    values = run(learner, ("gap", "last"), ("oracle_calls", "sum"), ("weight", "max"))
    np.testing.assert_array_equal(values["oracle_calls"][..., -1], 60.0)  # one a round
    assert values["gap"].min() >= -1e-12 and values["gap"].max() > 0.1  # 0 at a vertex that is the minimum
    gamma = 2.0 / (2.0 + 0.5 * 2.0)
    beta = gamma * 0.5 / (500.0 * 2.0**2 * 60.0 ** (2.0 / 3.0))
    np.testing.assert_allclose(values["weight"], (2.0 * beta * values["violation"] + 1.0) / gamma, rtol=1e-12)


def test_a_learner_that_does_not_say_is_named():
    with pytest.raises(InputError, match="SinhaVaze has no diagnostic 'gap'; it has: weight, clamped"):
        run(SinhaVaze(dim=2, horizon=60), ("gap", "last"))
    assert "gap" in OFWTVC(dim=2, horizon=60).diagnostics(OFWTVC(dim=2, horizon=60).init(None))


@pytest.mark.parametrize("learner", [LOOBOGD, OFW])
@pytest.mark.parametrize("measure", [meters.lemma_4, meters.gap_excess])
def test_certificates_of_single_steps_refuse_other_learners(learner, measure):
    with pytest.raises(InputError, match=f"{learner.__name__} takes no Frank-Wolfe step"):
        compare(
            [learner(dim=2, horizon=60, domain=L1Ball())],
            ENVIRONMENT,
            60,
            1,
            record_points=1,
            progress=False,
            meters=[Meter("certificate", measure, "max")],
        )


def test_earlier_names_warn():
    with pytest.warns(DeprecationWarning, match="diagnosed has been renamed: use diagnostic"):
        assert callable(meters.diagnosed("gap"))
