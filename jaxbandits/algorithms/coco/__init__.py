"""Algorithms for constrained online convex optimisation, one per file; a class is imported on first access."""

from typing import TYPE_CHECKING

from jaxbandits.base import lazy

if TYPE_CHECKING:
    from jaxbandits.algorithms.coco.bfw_tvc import BFWTVC as BFWTVC
    from jaxbandits.algorithms.coco.lbpm import LBPM as LBPM
    from jaxbandits.algorithms.coco.loo_bogd import LOOBOGD as LOOBOGD
    from jaxbandits.algorithms.coco.lpm import LPM as LPM
    from jaxbandits.algorithms.coco.ofw import OFW as OFW
    from jaxbandits.algorithms.coco.ofw_tvc import OFWTVC as OFWTVC
    from jaxbandits.algorithms.coco.opdp import OPDP as OPDP
    from jaxbandits.algorithms.coco.pf_ofw import PFOFW as PFOFW
    from jaxbandits.algorithms.coco.scbfw_tvc import SCBFWTVC as SCBFWTVC
    from jaxbandits.algorithms.coco.scofw import SCOFW as SCOFW
    from jaxbandits.algorithms.coco.scofw_tvc import SCOFWTVC as SCOFWTVC
    from jaxbandits.algorithms.coco.sinha_vaze import SinhaVaze as SinhaVaze
    from jaxbandits.algorithms.coco.strongly_convex_sinha_vaze import StronglyConvexSinhaVaze as StronglyConvexSinhaVaze

lazy.attach(__name__)
