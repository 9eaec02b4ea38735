"""Multipliers of the constants in the `tuned` presets, keyed by learner or "panel/learner". Generated; do not edit.

`jaxbandits tune oco --write` compares the points of a grid and writes this file (docs/verdicts.md).
"""

MULTIPLIERS: dict[str, dict[str, float]] = {
    "ca_oons": {"c_eta": 0.03, "c_A": 0.03, "c_corr": 0.03, "c_meta": 0.003},
    "cla_oons": {"c_eta": 0.01, "c_A": 0.1, "c_corr": 0.01},
    "oons": {"c_eta": 0.03, "c_A": 1.0, "c_corr": 0.003},
}
EVIDENCE: dict[str, str] = {
    "ca_oons": "mean regret 24.24 (edge): 1296 points, 16 seeds, 2,048 rounds",
    "cla_oons": "mean regret 56.07: 216 points, 64 seeds, 2,048 rounds",
    "oons": "mean regret 59.73 (edge): 216 points, 64 seeds, 8,192 rounds",
}
