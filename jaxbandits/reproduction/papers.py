"""The papers of the families, with their errata: what is printed, what is wrong, what is run; and our assumptions.

The pages of the papers list them, and `docs/errata.md` counts them (`python tools/errata.py > docs/errata.md`).
"""

from jaxbandits.reproduction.engine.experiment import Erratum, Paper


def _reproduce(name: str) -> str:
    return f"jaxbandits reproduce {name}"


def _tests(keyword: str) -> str:
    return f'make test TEST_ARGS="-k {keyword}"'


_LINEAR = Paper(
    "linear",
    "Heavy-Tailed Linear Bandits: Huber Regression with One-Pass Update",
    "Wang, Zhang, Zhao & Zhou, ICML 2025",
    easy="The algorithm, its constants and the noise laws, except that of Figure 5; Theorem 1 can be evaluated.",
    difficult="The constants as stated reproduce no figure, so that multipliers had to be tuned; the baselines' "
    "constants had to be taken from other papers.",
    guessed="Which moment scale goes with t(2.1), what 'rescaled to satisfy L = 1' means (both readings run), the "
    "baselines' radii, the 11 pulls of CRMM's medians, the noise of Figure 5, centring and scale of that of Figure 3, "
    "the horizon of the appendix.",
    errata=(
        Erratum(
            "Section 5",
            "no constant of any learner",
            "beta_t of (10), taken literally, is about 5000 at d = 2, T = 18,000, with rewards in [-1, 1]: nu_t then "
            "never enters sigma_t.",
            "Three presets: theory, with the constants as stated; practical, tuned once; tuned, in each panel.",
            _reproduce("linear/sensitivity"),
            left_open=True,
        ),
        Erratum(
            "Section 5",
            "nu = 1.31 for Student's t(2.1) at eps = 0.99",
            "The moment scale is 4.388.",
            "1.31 where Figure 1 is mirrored, the exact scale where theorems are tested.",
            _reproduce("linear/coverage"),
        ),
        Erratum(
            "Appendices E.1 and E.2",
            "eps = 1.49 and eps = df - 0.01 = 1.69",
            "eps <= 1: 1 + eps is meant.",
            "eps = 0.49 and 0.69.",
            _reproduce("linear/fig4"),
        ),
        Erratum(
            "Appendix E.1",
            "Pareto(1.5) and Lomax(1.5) as two experiments",
            "Once centred, as the model asks, both laws are the same.",
            "Both panels are drawn; claims are tested once.",
            _reproduce("linear/fig3"),
        ),
        Erratum(
            "Proof of Theorem 1",
            "w_t^{-2} = beta_{t-1} / (tau_0 t^e)",
            "On the third branch w_t^2 is tau_0 t^e / (2 sqrt(alpha) beta_{t-1}), at alpha = 4 a quarter of it.",
            "The second term of the explicit bound has a factor 4 more; the rate is the same.",
            _reproduce("linear/bound"),
        ),
        Erratum(
            "Proof of Corollary 1",
            "sqrt(2 kappa) nu sqrt(T + 1)",
            "It bounds sqrt(2 kappa (nu^2 T + 1)), which it comes from, for nu >= 1 only.",
            "The latter; the rate is the same.",
            _reproduce("linear/bound-only"),
        ),
        Erratum(
            "Lemma 1",
            "4 and alpha for the same constant of kappa",
            "They agree at alpha = 4 only.",
            "The general form.",
            _tests("hvt_ucb"),
        ),
    ),
)

_GLM = Paper(
    "glm",
    "Generalized Linear Bandits: Almost Optimal Regret with One-Pass Update",
    "Zhang, Xu, Zhao & Sugiyama, NeurIPS 2025",
    easy="The update, its projection and the confidence radius; costs per round.",
    difficult="Likelihood methods over fixed arms: exact maximisers over level sets at a cost that does not grow.",
    guessed="delta of the synthetic experiments, and which public code ECOLog, RS-GLinCB and GLOC are; the factor by "
    "which radii are shrunk on Covertype. d, K and the arms of the synthetic experiments are not stated either, but "
    "all six values of kappa are those of one public instance, that of the experiments of RS-GLinCB's authors (d = 5, "
    "K = 20, arms new in every round: glm/kappas).",
    errata=(
        Erratum(
            "Theorem 1, second version",
            "lambda for R = 0",
            "It is 0 for a Gaussian link: H_1 is singular.",
            "The form of the first version.",
            _tests("glb_omd"),
        ),
        Erratum(
            "Examples of links",
            "R = 0 for the exponential family with mean -1/z",
            "mu''/mu' is 2/|z|.",
            "R = 2 / z_min where |z| >= z_min.",
            _tests("links"),
        ),
        Erratum(
            "Proof of Theorem 2",
            "mu' at optimistic parameters bounded by C_mu",
            "They may lie outside the ball; for a Poisson link the bound then fails.",
            "The bound is evaluated as stated and the gap is stated.",
            _reproduce("glm/bound"),
        ),
        Erratum(
            "Appendix F.1",
            "all parameters by theory but lambda, RS-GLinCB's too",
            "With the constants of its theorem every round of these horizons is warm-up at every S; that it depends on "
            "S, as Figure 3 has it, comes out with those of its authors' code.",
            "The latter in the figures; the theorem's in a row of the table.",
            _reproduce("glm/fig1"),
        ),
    ),
)

_COCO = Paper(
    "coco",
    "Revisiting Projection-Free Online Learning with Time-Varying Constraints",
    "Wang, Wan & Zhang, AAAI 2025",
    easy="The surrogate losses and the Lyapunov weights.",
    difficult="Oracles on the trace-norm ball of real size; comparators that satisfy every constraint.",
    guessed="Horizon, batch, order, starting point, G, curvature and tuning of both figures; three baselines are "
    "reconstructed.",
    errata=(
        Erratum(
            "(12)",
            "sigma = 2 / sqrt(t - s + 1)",
            "It exceeds 1 early in an epoch, and plays leave K.",
            "min(1, .).",
            _reproduce("coco/errata"),
        ),
        Erratum(
            "Algorithm 1, line 1",
            "G~_1 = 1",
            "Steps then depend on the units of the losses.",
            "beta G gamma; the printed form is a preset.",
            _reproduce("coco/errata"),
        ),
        Erratum(
            "(22)",
            "eta_k = c D / (d M G~_k T^{3/4})",
            "With losses, M and G~_k multiplied by s, the step is divided by s: it depends on their units.",
            "As printed; `eta_scale` = s makes up for it.",
            _reproduce("coco/errata"),
        ),
        Erratum(
            "Theorem 1",
            "its constants",
            "The constraint weighs below 0.003 of the loss at any practical horizon.",
            "theory as stated, and in addition a balanced preset of ours.",
            _reproduce("coco/errata"),
            left_open=True,
        ),
        Erratum(
            "(17)",
            "sigma_{s_k,t}, the step of Algorithm 1",
            "Algorithm 2 has no epochs; (16) and line 6 name its step sigma_t^sc.",
            "The line search of (16).",
            _tests("scofw"),
        ),
        Erratum(
            "Theorem 3",
            "C2 in the statement, C3 in its proof; + 1 in C2; M bounds |f_t|",
            "(54) drops a factor 2 D of T sqrt(eps): D / 4 in place of 1 follows. M has to bound the surrogate, "
            "constraint included. Rates are the same.",
            "C2 as printed; `beta` and `value_bound` are fields.",
            _tests("bfw_tvc"),
        ),
        Erratum(
            "Theorem 4",
            "beta = 1 / (G D T^{2/3}), gamma = G / (G + alpha D), and gamma = O(T^{2/3})",
            "The two gammas contradict each other; the proof has beta = 1 and "
            "gamma = 16 (8 ln T^{1/3} + C3) G^2 T^{2/3} / alpha.",
            "The proof's; the preset `printed` has the statement's.",
            _tests("scbfw_tvc"),
        ),
        Erratum(
            "(27)",
            "the regulariser of SCBFW-TVC",
            "A linear term is missing, and iterates end half way.",
            "The term is added; the printed form is a field.",
            _reproduce("coco/errata"),
        ),
        Erratum(
            "Theorem 2",
            "beta = 1 / (G D T^{2/3})",
            "It violates (39) for every alpha; the proof's (40) has gamma alpha / (500 G^2 T^{2/3}).",
            "The proof's; both are run.",
            _reproduce("coco/errata"),
        ),
        Erratum(
            "(41), last equality",
            "500 G^2 (2 + gamma) T^{4/3} / (gamma alpha) + gamma^2 alpha D T^{5/3} / (250 G)",
            "The inequality before it stands; with beta of (40) it is "
            "250000 (2 + gamma) G^4 T^{4/3} / (gamma alpha)^2 + 1000 G^3 D T^{5/3} / alpha.",
            "The inequality.",
            _reproduce("coco/errata"),
        ),
        Erratum(
            "Algorithm 3, step 6",
            "weights of Q_t",
            "Q_t depends on the perturbation: the estimate is biased.",
            "The printed form is the default; weights of Q_{t-1} are a field.",
            _reproduce("coco/errata"),
        ),
        Erratum(
            "Experiments",
            "P_t uniform on [-1, 1]",
            "Such constraints are independent of X_t and cannot be learned.",
            "Beside them a budget that can be.",
            _reproduce("coco/fig1"),
        ),
        Erratum(
            "Experiments",
            "f_t is strongly convex",
            "It has no curvature on entries that are not observed.",
            "The curvature is a parameter, by default the observed share.",
            _reproduce("coco/fig1"),
        ),
        Erratum(
            "Experiments",
            "one entry (i, j) per round, and a loss summed over all observed entries O",
            "With the sum f_t would be the same function in every round.",
            "A round's loss is the sum over a batch of entries.",
            _reproduce("coco/fig1"),
            left_open=True,
        ),
        Erratum(
            "Proof of Lemma 3, and (1)",
            "x* is the minimiser over K, and g_t(x*) <= 0 in every round",
            "A minimiser over K need not satisfy the constraints.",
            "Regret against the best point of K that does; the other one is an additional metric.",
            _reproduce("coco/rates"),
        ),
    ),
)

_DRO = Paper(
    "dro",
    "Stochastic Approximation Approaches to Group Distributionally Robust Optimization and Beyond",
    "Zhang, Bai, Zhao, Yang & Zhou, JMLR",
    easy="All algorithms, their step sizes by theorem, Example 1 and the group sizes of Adult, to the digit.",
    difficult="Exact optima and duality gaps of every synthetic instance; capped simplices with ties.",
    guessed="Step sizes, radius, number of trials and features of the experiments.",
    errata=(
        Erratum(
            "Algorithm 8",
            "the test c p_i < 1/k <= c p_{i+1}",
            "At ties no split passes, and weights sum to m/k.",
            "The one-sided test.",
            _tests("capped"),
        ),
        Erratum(
            "Theorem 10",
            "'=' in its bound, with an unspecified constant c",
            "'<=' is meant.",
            "Constants 1.",
            _reproduce("dro/budgets"),
        ),
        Erratum(
            "Assumption 3",
            "losses in [0, 1]",
            "The logistic losses of the experiments exceed 1.",
            "No clipping; explicit bounds are tested where losses do lie in [0, 1].",
            _reproduce("dro/bounds"),
        ),
        Erratum(
            "Proof of Theorem 12",
            "extreme points have k entries of 1",
            "They have k entries of 1/k.",
            "No effect on the algorithm.",
            _tests("atkro"),
        ),
    ),
)

_OCO = Paper(
    "oco",
    "Parameter-free Algorithms for the Stochastically Extended Adversarial Model",
    "Wang, Barik, Zhao & Tan, NeurIPS 2025",
    easy="OONS and its path-wise inequality; the identity of Proposition A.1.",
    difficult="The projection in a matrix norm; the meta algorithm in three layers.",
    guessed="Instances and sizes throughout (the paper has no experiments); the middle layer's step size.",
    errata=(
        Erratum(
            "(5) and Theorem 4.1",
            "f(x) - f(0) bounded by <grad f(x), x>, whatever the sign of the weight",
            "For the comparator's own weight convexity gives the opposite: on smooth losses regret can be linear.",
            "Played gradients by default; the printed surrogate and values are fields.",
            _reproduce("oco/e3"),
        ),
        Erratum(
            "Algorithm 3",
            "b_t^k without a square",
            "Units do not agree.",
            "32 beta_k (l - h)^2.",
            _reproduce("oco/certificates"),
        ),
        Erratum(
            "Algorithm 3",
            "beta^k_{t,j} of the middle layer",
            "It is not defined.",
            "2 beta_k, constant.",
            _reproduce("oco/certificates"),
            left_open=True,
        ),
        Erratum(
            "Theorem 4.1, (8)",
            "O~(||u||^2 + ||u|| ...), which is O~(0) at u = 0",
            "The proof gives the root of the variances.",
            "Nothing to change; `n_small` adds radii below 2.",
            _reproduce("oco/origin"),
        ),
        Erratum(
            "Appendix C.3",
            "Lemma C.4, whose sums run up to t, for eta_t of (4), whose sum runs up to t - 1",
            "The round of a large first error is not covered. Where the sum exceeds z^2 a factor sqrt(2) repairs it, "
            "until then the cap 1 / (64 D z) does.",
            "No effect; the bound that is checked adds eta_t ||e_t||^2 up itself.",
            _reproduce("oco/bound"),
        ),
        Erratum("Appendix E", "max D_t < sqrt(T)", "2 sqrt(T) follows.", "No effect.", _reproduce("oco/restarts")),
    ),
)

_CLASSICS = Paper(
    "classics",
    "Classical bandits",
    "Papers from Garivier & Cappe, COLT 2011, to Zimmert & Seldin, JMLR 2021, and the book of Lattimore & Szepesvari",
    easy="KL-UCB's two figures, Figure 6.1 of the book and the notebooks of D-LinUCB state everything that is needed.",
    difficult="50,000 runs of each learner within minutes; plays until a learner stops, without rounds that do not "
    "count.",
    guessed="K, gap and rounds of the adversary of Figure 3 (Tsallis-INF); the fixed m of Figure 7.1; the rounds of "
    "Chapelle and Li's figure, and whether UCB's bonus in their Table 1 has the logarithm of all rounds, as here.",
    errata=(
        Erratum(
            "Russac et al., authors' code, D_LinUCB_class.py",
            "cov_squared = gamma^2 cov + a a' + (1 - gamma^2) lambda I, after cov was updated",
            "In Algorithm 1 W is decayed from W. Here V takes its place, and the new arm counts twice: wider bounds.",
            "Algorithm 1; the field `authors_code` has the recursion of the code.",
            _reproduce("classics/russac-fig1"),
        ),
    ),
)

PAPERS = {paper.family: paper for paper in (_LINEAR, _GLM, _COCO, _DRO, _OCO, _CLASSICS)}
