"""Tuned multipliers of the constants in the presets `practical`, by name of the learner; generated, not edited.

`python tools/multipliers.py glm` tunes all of them alike, by
benchmarks/sweeps/glm_tuning.toml and benchmarks/sweeps/glm_tuning_slow.toml (docs/verdicts.md).
"""

MULTIPLIERS: dict[str, dict[str, float]] = {
    # mean regret 7.039 (edge): 36 points, 16 seeds, 1,000 rounds
    "ada_ofu_ecolog": {"beta_scale": 0.3, "warmup_scale": 1.0},
    # mean regret 9.617: 36 points, 64 seeds, 3,000 rounds
    "ecolog": {"beta_scale": 0.2062},
    # mean regret 9.174: 36 points, 64 seeds, 3,000 rounds
    "glb_omd": {"beta_scale": 0.09363},
    # mean regret 8.679: 36 points, 64 seeds, 3,000 rounds
    "glb_omd_data": {"beta_scale": 0.2062},
    # mean regret 9.221 (edge): 36 points, 16 seeds, 1,000 rounds
    "glm_ucb": {"rho_scale": 0.0001},
    # mean regret 17.08: 36 points, 64 seeds, 3,000 rounds
    "gloc": {"beta_scale": 0.02512},
    # mean regret 3.319: 36 points, 16 seeds, 1,000 rounds
    "ofuglb": {"beta_scale": 0.2062},
    # mean regret 15.66: 36 points, 64 seeds, 3,000 rounds
    "oful_mlogb": {"beta_scale": 0.02512},
    # mean regret 9.663: 36 points, 16 seeds, 1,000 rounds
    "ofulog_r": {"gamma_scale": 0.000485},
    # mean regret 270.7 (edge): 36 points, 16 seeds, 1,000 rounds
    "rs_glincb": {"gamma_scale": 0.003, "beta_scale": 0.01},
    # mean regret 50.66 (edge): 36 points, 16 seeds, 1,000 rounds
    "rs_glincb_code": {"gamma_scale": 1.0, "beta_scale": 0.003},
}
