"""Algorithms for online convex optimisation, one per file; a class is imported on first access."""

from typing import TYPE_CHECKING

from jaxbandits.base import lazy

if TYPE_CHECKING:
    from jaxbandits.algorithms.oco.adagrad_norm import AdaGradNorm as AdaGradNorm
    from jaxbandits.algorithms.oco.anytime_ca_oons import AnytimeCAOONS as AnytimeCAOONS
    from jaxbandits.algorithms.oco.ca_oons import CAOONS as CAOONS
    from jaxbandits.algorithms.oco.cla_oons import CLAOONS as CLAOONS
    from jaxbandits.algorithms.oco.clipped_parameter_free_md import ClippedParameterFreeMD as ClippedParameterFreeMD
    from jaxbandits.algorithms.oco.dog import DoG as DoG
    from jaxbandits.algorithms.oco.dowg import DoWG as DoWG
    from jaxbandits.algorithms.oco.kt_betting import KTBetting as KTBetting
    from jaxbandits.algorithms.oco.msmwc import MsMwC as MsMwC
    from jaxbandits.algorithms.oco.msmwc_master import MsMwCMaster as MsMwCMaster
    from jaxbandits.algorithms.oco.ogd import OGD as OGD
    from jaxbandits.algorithms.oco.oons import OONS as OONS
    from jaxbandits.algorithms.oco.optax_learner import OptaxLearner as OptaxLearner
    from jaxbandits.algorithms.oco.optimistic_ftrl_2022 import OptimisticFTRL2022 as OptimisticFTRL2022
    from jaxbandits.algorithms.oco.optimistic_ftrl_2023 import OptimisticFTRL2023 as OptimisticFTRL2023
    from jaxbandits.algorithms.oco.optimistic_omd import OptimisticOMD as OptimisticOMD
    from jaxbandits.algorithms.oco.parameter_free_md import ParameterFreeMD as ParameterFreeMD
    from jaxbandits.algorithms.oco.scale_free_ftrl import ScaleFreeFTRL as ScaleFreeFTRL

lazy.attach(__name__)
