"""jaxbandits: a vectorised simulator of bandit and online-learning algorithms.

Algorithms and environments are in the namespaces of their families: `jaxbandits.armed`, `.explore`, `.contextual`,
`.combinatorial`, `.duels`, `.teams`, `.linear`, `.glm`, `.oco`, `.coco` and `.dro`. Convex sets are in
`jaxbandits.domains`. The top level has the functions that run algorithms on environments, the building blocks for your
own algorithms and environments, and the classes that the README uses. Names are imported on first access, so that
`jaxbandits --help` does not import JAX.
"""

import os
from typing import TYPE_CHECKING

from jaxbandits.base import lazy
from jaxbandits.base.version import __version__ as __version__

if TYPE_CHECKING:
    from jaxbandits import armed as armed
    from jaxbandits import coco as coco
    from jaxbandits import combinatorial as combinatorial
    from jaxbandits import contextual as contextual
    from jaxbandits import data as data
    from jaxbandits import domains as domains
    from jaxbandits import dro as dro
    from jaxbandits import duels as duels
    from jaxbandits import explore as explore
    from jaxbandits import glm as glm
    from jaxbandits import linear as linear
    from jaxbandits import oco as oco
    from jaxbandits import operators as operators
    from jaxbandits import teams as teams
    from jaxbandits.algorithms import register_algorithm as register_algorithm
    from jaxbandits.algorithms.linear.hvt_ucb import HvtUCB as HvtUCB
    from jaxbandits.algorithms.linear.oful import OFUL as OFUL
    from jaxbandits.analysis.trials import Trials as Trials
    from jaxbandits.base.errors import InputError as InputError
    from jaxbandits.base.pytree import param as param
    from jaxbandits.base.pytree import pytree as pytree
    from jaxbandits.base.pytree import shared as shared
    from jaxbandits.base.pytree import static as static
    from jaxbandits.catalogue import Entry as Entry
    from jaxbandits.catalogue import from_spec as from_spec
    from jaxbandits.catalogue import register_part as register_part
    from jaxbandits.catalogue import to_spec as to_spec
    from jaxbandits.environments import register_environment as register_environment
    from jaxbandits.environments.linear import noise as noise
    from jaxbandits.environments.linear.fresh_arms import FreshArms as FreshArms
    from jaxbandits.environments.linear.heavy_tailed import HeavyTailed as HeavyTailed
    from jaxbandits.estimation import detectors as detectors
    from jaxbandits.estimation import links as links
    from jaxbandits.estimation import oracles as oracles
    from jaxbandits.estimation.arms import best_arm as best_arm
    from jaxbandits.numerics import inverse_factors as inverse_factors
    from jaxbandits.numerics import rng as rng
    from jaxbandits.results.merge import merge as merge
    from jaxbandits.results.result import Result as Result
    from jaxbandits.simulation import Grid as Grid
    from jaxbandits.simulation import Meter as Meter
    from jaxbandits.simulation import Options as Options
    from jaxbandits.simulation import Race as Race
    from jaxbandits.simulation import Round as Round
    from jaxbandits.simulation import StoppingRule as StoppingRule
    from jaxbandits.simulation import compare as compare
    from jaxbandits.simulation import each as each
    from jaxbandits.simulation import play as play
    from jaxbandits.simulation import product as product
    from jaxbandits.simulation import race as race
    from jaxbandits.simulation import simulate as simulate
    from jaxbandits.simulation import step_through as step_through
    from jaxbandits.simulation import sweep as sweep
    from jaxbandits.simulation import time_rounds as time_rounds
    from jaxbandits.simulation import zip_fields as zip_fields
    from jaxbandits.sweeps.load import SweepResult as SweepResult
    from jaxbandits.sweeps.load import load_sweep as load_sweep
    from jaxbandits.sweeps.run import run_sweep as run_sweep
    from jaxbandits.sweeps.sweep import Sweep as Sweep
    from jaxbandits.testing import check_algorithm as check_algorithm
    from jaxbandits.testing import check_environment as check_environment
    from jaxbandits.tracing.vmap_last import explain as explain
    from jaxbandits.tracing.vmap_last import vmap_last as vmap_last
    from jaxbandits.types import AdviceObs as AdviceObs
    from jaxbandits.types import ArmDecision as ArmDecision
    from jaxbandits.types import ArmObs as ArmObs
    from jaxbandits.types import Constrained as Constrained
    from jaxbandits.types import ConstrainedValue as ConstrainedValue
    from jaxbandits.types import ContextObs as ContextObs
    from jaxbandits.types import FixedArmObs as FixedArmObs
    from jaxbandits.types import FullInformation as FullInformation
    from jaxbandits.types import Gradient as Gradient
    from jaxbandits.types import GroupDecision as GroupDecision
    from jaxbandits.types import IndexObs as IndexObs
    from jaxbandits.types import ItemObs as ItemObs
    from jaxbandits.types import ItemRewards as ItemRewards
    from jaxbandits.types import PairDecision as PairDecision
    from jaxbandits.types import PlayerRewards as PlayerRewards
    from jaxbandits.types import PointDecision as PointDecision
    from jaxbandits.types import Preference as Preference
    from jaxbandits.types import Reward as Reward
    from jaxbandits.types import ScaledReward as ScaledReward
    from jaxbandits.types import SetDecision as SetDecision
    from jaxbandits.types import TeamDecision as TeamDecision

# Silences XLA's messages about slow compilation, unless the user asks for them; errors are raised anyway. XLA reads the
# variable when JAX is imported: after that it has no effect.
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

lazy.attach(__name__, "__version__")
