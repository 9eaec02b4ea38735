"""Tuned multipliers of the constants in the presets `practical`, by name of the learner; generated, not edited.

`python tools/multipliers.py linear` tunes all of them alike, by
benchmarks/sweeps/linear_tuning.toml and benchmarks/sweeps/linear_tuning_slow.toml (docs/verdicts.md).
"""

MULTIPLIERS: dict[str, dict[str, float]] = {
    # mean regret 135.5: 66 points, 64 seeds, 18,000 rounds
    "crmm": {"beta_scale": 0.03455},
    # mean regret 179.3: 66 points, 64 seeds, 18,000 rounds
    "crtm": {"beta_scale": 0.003, "threshold_scale": 0.1},
    # mean regret 66.05: 66 points, 16 seeds, 3,000 rounds
    "heavy_oful": {"beta_scale": 0.001, "tau_scale": 0.1},
    # mean regret 173.4: 66 points, 64 seeds, 18,000 rounds
    "hvt_ucb": {"beta_scale": 0.0003, "tau_scale": 0.03},
    # mean regret 427.3: 66 points, 64 seeds, 18,000 rounds
    "menu": {"beta_scale": 0.03455},
    # mean regret 288.4: 66 points, 64 seeds, 18,000 rounds
    "oful": {"beta_scale": 0.4125},
    # mean regret 75.5 (edge): 66 points, 16 seeds, 3,000 rounds
    "tofu": {"beta_scale": 0.03, "threshold_scale": 1.0},
}
