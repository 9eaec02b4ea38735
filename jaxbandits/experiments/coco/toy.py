"""What the numerical study on small synthetic problems shares: its source, and what learners are told."""

from typing import Any

from jaxbandits.results import curves

PAPER = "Wang, Wan & Zhang, AAAI 2025"
OURS = "Instances, sizes and thresholds are ours: the paper's experiments are its Figures 1 and 2."


def told(environment: Any, horizon: int) -> dict[str, Any]:
    """Shape, horizon, domain, G, and the factor that gives the constraints the Lipschitz constant of the losses."""
    bound, steep = float(environment.lipschitz), float(environment.slope * (1.0 + environment.slope_noise))
    return {
        "dim": environment.dim,
        "horizon": horizon,
        "domain": environment.domain,
        "lipschitz": bound,
        "constraint_scale": bound / steep,
    }


def look_of(i: int) -> dict[str, Any]:
    """Colour, line and marker of the i-th label, as in the curves."""
    return {"color": curves.COLOURS[i % 8], "linestyle": curves.STYLES[i % 8], "marker": curves.MARKERS[i % 8]}
