"""Contextual bandits, and bandits with nonlinear rewards, one per file; each is imported on first access."""

from typing import TYPE_CHECKING

from jaxbandits.base import lazy

if TYPE_CHECKING:
    from jaxbandits.environments.contextual.gaussian_process_arms import GaussianProcessArms as GaussianProcessArms
    from jaxbandits.environments.contextual.linear_contexts import LinearContexts as LinearContexts
    from jaxbandits.environments.contextual.nonlinear_arms import NonlinearArms as NonlinearArms
    from jaxbandits.environments.contextual.wheel import Wheel as Wheel

lazy.attach(__name__)
