"""Sets beside those of the references, and learners with full information beside the loops of their papers."""

import numpy as np

from jaxbandits.algorithms.coco.ofw import OFW
from jaxbandits.algorithms.coco.ofw_tvc import OFWTVC
from jaxbandits.algorithms.coco.pf_ofw import PFOFW
from jaxbandits.algorithms.coco.scofw import SCOFW
from jaxbandits.algorithms.coco.scofw_tvc import SCOFWTVC
from jaxbandits.algorithms.coco.sinha_vaze import SinhaVaze
from jaxbandits.algorithms.coco.strongly_convex_sinha_vaze import StronglyConvexSinhaVaze
from jaxbandits.domains import Box, CappedSimplex, L1Ball, L2Ball, NuclearBall, Polytope, Simplex
from tests.reference import convex_sets, online_frank_wolfe, scofw_tvc, sinha_vaze
from tests.reference import ofw_tvc as ofw_tvc_reference

CORNERS = np.random.default_rng(0).normal(size=(9, 4))
DIM, ROUNDS = 4, 150
SETS = {
    "ball": (L2Ball(radius=1.7), convex_sets.L2Ball(1.7)),
    "l1": (L1Ball(radius=1.7), convex_sets.L1Ball(DIM, 1.7)),
    "box": (Box(dim=DIM, low=-1.7, high=1.7), convex_sets.Box(DIM, 1.7)),
    "simplex": (Simplex(total=1.7), convex_sets.Simplex(DIM, 1.7)),
    "capped": (CappedSimplex(dim=DIM, total=2.2, cap=0.8), convex_sets.CappedSimplex(DIM, 2.2, 0.8)),
    "polytope": (Polytope(vertices=CORNERS), convex_sets.Polytope(CORNERS)),
    "nuclear": (NuclearBall(radius=1.7), convex_sets.TraceNormBall((5, 7), 1.7)),
}
LARGE = (NuclearBall(radius=1.7), convex_sets.TraceNormBall((20, 26), 1.7))


def shape_of(name):
    return (5, 7) if name == "nuclear" else (DIM,)


def start_of(theirs, shape, rng):
    """A random point of the set, off its vertices."""
    return sum(theirs.lmo(rng.normal(size=shape)) for _ in range(3)) / 3.0


def numbers(rng):
    """Constants with which weights move and several epochs start."""
    return {"beta": 0.4 * np.exp(0.3 * rng.normal()), "gamma": np.exp(0.3 * rng.normal()), "lam": 0.3}


def make_pair(name, domain, theirs, shape, x1, rng):
    """Ours and the loop of the paper with the same constants."""
    dim = shape if len(shape) > 1 else shape[0]
    common = {"dim": dim, "domain": domain, "start": x1}
    n, T, G, alpha = numbers(rng), float(ROUNDS), 1.3, 0.4
    two = {key: n[key] for key in ("beta", "gamma")}
    if name == "ofw_tvc":
        loop = ofw_tvc_reference.OFWTVC(x1, theirs.lmo, theirs.diameter, T, G, **n, g_init=n["beta"] * n["gamma"] * G)
        return OFWTVC(**common, horizon=T, lipschitz=G, **n), loop
    if name == "scofw_tvc":
        return SCOFWTVC(**common, horizon=T, curvature=alpha, **two), scofw_tvc.SCOFWTVC(theirs, x1, alpha, **two)
    if name == "ofw":
        return OFW(**common, horizon=T, lipschitz=G), online_frank_wolfe.OFW(theirs, x1, T, G)
    if name == "pf_ofw":
        return PFOFW(**common, horizon=T, g_init=0.01), online_frank_wolfe.PFOFW(theirs, x1, T, 0.01)
    if name == "scofw":
        return SCOFW(**common, curvature=alpha), scofw_tvc.SCOFW(theirs, x1, alpha / 2.0)
    if name == "sinha_vaze":
        loop = sinha_vaze.SinhaVaze(theirs, x1, n["beta"], n["lam"])
        return SinhaVaze(**common, horizon=T, beta=n["beta"], lam=n["lam"]), loop
    assert name == "strongly_convex_sinha_vaze"
    loop = sinha_vaze.StronglyConvexSinhaVaze(theirs, x1, T, G, alpha)
    return StronglyConvexSinhaVaze(**common, horizon=T, curvature=alpha, lipschitz=G), loop
