"""Algorithms for generalised linear bandits, one per file; a class is imported on first access."""

from typing import TYPE_CHECKING

from jaxbandits.base import lazy

if TYPE_CHECKING:
    from jaxbandits.algorithms.glm.ada_ofu_ecolog import AdaOFUECOLog as AdaOFUECOLog
    from jaxbandits.algorithms.glm.ecolog import ECOLog as ECOLog
    from jaxbandits.algorithms.glm.glb_omd import GLBOMD as GLBOMD
    from jaxbandits.algorithms.glm.glm_ts import GLMTS as GLMTS
    from jaxbandits.algorithms.glm.glm_ucb import GLMUCB as GLMUCB
    from jaxbandits.algorithms.glm.gloc import GLOC as GLOC
    from jaxbandits.algorithms.glm.ofuglb import OFUGLB as OFUGLB
    from jaxbandits.algorithms.glm.oful_mlogb import OFULMLogB as OFULMLogB
    from jaxbandits.algorithms.glm.ofulog_r import OFULogR as OFULogR
    from jaxbandits.algorithms.glm.rs_glincb import RSGLinCB as RSGLinCB

lazy.attach(__name__)
