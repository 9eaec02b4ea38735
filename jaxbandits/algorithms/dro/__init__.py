"""Algorithms for group distributionally robust optimisation, one per file; a class is imported on first access."""

from typing import TYPE_CHECKING

from jaxbandits.base import lazy

if TYPE_CHECKING:
    from jaxbandits.algorithms.dro.anytime_atkro_1 import AnytimeATkRO1 as AnytimeATkRO1
    from jaxbandits.algorithms.dro.anytime_atkro_m import AnytimeATkROm as AnytimeATkROm
    from jaxbandits.algorithms.dro.anytime_online import AnytimeOnline as AnytimeOnline
    from jaxbandits.algorithms.dro.anytime_smd import AnytimeSMD as AnytimeSMD
    from jaxbandits.algorithms.dro.atkro_k import ATkROk as ATkROk
    from jaxbandits.algorithms.dro.atkro_m import ATkROm as ATkROm
    from jaxbandits.algorithms.dro.haghtalab import Haghtalab as Haghtalab
    from jaxbandits.algorithms.dro.online import Online as Online
    from jaxbandits.algorithms.dro.sagawa_smd import SagawaSMD as SagawaSMD
    from jaxbandits.algorithms.dro.smd import SMD as SMD
    from jaxbandits.algorithms.dro.smd_r import SMDr as SMDr
    from jaxbandits.algorithms.dro.smpa import SMPA as SMPA
    from jaxbandits.algorithms.dro.soma import Soma as Soma

lazy.attach(__name__)
