"""Generalised linear bandits: algorithms, environments, links and data, under one name."""

from jaxbandits.algorithms.glm.ada_ofu_ecolog import AdaOFUECOLog
from jaxbandits.algorithms.glm.ecolog import ECOLog
from jaxbandits.algorithms.glm.glb_omd import GLBOMD
from jaxbandits.algorithms.glm.glm_ucb import GLMUCB
from jaxbandits.algorithms.glm.gloc import GLOC
from jaxbandits.algorithms.glm.ofuglb import OFUGLB
from jaxbandits.algorithms.glm.oful_mlogb import OFULMLogB
from jaxbandits.algorithms.glm.ofulog_r import OFULogR
from jaxbandits.algorithms.glm.rs_glincb import RSGLinCB
from jaxbandits.environments.datasets.covertype import load_covertype
from jaxbandits.environments.glm.covertype import Covertype
from jaxbandits.environments.glm.generalized_linear import GeneralizedLinear
from jaxbandits.estimation import links

__all__ = [
    "GLBOMD",
    "GLMUCB",
    "GLOC",
    "OFUGLB",
    "AdaOFUECOLog",
    "Covertype",
    "ECOLog",
    "GeneralizedLinear",
    "OFULMLogB",
    "OFULogR",
    "RSGLinCB",
    "links",
    "load_covertype",
]
