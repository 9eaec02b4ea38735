"""What multiplies the constants of the presets `practical`, by name of the learner; written, not edited.

`python tools/multipliers.py glm` tunes all of them alike, by
benchmarks/sweeps/glm_tuning.toml and benchmarks/sweeps/glm_tuning_slow.toml (docs/verdicts.md).
"""

MULTIPLIERS: dict[str, dict[str, float]] = {
    # mean regret 9.617: 36 points, 64 seeds, 3,000 rounds
    "ecolog": {"beta_scale": 0.2062},
    # mean regret 9.174: 36 points, 64 seeds, 3,000 rounds
    "glb_omd": {"beta_scale": 0.09363},
    # mean regret 8.679: 36 points, 64 seeds, 3,000 rounds
    "glb_omd_data": {"beta_scale": 0.2062},
    # mean regret 17.08: 36 points, 64 seeds, 3,000 rounds
    "gloc": {"beta_scale": 0.02512},
    # mean regret 15.66: 36 points, 64 seeds, 3,000 rounds
    "oful_mlogb": {"beta_scale": 0.02512},
    # glm_tuning_slow.toml has not been run yet: the points nearest to the multipliers of the coarse grid before
    "ada_ofu_ecolog": {"beta_scale": 0.3, "warmup_scale": 0.03},
    "glm_ucb": {"rho_scale": 0.00306},
    "ofuglb": {"beta_scale": 0.2683},
    "ofulog_r": {"gamma_scale": 0.09363},
    "rs_glincb": {"gamma_scale": 0.03, "beta_scale": 0.03},
    "rs_glincb_code": {"gamma_scale": 0.03, "beta_scale": 0.03},
}
