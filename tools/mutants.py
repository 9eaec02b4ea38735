"""Mutation tests: introduce one error at a time into the code, and run the tests that should fail (`make mutants`).

python tools/mutants.py [NAME ...] [--list]     exit status 0: tests failed for every mutant; 1: some mutants survived;
                                                2: the list does not match the code, or tests fail without a mutant

Each mutant replaces a text that occurs once in a file. It is applied to a temporary copy of the working tree, in which
the tests named with it run; the same tests must pass without it. A text that is missing or occurs twice is an error, so
that the list follows the code. Most of the listed code decides a verdict or the random numbers of a trial: a wrong sign
there changes no shape and raises no error, and a wrong result would be printed.
"""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
COPIED = ("jaxbandits", "tests", "benchmarks", "docs", "pyproject.toml", "README.md", "CONTRIBUTING.md")


class Mutant(NamedTuple):
    """One replacement, and the tests that should fail."""

    name: str
    file: str
    old: str
    new: str
    tests: tuple[str, ...]


_EXPERIMENTS, _ENGINE = "jaxbandits/reproduction/experiments/", "jaxbandits/reproduction/engine/"
_LEDGER, _ROWS = "jaxbandits/reproduction/ledger/", "tests/reproduction/test_ledger.py"
_LOOP = "jaxbandits/engine/loop.py"
_CLAIMS, _DECLARED = "tests/reproduction/test_claims.py", "tests/reproduction/test_declared_claims.py"
_STATISTICS, _INTERVALS = "tests/reproduction/test_statistics.py", "tests/analysis/test_intervals.py"
_STREAMS = (
    "tests/engine/test_loop.py::test_every_consumer_of_randomness_has_a_stream_of_its_own_and_every_round_new_draws"
)


def _of(directory: str, tests: str, *rows: tuple[str, str, str, str]) -> list[Mutant]:
    return [Mutant(name, directory + file, old, new, (tests,)) for name, file, old, new in rows]


def _declared(*rows: tuple[str, str, str, str, str]) -> list[Mutant]:
    return [
        Mutant(n, _EXPERIMENTS + file, old, new, (f"{_DECLARED}::test_{test}",)) for n, file, old, new, test in rows
    ]


MUTANTS = [
    *_of(
        _ENGINE, "tests/reproduction/test_tuning.py",
        ("nearness of constants", "tuning.py", "best([multipliers[i]", "best([found.candidates[i].point"),
        ("a table forgets its rows", "tuning.py", "dict(self.module.MULTIPLIERS)", "{}"),
    ),
    *_of(
        "jaxbandits/simulation/", "tests/simulation/test_racing.py",
        ("races without parts of the error", "racing.py", "/ max(n_points - 1, 1)  #", "  #"),
        ("no failures to come", "racing.py", "low > missing", "low > 0.0"),
        ("looks that cost nothing", "racing.py", "2.0 * alpha / looks", "2.0 * alpha * looks"),
        ("bets on any gain", "racing.py", "np.minimum(difference / loss, _MOST)", "difference / (0.1 * loss) + 0.5"),
        ("tolerance against the leader", "racing.py", "1.0 + math.copysign(tolerance", "1.0 - math.copysign(tolerance"),
        ("ties of tuning ignored", "racing.py", "least + tolerance * abs(least)", "least"),
        ("farthest of tuned points", "racing.py", "return min(alike, key", "return max(alike, key"),
        ("points that failed stay", "racing.py", "active = active[~failed]", "active = active[active >= 0]"),
    ),
    *_of(
        _ENGINE, "tests/reproduction/test_quantities.py",
        ("below for above", "quantities.py",
         '(-math.inf, 0.0) if how == "below"',
         '(-math.inf, 0.0) if how == "above"'),
        ("losses counted as wins", "quantities.py",
         'win_share, first=first, second=b',
         'win_share, first=b, second=first'),
        ("the best of several panels", "quantities.py", "worst_ratio(panels, overs", "worst_ratio(panels[:1], overs"),
        ("a factor forgotten", "quantities.py", 'factor = other.factor / self.factor', 'factor = 1.0'),
        ("not worse by a factor of 3", "quantities.py",
         'lambda a, b: partial(mean_ratio, first=a, second=b',
         'lambda a, b: partial(mean_ratio, first=b, second=a'),
        ("panels share an id", "sentence.py", "[test.rival, panel]", "[test.rival]"),
        ("times are statements", "sentence.py",
         '"time" if kind == "statement" and',
         '"theorem" if kind == "statement" and'),
    ),
    *_of(
        _ENGINE, _CLAIMS,
        ("verdicts swapped", "verdict.py",
         'claim.high:\n        return "holds"',
         'claim.high:\n        return "open"'),
        ("does not hold swapped", "verdict.py", 'return "does not hold"\n', 'return "holds"\n'),
        ("failed trials ignored", "verdict.py", "applies and not estimate.failed and", "applies and"),
        ("and becomes or", "verdict.py", "low > claim.low and high <", "low > claim.low or high <"),
        ("or becomes and", "verdict.py", "high <= claim.low or low", "high <= claim.low and low"),
        ("inside closed below", "verdict.py", "low > claim.low and", "low >= claim.low and"),
        ("inside closed above", "verdict.py", "high < claim.high:", "high <= claim.high:"),
        ("outside open", "verdict.py", "high <= claim.low or", "high < claim.low or"),
        ("too few seeds ignored", "verdict.py", "estimate.n >= claim.least or", "estimate.n >= 0 or"),
        ("one seed too many asked", "verdict.py", "estimate.n >= claim.least or", "estimate.n > claim.least or"),
        ("too few rounds ignored", "verdict.py", "enough and enough_rounds and applies", "enough and applies"),
        ("presets ignored", "verdict.py", "enough and enough_rounds and applies", "enough and enough_rounds"),
        ("NaN judged", "verdict.py", "not estimate.failed and not math.isnan(value)", "not estimate.failed"),
        ("Holm without steps", "verdict.py", "alpha / (len(order) - rank)", "alpha / len(order)"),
        ("Holm without correction", "verdict.py", "alpha / (len(order) - rank)", "alpha"),
        ("Holm goes on after a failure", "verdict.py",
         '            break\n        dec',
         '            pass\n        dec'),
        ("p of light tails", "verdict.py", "special.stdtr(TAIL, -reaches", "special.stdtr(60, -reaches"),
        ("p of one tail", "verdict.py", "min(1.0, 2.0 * float(", "min(1.0, 1.0 * float("),
        ("p of the other side's reach", "verdict.py", "high - value if end > value else",
         "high - value if end < value else"),
        ("p on the linear scale alone", "verdict.py", "return min(linear, ratio(*map(math.log,",
         "return max(linear, ratio(*map(math.log,"),
        ("p of the farther end", "verdict.py", "_tail(min((_reaches(", "_tail(max((_reaches("),
        ("ratio upside down", "statistic.py", "log_ratio_interval(a, b)", "log_ratio_interval(b, a)"),
        ("difference upside down", "statistic.py", "found = paired_mean(a - factor * b)",
         "found = paired_mean(b - factor * a)"),
        ("wins upside down", "statistic.py", "share_interval(np.sum(a < b)", "share_interval(np.sum(a > b)"),
    ),
    *_of(
        _ENGINE, _STATISTICS,
        ("slope against t", "statistic.py", "log_t, curves = np.log(trials.record_points[late])",
         "log_t, curves = 1.0 * trials.record_points[late]"),
        ("rate of all rounds", "statistic.py", "trials.record_points - 0.5 * trials.horizon",
         "trials.record_points - 0.0"),
        ("slope's derivative", "statistic.py", "lambda means: weights / means", "lambda means: weights * means"),
        ("smallest of the rest", "statistic.py", "means[..., n_above:].max(axis", "means[..., n_above:].min(axis"),
        ("ratio of ratios upside down", "statistic.py", "[1.0, -1.0, -1.0, 1.0]", "[-1.0, 1.0, 1.0, -1.0]"),
        ("seeds not paired", "statistic.py", "final(metric)[0, at] for", "final(metric)[0, : len(at)] for"),
    ),
    *_of(
        "jaxbandits/analysis/", _STATISTICS,
        ("shares with one tail of 5 %", "intervals.py", "tail = 0.5 * alpha\n", "tail = alpha\n"),
        ("ties for a share", "intervals.py", "most = fewest + np.asarray(ties, float)\n", "most = fewest\n"),
    ),
    *_of(
        "jaxbandits/engine/", "tests/engine/test_program.py",
        ("trials with a history alone", "width.py", "return WIDTH_UNIT if has_history", "return 1 if has_history"),
        ("trials with a huge history together", "width.py", "has_history and bytes_of_trial <=", "has_history or 1 <="),
    ),
    *_of(
        "jaxbandits/analysis/", _INTERVALS,
        ("indicators without their interval", "summary.py", "level=level, is_indicator=metric in trials.indicators",
         "level=level"),
    ),
    *_of(
        "jaxbandits/analysis/", _INTERVALS,
        ("whole tails", "intervals.py", "np.floor(tail / 2.0 *", "np.floor(tail *"),
        ("no Student", "intervals.py", "max(student, ordered[-1 - rank])", "ordered[-1 - rank]"),
        ("tails swapped", "intervals.py", "centre - below * error), np.asarray(centre - above * error)",
         "centre + above * error), np.asarray(centre + below * error)"),
        ("resamples by the clock", "intervals.py", "np.random.default_rng([_KEY, n])", "np.random.default_rng()"),
    ),
    *_declared(
        ("Figure 1's learners swapped", "linear/fig1.py",
         'mean("Hvt-UCB") < mean("OFUL")',
         'mean("OFUL") < mean("Hvt-UCB")',
         "figure_1_of_the_heavy_tailed_paper"),
        ("environment not taken off", "../engine/statistic.py", "rows = rows - np.median",
         "rows = rows - 0.0 * np.median", "uniform_play_is_taken_off_what_is_timed"),
        ("comparable within 2", "../engine/thresholds.py", "COMPARABLE, MODEST, MUCH = 1.5",
         "COMPARABLE, MODEST, MUCH = 2.0",
         "figure_2_of_the_heavy_tailed_paper"),
        ("Figure 4's bound without its decades", "linear/setting.py", " * 10.0**decades", "",
         "what_learners_of_the_heavy_tailed_figures_are_given"),
        ("nu = 13.1", "linear/fig1.py", "bound=1.31)", "bound=13.1)",
         "what_learners_of_the_heavy_tailed_figures_are_given"),
        ("radius squared", "../../diagnostics/linear.py", "length / r.algorithm.radius(r.t + 1, r.next_state)",
         "length / r.algorithm.radius(r.t + 1, r.next_state) ** 2", "the_coverage_ratio_is_error_over_radius"),
        ("GLM factor inverted", "glm/fig1.py",
         'on_axis(_OFUGLB) < MODEST',
         'on_axis(_OFUGLB) < 1.0 / MODEST',
         "figure_1_of_the_generalised_linear_paper"),
        ("rivals' factor inverted", "glm/fig1.py",
         'mean("GLOC") > COMPARABLE * mean("GLB-OMD")',
         'mean("GLOC") > 1.0 / COMPARABLE * mean("GLB-OMD")',
         "figure_1_of_the_generalised_linear_paper"),
        ("1000 times at 300", "glm/fig2.py",
         'time("OFUGLB") > 1000.0 *',
         'time("OFUGLB") > 300.0 *',
         "1000_times_is_tested_at_1000"),
        ("OFUL's drop upside down", "linear/drop.py",
         'panel_ratio("OFUL", heavy, light)',
         'panel_ratio("OFUL", light, heavy)',
         "heavy_tails_against_gaussian_noise"),
        ("CRTM's kept rewards counted", "../../diagnostics/linear.py",
         "* jnp.abs(r.feedback.reward) > r.state.threshold",
         "* jnp.abs(r.feedback.reward) < r.state.threshold", "what_crtm_truncates"),
        ("Corollary 1 with nu for nu^2", "linear/bound_only.py", "rounds * float(bound) ** 2", "rounds * float(bound)",
         "a_bound_on_the_moments_only"),
        ("kappa_* inverted", "glm/kappa_star.py", "float(1.0 / np.mean(", "float(np.mean(",
         "regret_against_the_curvature_at_the_best_arm"),
        ("2783 for 7568", "glm/fig3.py",
         '_GROWN = 7568.0 / 2783.0',
         '_GROWN = 2783.0 / 7568.0',
         "times_of_poisson_bandits_against_their_size"),
        ("E5 without its root", "oco/e5.py", "panel.x * np.sqrt(trials.record_points)",
         "panel.x * trials.record_points", "numbers_of_the_study_on_sea"),
        ("E5's means without their root", "oco/e5.py", "/ math.sqrt(horizon)", "/ horizon",
         "numbers_of_the_study_on_sea"),
        ("E3's 16", "oco/e3.py", "math.sqrt(17.0)", "math.sqrt(16.0)", "numbers_of_the_study_on_sea"),
        ("E1's bound with D^2", "../../theory/oco.py", "return diameter * (", "return diameter**2 * (",
         "numbers_of_the_study_on_sea"),
    ),
    *_of(
        "jaxbandits/theory/", "tests/theory/test_theorems.py",
        ("regret of the weights of ATkRO(k) for one arm", "dro.py",
         "noise, each = math.log(m), math.sqrt(rounds / 2.0), m / k",
         "noise, each = math.log(m), math.sqrt(rounds / 2.0), m"),
        ("Theorem 9 by n_1", "dro.py", "+ math.log(m)) * n.max()) / n", "+ math.log(m)) * n.max()) / n.max()"),
        ("Theorem 10 with the least weight", "dro.py", "b.max() * diameter_sq", "b.min() * diameter_sq"),
        ("Theorem 3 without its doubling", "coco.py", "first * power * (1.0 + second)", "first * power * second"),
        ("16 of the 24 errors", "oco.py", "+ 24.0 * errors", "+ 16.0 * errors"),
        ("moves of OONS added", "oco.py", "- first_sq * moves", "+ first_sq * moves"),
        ("Lemma 2's negative term added", "linear.py", "stability - negative", "stability + negative"),
        ("kappa inverted", "glm.py", "middle) < stated", "middle) > stated"),
    ),
    *_of(
        _EXPERIMENTS, "tests/reproduction/test_theorem_experiments.py",
        ("regrets of anytime forms unweighted", "dro/players.py", "(trials.get(name) / total for",
         "(trials.get(name) / trials.record_points for"),
        ("the weights compete with the smallest risks", "dro/players.py", "[..., -environment.top_k :]",
         "[..., : environment.top_k]"),
        ("the mean group for the worst", "dro/budgets.py", "share.max(axis=-1)", "share.mean(axis=-1)"),
        ("all groups have equal budgets", "dro/budgets.py", "2 * least for _", "least for _"),
        ("laws without their constants", "coco/bandit.py", "_CONSTANT * float(r)", "float(r)"),
        ("the law of growth without its logarithm", "oco/growth.py", "np.sqrt(rounds) * np.log1p(rounds * _CAP)",
         "np.sqrt(rounds)"),
        ("linear figures headed by other constants", "linear/setting.py", "presets=TUNED | PRESETS,",
         "presets=PRESETS | TUNED,"),
    ),
    Mutant("times of the headline run are missing", _LEDGER + "runs.py",
         'and (kept is None or kept.missing)',
         'and kept is None',
         ("tests/reproduction/test_ledger.py::test_times_that_the_headline_run_did_not_take_are_those_of_another_run",)),
    *_declared(
        ("Figure 8 levels off where it falls", "dro/fig8.py",
         'return mean(label, of="objective") - mean(label, of="objective_at_preset")',
         'return mean(label, of="objective_at_preset") - mean(label, of="objective")',
         "figure_8_of_the_group_dro_paper"),
        ("coco's Figure 1 swapped", "coco/fig1.py",
         'mean("SCOFW-TVC", of="loss") < mean("OFW-TVC", of="loss")',
         'mean("OFW-TVC", of="loss") < mean("SCOFW-TVC", of="loss")',
         "figure_1_of_the_projection_free_paper"),
        ("coco's Figure 2 swapped", "coco/fig2.py",
         'mean("BFW-TVC", "SCBFW-TVC", of=metric) < mean("LBPM", of=metric)',
         'mean("LBPM", of=metric) < mean("BFW-TVC", "SCBFW-TVC", of=metric)',
         "figure_2_of_the_projection_free_paper"),
        ("certificates of OONS loosened", "oco/certificates.py",
         'of="negative_slack", at_most=1e-5',
         'of="negative_slack", at_most=1e-2',
         "certificates_of_oons_are_as_tight_as_rounding"),
    ),
    Mutant("the path-wise inequality of OONS loosened", "jaxbandits/diagnostics/oons_rounds.py",
           "0.5 * r.c_corr * r.eta * (u @ error)", "5.0 * r.c_corr * r.eta * (u @ error)",
           ("tests/diagnostics/test_oons_rounds.py",)),
    Mutant("a maximum forgets earlier blocks", "jaxbandits/engine/meters.py",
           "np.maximum.accumulate(block_values, axis=1) if", "block_values if",
           ("tests/simulation/test_simulation.py::test_a_maximum_remembers_earlier_blocks",)),
    Mutant("late feedback with the time of the next round", "jaxbandits/engine/late_feedback.py",
           "t - self.delay, state,", "t - self.delay + 1, state,",
           ("tests/environments/operators/test_operators.py::test_late_feedback_comes_with_the_time_of_its_own_round",)),
    Mutant("tuning on the judged seeds", _ENGINE + "tuning.py", "FIRST_SEED = 1_000_000", "FIRST_SEED = 20_000",
           ("tests/reproduction/test_tuning.py::test_no_judged_seed_is_a_tuning_seed",)),
    Mutant("pseudo-regret against the realised comparator", "jaxbandits/environments/oco/linear_losses.py",
           '"pseudo_regret": values["mean_loss"] - values["mean_comparator_loss"]',
           '"pseudo_regret": values["mean_loss"] - values["comparator_loss"]',
           ("tests/environments/oco/test_linear_losses.py::test_regrets_are_against_their_own_comparators",)),
    Mutant("what cannot fail is counted", _LEDGER + "sentences.py",
         'able = [verdict for verdict in verdicts if not verdict.claim.cannot_fail]',
         'able = [*verdicts]',
         ("tests/reproduction/test_ledger.py",)),
    Mutant("a sentence holds if one panel does", _LEDGER + "sentences.py",
         'return ("in part" if any',
         'return ("yes" if any',
         ("tests/reproduction/test_ledger.py",)),
    *_of(
        _EXPERIMENTS, "tests/reproduction/test_classics.py",
        ("a slope without its unit", "../engine/statistic.py", "/ (unit * np.sum(centred**2))", "/ np.sum(centred**2)"),
        ("shares of another gap's bound", "classics/etc_fig6_1.py", "regret / panel.bound",
         "regret / etc_bound(1.0, 1000)"),
        ("a window without its variation", "classics/setting.py", '"variation": variation}', '"variation": 1.0}'),
        ("theta jumps a round early", "classics/russac_fig1.py", "1001: (-1.0", "1000: (-1.0"),
        ("the ratio of UCB to itself", "classics/chapelle_table1.py",
         'mean("UCB") / mean("Thompson")',
         'mean("UCB") / mean("UCB")'),
        ("a stand-in under the name of a file", "classics/bietti_wins.py",
         'Panel(f"stand-in for {name}", _stand_in(name))',
         'Panel(name, _stand_in(name))'),
        ("a synthetic table under a real name", "classics/models_rules_wins.py",
         'Panel(f"stand-in for {name}", _synthetic(name))',
         'Panel(name, _synthetic(name))'),
    ),
    *_of(
        "jaxbandits/theory/", "tests/theory/test_classics.py",
        ("kl the other way round", "classics.py", "divergence(mean, best) for mean", "divergence(best, mean) for mean"),
        ("the wrong arm at a third of the spread", "classics.py", "0.5 * gap * math.sqrt(exploration)",
         "gap * math.sqrt(exploration)"),
    ),
    *_of(
        _EXPERIMENTS + "oco/", "tests/reproduction/test_oco.py",
        ("bounded domains without D^2", "bounded.py", "return diameter**2 +", "return diameter +"),
        ("a hint against who knows D", "bounded.py",
         'mean("OGD, given D") > mean(',
         'mean("OGD, given D") < mean('),
        ("natural logarithm of epochs", "anytime.py",
         'math.log2(panel.x) * mean("CA-OONS, given',
         'math.log(panel.x) * mean("CA-OONS, given'),
        ("given T and anytime swapped", "anytime.py",
         'mean("anytime CA-OONS") < MODEST * mean("CA-OONS, given T")',
         'mean("CA-OONS, given T") < MODEST * mean("anytime CA-OONS")'),
        ("restarts counted where there are none", "restarts.py", "bound > played.state.bound",
         "bound >= played.state.bound"),
        ("radius over T", "restarts.py", "radius / np.sqrt(rounds)", "radius / rounds"),
        ("small radii's factor inverted", "origin.py",
         'mean("CA-OONS") > MUCH *',
         'mean("CA-OONS") > 1.0 / MUCH *'),
        ("hints against the wrong learner", "curved.py",
         'mean("OGD") > mean("OONS")',
         'mean("OGD") < mean("OONS")'),
        ("rank's ratio of one dimension", "dimension.py",
         'panel_ratio(label, f"r-{r}", f"d-{r}")',
         'panel_ratio(label, f"r-{r}", f"r-{r}")'),
    ),
    Mutant("arms and theta* of one key", "jaxbandits/environments/linear/heavy_tailed.py",
           "self._draw_theta(for_theta)", "self._draw_theta(for_arms)",
           ("tests/environments/linear/test_heavy_tailed.py::test_arms_and_theta_are_drawn_independently",)),
    Mutant("hyperparameters of the batch before", "jaxbandits/engine/driver.py",
           "np.array_equal(latest[0], points)", "True",
           ("tests/engine/test_grid.py::test_points_of_a_sweep_are_the_runs_of_their_values",)),
    Mutant("programs of other constants are taken", "jaxbandits/tracing/traces.py",
           "return self._value(variable.val)", 'return "a literal"',
           ("tests/tracing/test_traces.py::test_other_computations_have_other_digests",)),
    Mutant("programs of another version are taken", "jaxbandits/programs/compilation.py",
           "settings(), versions(), place]", "settings(), place]",
           ("tests/programs/test_executables.py::test_a_key_holds_all_that_a_program_depends_on",)),
    Mutant("a program is read back before LAPACK is there", "jaxbandits/programs/executables.py",
           "if content[:1] == _WITH_LAPACK:", "if False:",
           ("tests/system/test_second_process.py::test_every_lapack_target_of_jaxlib_can_be_read_back",)),
    Mutant("a program that fails is called again and again", "jaxbandits/programs/compilation.py",
           "if self._succeeded or not str(error).startswith(_CANNOT_BE_LOADED):", "if True:",
           ("tests/programs/test_executables.py::test_a_program_whose_first_call_fails_is_compiled_and_called_anew",)),
    Mutant("a changed global plays the old program", "jaxbandits/programs/compilation.py",
           "[digest.text for digest in digests]", "len(digests)", ("tests/programs/test_stale.py",)),
    Mutant("a program that reads another field is taken for it", "jaxbandits/programs/compilation.py",
           "keep_unused=True", "keep_unused=False", ("tests/programs/test_stale.py",)),
    Mutant("host code is resumed", "jaxbandits/base/foreign.py",
           'if not (found := ", ".join(spec.get("host code", ()))):', "if True:", ("tests/programs/test_stale.py",)),
    Mutant("types of static fields do not count", "jaxbandits/base/exact.py",
           "return kind, value\n", "return value\n", ("tests/base/test_exact.py",)),
    Mutant("registered names stand for entries", "jaxbandits/catalogue.py",
           "return found.cls", "return found",
           ("tests/base/test_spec.py::test_names_are_unique", "tests/base/test_registry.py")),
    Mutant("lowest counts the groups in which a label is highest", _EXPERIMENTS + "dro/setting.py",
           "risks[0] <= risks.min(axis=0)", "risks[0] >= risks.max(axis=0)",
           ("tests/reproduction/test_dro.py::test_statistics_count_groups",)),
    Mutant("sums between record points are plain", "jaxbandits/engine/meters.py",
           "total.add(self.recent[metric])", "CompensatedSum(total.total + self.recent[metric], total.error)",
           ("tests/float32/test_sums.py",)),
    Mutant("a program is run under any key", "jaxbandits/programs/executables.py",
           "hashlib.sha256(key.encode() + b", "hashlib.sha256(b",
           ("tests/programs/test_executables.py::test_a_file_is_read_under_its_own_key_only",)),
    Mutant("covertype forgets the multipliers", _EXPERIMENTS + "glm/covertype.py",
           "{name: factor * getattr(learner, name) for", "{name: factor for",
           ("tests/reproduction/test_glm.py::test_radii_of_covertype_are_shrunk_by_the_factor_of_the_panel",)),
    Mutant("every draw twice", _LOOP, "rng.fold_in(stream, t) for", "rng.fold_in(stream, t // 2) for",
           (_STREAMS,)),
    Mutant("environment and learner share a key", "jaxbandits/engine/trial_keys.py",
           "*_split(alg_key, 3)", "*_split(env_key, 3)",
           (_STREAMS,)),
    Mutant("changed files pass for committed ones", _LEDGER + "pages.py",
         'if not run.commit or run.commit.endswith("+")',
         'if not run.commit',
         (_ROWS,)),
    Mutant("double precision passes for the usual run", _LEDGER + "runs.py",
         'and self.precision == ("float64" if self.about.float64 else "float32")\n',
         '\n',
         (_ROWS,)),
    Mutant("another reading passes for the usual run", _LEDGER + "runs.py",
         '            and not self.reading\n',
         '',
         (_ROWS,)),
    Mutant("a stand-in heads the chapter", _LEDGER + "runs.py",
         'not run.has_full_horizon, run.data == "stand-in", -run.seeds)',
         'not run.has_full_horizon, -run.seeds)',
         (_ROWS,)),
    Mutant("iterations of SMPA_m counted as rounds", _EXPERIMENTS + "dro/setting.py",
         '2.0 if isinstance(algorithm, dro.SMPA)',
         '1.0 if isinstance(algorithm, dro.SMPA)',
         ("tests/reproduction/test_dro.py",)),
    Mutant("the queue of LPM is damped", "jaxbandits/algorithms/coco/lpm.py", '"damping": 0.0}', '"damping": None}',
           ("tests/algorithms/coco/test_lpm.py",)),
    Mutant("a screened grid without neighbours", _ENGINE + "tuning.py", "screen(list(around.values())",
           "screen(list(best_points)",
           (
               "tests/reproduction/test_tuning.py::"
               "test_a_screened_grid_plays_every_other_value_the_neighbours_of_the_best_and_the_best_on_all_seeds",
           )),
    Mutant("another reading not taken", _ENGINE + "experiment.py", "if k in changed else v for",
           "if not changed else v for",
           ("tests/reproduction/test_experiments.py::test_other_readings_change_what_they_name_and_nothing_else",)),
    Mutant("adjusted verdicts of one experiment alone", _LEDGER + "sentences.py",
         'adjusted = _adjust([s for s in found if s.kind != "observation"])',
         'adjusted = {s.id: s.standing for s in found}',
         (_ROWS,)),
]  # fmt: skip


def _run(directory: Path, tests: tuple[str, ...]) -> tuple[int, str]:
    """Return pytest's exit status and output. Slow tests run only if every test is named as `FILE::TEST`."""
    marks = "" if all("::" in test for test in tests) else "not slow"
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-m", marks, "-p", "no:cacheprovider", *tests]
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"} | {"PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run(command, cwd=directory, env=environment, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout


def _copy(directory: Path) -> None:
    for name in COPIED:
        source = ROOT / name
        if source.is_dir():
            shutil.copytree(source, directory / name, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(source, directory / name)


def main() -> int:
    """Run the named mutants, all by default."""
    parser = argparse.ArgumentParser(
        prog="python tools/mutants.py",
        description="Run mutation tests: break the code on purpose, and run the tests that should fail.",
    )
    parser.add_argument("names", nargs="*", help="names of the mutants to run (default: all)")
    parser.add_argument("--list", action="store_true", help="list the names and exit")
    arguments = parser.parse_args()
    chosen = [mutant for mutant in MUTANTS if not arguments.names or mutant.name in arguments.names]
    if arguments.list:
        print(*(f"{mutant.file}: {mutant.name}" for mutant in chosen), sep="\n")
        return 0
    gone = [m for m in chosen if (ROOT / m.file).read_text(encoding="utf-8").count(m.old) != 1]
    for mutant in gone:
        print(f"out of date: {mutant.name}: its text does not occur exactly once in {mutant.file}")
    if gone or not chosen:
        return 2
    survivors, start = [], time.monotonic()
    with tempfile.TemporaryDirectory(prefix="mutants-") as place:
        directory = Path(place)
        _copy(directory)
        for tests in dict.fromkeys(mutant.tests for mutant in chosen):
            code, said = _run(directory, tests)
            if code != 0:
                print("the tests fail without any mutant:", *tests)
                print(*said.splitlines()[-12:], sep="\n")
                return 2
        for i, mutant in enumerate(chosen, start=1):
            path = directory / mutant.file
            whole = path.read_text(encoding="utf-8")
            path.write_text(whole.replace(mutant.old, mutant.new), encoding="utf-8")
            code, _ = _run(directory, mutant.tests)
            path.write_text(whole, encoding="utf-8")
            print(f"[{i}/{len(chosen)}] {'SURVIVED' if code == 0 else 'died'}  {mutant.name}", flush=True)
            if code not in (0, 1, 2, 4):  # 1: tests failed; 2, and 4 for a single test: the module no longer imports
                print(f"pytest exited with status {code} for the mutant {mutant.name!r}")
                return 2
            survivors += [mutant.name] if code == 0 else []
    died = len(chosen) - len(survivors)
    took = time.monotonic() - start
    print(f"{died} of {len(chosen)} died in {took:.0f} s; survivors: {', '.join(survivors) or 'none'}")
    return 1 if survivors else 0


if __name__ == "__main__":
    sys.exit(main())
