"""Multipliers of the constants in the `practical` presets, keyed by learner or "panel/learner". Generated; do not edit.

`jaxbandits tune glm --write` compares the points of a grid and writes this file (docs/verdicts.md).
"""

MULTIPLIERS: dict[str, dict[str, float]] = {
    "ada_ofu_ecolog": {"beta_scale": 0.3, "warmup_scale": 1.0},
    "ecolog": {"beta_scale": 0.2062},
    "glb_omd": {"beta_scale": 0.09363},
    "glb_omd_data": {"beta_scale": 0.2062},
    "glm_ucb": {"rho_scale": 0.0001},
    "gloc": {"beta_scale": 0.02512},
    "ofuglb": {"beta_scale": 0.2062},
    "oful_mlogb": {"beta_scale": 0.02512},
    "ofulog_r": {"gamma_scale": 0.000485},
    "rs_glincb": {"gamma_scale": 0.003, "beta_scale": 0.01},
    "rs_glincb_code": {"gamma_scale": 1.0, "beta_scale": 0.003},
}
EVIDENCE: dict[str, str] = {
    "ada_ofu_ecolog": "mean regret 7.039 (edge): 36 points, 16 seeds, 1,000 rounds",
    "ecolog": "mean regret 9.617: 36 points, 64 seeds, 3,000 rounds",
    "glb_omd": "mean regret 9.174: 36 points, 64 seeds, 3,000 rounds",
    "glb_omd_data": "mean regret 8.679: 36 points, 64 seeds, 3,000 rounds",
    "glm_ucb": "mean regret 9.221 (edge): 36 points, 16 seeds, 1,000 rounds",
    "gloc": "mean regret 17.08: 36 points, 64 seeds, 3,000 rounds",
    "ofuglb": "mean regret 3.319: 36 points, 16 seeds, 1,000 rounds",
    "oful_mlogb": "mean regret 15.66: 36 points, 64 seeds, 3,000 rounds",
    "ofulog_r": "mean regret 9.663: 36 points, 16 seeds, 1,000 rounds",
    "rs_glincb": "mean regret 270.7 (edge): 36 points, 16 seeds, 1,000 rounds",
    "rs_glincb_code": "mean regret 41.12 (edge): 36 points, 32 seeds, 1,000 rounds",
}
