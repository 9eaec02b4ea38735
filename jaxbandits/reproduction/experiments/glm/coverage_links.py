"""Coverage with other links than the logistic one."""

import dataclasses

from jaxbandits.environments.glm.generalized_linear import GeneralizedLinear
from jaxbandits.estimation.links import Gaussian, Poisson
from jaxbandits.reproduction.engine.experiment import Panel
from jaxbandits.reproduction.experiments.glm.coverage import COVERAGE, GENERAL, coverage_claims

COVERAGE_LINKS = dataclasses.replace(
    COVERAGE,
    name="glm/coverage-links",
    title="estimation error over the confidence radius, other links",
    panels=lambda horizon: {
        "gaussian": Panel("Gaussian, S = 2", GeneralizedLinear.fixed(link=Gaussian(), norm_bound=2.0)),
        "poisson": Panel("Poisson, S = 1", GeneralizedLinear.fixed(link=Poisson(), norm_bound=1.0)),
    },
    claims=(*coverage_claims("gaussian", (*GENERAL, "GLOC")), *coverage_claims("poisson", GENERAL)),
    notes=COVERAGE.notes[1:],
    interpretations={},
)
