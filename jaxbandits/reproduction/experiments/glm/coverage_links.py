"""Coverage of theta* by the confidence sets for Gaussian and Poisson rewards."""

import dataclasses

from jaxbandits.glm import GeneralizedLinear, links
from jaxbandits.reproduction.engine import Panel
from jaxbandits.reproduction.experiments.glm.coverage import COVERAGE, GENERAL, coverage_claims

COVERAGE_LINKS = dataclasses.replace(
    COVERAGE,
    name="glm/coverage-links",
    title="estimation error divided by the confidence radius, other links",
    panels=lambda horizon: {
        "gaussian": Panel("Gaussian, S = 2", GeneralizedLinear.fixed(link=links.Gaussian(), norm_bound=2.0)),
        "poisson": Panel("Poisson, S = 1", GeneralizedLinear.fixed(link=links.Poisson(), norm_bound=1.0)),
    },
    claims=coverage_claims({"gaussian": (*GENERAL, "GLOC"), "poisson": GENERAL}),
    notes=COVERAGE.notes[:3],
    interpretations={},
)
