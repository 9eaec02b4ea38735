"""Multipliers of the constants in the `practical` presets, keyed by learner or "panel/learner". Generated; do not edit.

`jaxbandits tune dro --write` compares the points of a grid and writes this file (docs/verdicts.md).
"""

MULTIPLIERS: dict[str, dict[str, float]] = {
    "anytime_atkro_1": {"w_scale": 30.0, "q_scale": 1.0},
    "anytime_atkro_m": {"w_scale": 1.0, "q_scale": 1.0},
    "anytime_online": {"w_scale": 10.0, "q_scale": 0.1},
    "anytime_smd": {"w_scale": 3.0, "q_scale": 1.0},
    "atkro_k": {"w_scale": 3.0, "q_scale": 1.0},
    "atkro_m": {"w_scale": 1.0, "q_scale": 1.0},
    "haghtalab": {"w_scale": 3.0, "q_scale": 1.0},
    "online": {"w_scale": 3.0, "q_scale": 1.0},
    "sagawa_smd": {"w_scale": 30.0, "q_scale": 1.0},
    "smd": {"w_scale": 10.0, "q_scale": 1.0},
    "smd_r": {"w_scale": 10.0, "q_scale": 1.0},
    "smpa": {"w_scale": 30.0, "q_scale": 1.0},
    "soma": {"w_scale": 3.0, "q_scale": 1.0},
}
EVIDENCE: dict[str, str] = {
    "anytime_atkro_1": "mean top k risk 0.6179: 36 points, 32 seeds, 2,000 rounds",
    "anytime_atkro_m": "mean top k risk 0.5964: 36 points, 32 seeds, 2,000 rounds",
    "anytime_online": "mean max risk 0.5478 (edge): 36 points, 32 seeds, 2,000 rounds",
    "anytime_smd": "mean max risk 0.5051: 36 points, 32 seeds, 2,000 rounds",
    "atkro_k": "mean top k risk 0.5987: 36 points, 32 seeds, 2,000 rounds",
    "atkro_m": "mean top k risk 0.5948: 36 points, 32 seeds, 2,000 rounds",
    "haghtalab": "mean max risk 0.5349: 36 points, 32 seeds, 2,000 rounds",
    "online": "mean max risk 0.5359: 36 points, 32 seeds, 2,000 rounds",
    "sagawa_smd": "mean max risk 0.5396: 36 points, 32 seeds, 2,000 rounds",
    "smd": "mean max risk 0.5018: 36 points, 32 seeds, 2,000 rounds",
    "smd_r": "mean mean risk 0.4972: 36 points, 32 seeds, 2,000 rounds",
    "smpa": "mean mean risk 0.4933: 36 points, 32 seeds, 400 rounds",
    "soma": "mean max risk 0.5385: 36 points, 32 seeds, 2,000 rounds",
}
