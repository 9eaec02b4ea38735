"""Multipliers of the constants in the `practical` presets, keyed by learner or "panel/learner". Generated; do not edit.

`jaxbandits tune linear --write` compares the points of a grid and writes this file (docs/verdicts.md).
"""

MULTIPLIERS: dict[str, dict[str, float]] = {
    "crmm": {"beta_scale": 0.03455},
    "crtm": {"beta_scale": 0.003, "threshold_scale": 0.1},
    "heavy_oful": {"beta_scale": 0.001, "tau_scale": 0.1},
    "hvt_ucb": {"beta_scale": 0.0003, "tau_scale": 0.03},
    "menu": {"beta_scale": 0.03455},
    "oful": {"beta_scale": 0.4125},
    "tofu": {"beta_scale": 0.03, "threshold_scale": 1.0},
}
EVIDENCE: dict[str, str] = {
    "crmm": "mean regret 135.5: 66 points, 64 seeds, 18,000 rounds",
    "crtm": "mean regret 179.3: 66 points, 64 seeds, 18,000 rounds",
    "heavy_oful": "mean regret 66.05: 66 points, 16 seeds, 3,000 rounds",
    "hvt_ucb": "mean regret 173.4: 66 points, 64 seeds, 18,000 rounds",
    "menu": "mean regret 427.3: 66 points, 64 seeds, 18,000 rounds",
    "oful": "mean regret 288.4: 66 points, 64 seeds, 18,000 rounds",
    "tofu": "mean regret 75.5 (edge): 66 points, 16 seeds, 3,000 rounds",
}
