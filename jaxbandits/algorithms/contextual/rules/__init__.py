"""Exploration rules for `contextual.Bandit`, one per file. A rule chooses an arm from the predictions of a model.

The module `rule` contains the abstract classes; a concrete subclass defines scores or weights.
"""

from typing import TYPE_CHECKING

from jaxbandits.base import lazy

if TYPE_CHECKING:
    from jaxbandits.algorithms.contextual.rules.elimination import Elimination as Elimination
    from jaxbandits.algorithms.contextual.rules.eps_greedy import EpsGreedy as EpsGreedy
    from jaxbandits.algorithms.contextual.rules.expected_improvement import ExpectedImprovement as ExpectedImprovement
    from jaxbandits.algorithms.contextual.rules.falcon import FALCON as FALCON
    from jaxbandits.algorithms.contextual.rules.gp_ts import GPTS as GPTS
    from jaxbandits.algorithms.contextual.rules.gp_ucb import GPUCB as GPUCB
    from jaxbandits.algorithms.contextual.rules.greedy import Greedy as Greedy
    from jaxbandits.algorithms.contextual.rules.ids import IDS as IDS
    from jaxbandits.algorithms.contextual.rules.igp_ucb import IGPUCB as IGPUCB
    from jaxbandits.algorithms.contextual.rules.knowledge_gradient import KnowledgeGradient as KnowledgeGradient
    from jaxbandits.algorithms.contextual.rules.softmax import Softmax as Softmax
    from jaxbandits.algorithms.contextual.rules.square_cb import SquareCB as SquareCB
    from jaxbandits.algorithms.contextual.rules.thompson import Thompson as Thompson
    from jaxbandits.algorithms.contextual.rules.ucb import UCB as UCB
    from jaxbandits.algorithms.contextual.rules.vids import VIDS as VIDS

lazy.attach(__name__)
