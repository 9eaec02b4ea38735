"""Experiments from papers on classical bandits."""

from jaxbandits.reproduction.engine.experiment import import_experiments

__all__ = ["EXPERIMENTS"]
EXPERIMENTS = import_experiments(
    __name__,
    "kl_fig1 kl_fig2 chapelle_fig1 chapelle_table1 etc_fig6_1 ucb_fig7_1 tsallis_fig3 garivier_table1 russac_fig1 "
    "russac_fig2 bietti_wins russo_table1 riquelme_wheel srinivas_fig5 cascade_table1 besson_tables duels "
    "teams_k9 selfish_fails disjoint_paths neural_h1_h3 models_rules_wins",
)
