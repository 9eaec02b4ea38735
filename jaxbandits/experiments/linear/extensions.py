"""Notes on the two settings that the paper discusses in Section 6 without algorithms or experiments: all is ours."""

OURS = "The paper discusses this setting without an algorithm, a theorem or an experiment: all of it is ours."
UNTUNED = "Practical multipliers are those of the bandit figures (tuned on Figure 1), not tuned here."
EPS = 0.99
