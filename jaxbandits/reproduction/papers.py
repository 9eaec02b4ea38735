"""Reproduced papers by family, each with its errata and our assumptions.

The pages of the papers list the errata, and `docs/errata.md` counts them (`python tools/errata.py > docs/errata.md`).
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
    easy="The algorithm, the constants of its theorems and the noise distributions, except the noise of Figure 5. The "
    "bound of Theorem 1 can be evaluated.",
    difficult="With the constants of the theorems the figures look different from the paper's, so multipliers had to "
    "be tuned. The constants of the baselines had to be taken from other papers.",
    guessed="The nu of Figure 2, the meaning of 'rescaled to satisfy L = 1' (both readings are run), the "
    "radii of the baselines, the 11 pulls for each median of CRMM, the noise of Figure 5, the centring and scale of "
    "the noise of Figure 3, and the number of rounds in the appendix.",
    errata=(
        Erratum(
            "Section 5",
            "No constant of any learner is stated.",
            "Taken literally, beta_t of (10) is about 5,000 at d = 2 and T = 18,000, for mean rewards in [-1, 1]. With "
            "so large a value nu_t determines sigma_t in almost no round.",
            "There are three presets: theory has the constants of the theorems, practical is tuned once, and tuned is "
            "tuned in each panel.",
            _reproduce("linear/sensitivity"),
            left_open=True,
        ),
        Erratum(
            "Section 5",
            "nu = 1.31 for Student's t(2.1) at eps = 0.99",
            "The moment scale of this distribution is 4.388.",
            "Reruns of the paper's figures use 1.31; tests of theorems use the exact scale.",
            _reproduce("linear/coverage"),
        ),
        Erratum(
            "Appendices E.1 and E.2",
            "eps = 1.49 and eps = df - 0.01 = 1.69",
            "The model requires eps <= 1; the printed values must be those of 1 + eps.",
            "We use eps = 0.49 and 0.69.",
            _reproduce("linear/fig4"),
        ),
        Erratum(
            "Appendix E.1",
            "Pareto(1.5) and Lomax(1.5) as two experiments",
            "When centred, as the model requires, the two distributions are equal.",
            "Both panels are drawn, but claims are tested in only one of them.",
            _reproduce("linear/fig3"),
        ),
        Erratum(
            "Proof of Theorem 1",
            "w_t^{-2} = beta_{t-1} / (tau_0 t^e)",
            "In the third case w_t^2 is tau_0 t^e / (2 sqrt(alpha) beta_{t-1}), which at alpha = 4 is a quarter of the "
            "printed w_t^2.",
            "The second term of the explicit bound has an additional factor of 4; the rate is the same.",
            _reproduce("linear/bound"),
        ),
        Erratum(
            "Proof of Corollary 1",
            "sqrt(2 kappa) nu sqrt(T + 1)",
            "The printed form is derived from sqrt(2 kappa (nu^2 T + 1)), but bounds this expression only for nu >= 1.",
            "We use sqrt(2 kappa (nu^2 T + 1)); the rate is the same.",
            _reproduce("linear/bound-only"),
        ),
        Erratum(
            "Lemma 1",
            "4 and alpha for the same constant of kappa",
            "The two agree only at alpha = 4.",
            "We use the general form, with alpha.",
            _tests("hvt_ucb"),
        ),
    ),
)

_GLM = Paper(
    "glm",
    "Generalized Linear Bandits: Almost Optimal Regret with One-Pass Update",
    "Zhang, Xu, Zhao & Sugiyama, NeurIPS 2025",
    easy="The update, its projection, the confidence radius, and the costs per round.",
    difficult="OFUGLB and OFULog-r need exact maximisers over level sets; on fixed arms their cost should not grow "
    "with t.",
    guessed="The value of delta in the synthetic experiments, the constants of ECOLog, RS-GLinCB and GLOC (we use "
    "public code for ECOLog and RS-GLinCB), and the factor by which radii are shrunk on Covertype. The paper does not "
    "state d, K or the arms of the synthetic experiments either, but all six values of kappa are those of one public "
    "instance, from the experiments of RS-GLinCB's authors (d = 5, K = 20, new arms in every round; see glm/kappas).",
    errata=(
        Erratum(
            "Theorem 1, second version",
            "lambda for R = 0",
            "For a Gaussian link this lambda is 0, so H_1 is singular.",
            "We use the form of the first version.",
            _tests("glb_omd"),
        ),
        Erratum(
            "Examples of links",
            "R = 0 for the exponential family with mean -1/z",
            "For this family mu''/mu' is 2/|z|, which is not 0.",
            "We use R = 2 / z_min for |z| >= z_min.",
            _tests("links"),
        ),
        Erratum(
            "Proof of Theorem 2",
            "mu' at optimistic parameters is bounded by C_mu",
            "These parameters may lie outside the ball; for a Poisson link the bound then fails.",
            "The bound is evaluated as stated.",
            _reproduce("glm/bound"),
        ),
        Erratum(
            "Appendix F.1",
            "All parameters except lambda follow the theory, also for RS-GLinCB.",
            "With the constants of its theorem every round belongs to the warm-up, at every S. A dependence on S, as "
            "in Figure 3, appears only with the constants of its authors' code.",
            "RS-GLinCB has the constants of the code; 'RS-GLinCB, theorem' has those of the theorem.",
            _reproduce("glm/fig1"),
        ),
    ),
)

_COCO = Paper(
    "coco",
    "Revisiting Projection-Free Online Learning with Time-Varying Constraints",
    "Wang, Wan & Zhang, AAAI 2025",
    easy="The surrogate losses and the Lyapunov weights.",
    difficult="Oracles on a trace-norm ball of realistic size, and comparators that satisfy every constraint.",
    guessed="Horizon, batch size, order of the data, starting point, G, curvature and tuning of both figures. Three "
    "baselines are reconstructed.",
    errata=(
        Erratum(
            "(12)",
            "sigma = 2 / sqrt(t - s + 1)",
            "In the first three rounds of an epoch sigma exceeds 1, so that plays can leave K.",
            "We use min(1, sigma).",
            _reproduce("coco/errata"),
        ),
        Erratum(
            "Algorithm 1, line 1",
            "G~_1 = 1",
            "With this value the steps depend on the units of the losses.",
            "We use beta G gamma; the printed value is a preset.",
            _reproduce("coco/errata"),
        ),
        Erratum(
            "(22)",
            "eta_k = c D / (d M G~_k T^{3/4})",
            "If losses, M and G~_k are multiplied by s, the product of eta_k and a gradient is divided by s, so steps "
            "depend on the units of the losses.",
            "We use the printed step; the field `eta_scale` = s compensates for the units.",
            _reproduce("coco/errata"),
        ),
        Erratum(
            "Theorem 1",
            "the constants",
            "At any practical horizon the weight of the constraint is below 0.003 times that of the loss.",
            "The preset theory has the constants as stated; we add a preset of our own, which balances the weights of "
            "loss and constraint.",
            _reproduce("coco/errata"),
            left_open=True,
        ),
        Erratum(
            "(17)",
            "sigma_{s_k,t}, the step of Algorithm 1",
            "Algorithm 2 has no epochs, and (16) and line 6 call its step sigma_t^sc.",
            "We use the line search of (16).",
            _tests("scofw"),
        ),
        Erratum(
            "Theorem 3",
            "C2 in the statement, but C3 in its proof; + 1 in C2; M bounds |f_t|",
            "(54) omits a factor 2 D of T sqrt(eps); the correct constant has D / 4 in place of 1. M has to bound the "
            "surrogate, including the constraint. The rates are the same.",
            "We use C2 as printed; `beta` and `value_bound` are fields.",
            _tests("bfw_tvc"),
        ),
        Erratum(
            "Theorem 4",
            "beta = 1 / (G D T^{2/3}), gamma = G / (G + alpha D), and gamma = O(T^{2/3})",
            "The two values of gamma contradict each other; the proof has beta = 1 and "
            "gamma = 16 (8 ln T^{1/3} + C3) G^2 T^{2/3} / alpha.",
            "We use the values of the proof; the preset `printed` has those of the statement.",
            _tests("scbfw_tvc"),
        ),
        Erratum(
            "(27)",
            "the regulariser of SCBFW-TVC",
            "A linear term is missing; without it, for losses ||x - a||^2 / 2 the iterates converge to a / 2.",
            "The term is added; a field selects the printed form.",
            _reproduce("coco/errata"),
        ),
        Erratum(
            "Theorem 2",
            "beta = 1 / (G D T^{2/3})",
            "This beta violates (39) for every alpha; (40) in the proof has gamma alpha / (500 G^2 T^{2/3}).",
            "We use the value of the proof; coco/errata runs both.",
            _reproduce("coco/errata"),
        ),
        Erratum(
            "(41), last equality",
            "500 G^2 (2 + gamma) T^{4/3} / (gamma alpha) + gamma^2 alpha D T^{5/3} / (250 G)",
            "The inequality before this equality is correct; with the beta of (40) it reads "
            "250000 (2 + gamma) G^4 T^{4/3} / (gamma alpha)^2 + 1000 G^3 D T^{5/3} / alpha.",
            "We use the inequality.",
            _reproduce("coco/errata"),
        ),
        Erratum(
            "Algorithm 3, step 6",
            "weights of Q_t",
            "Q_t depends on the perturbation of round t, so the estimate is biased.",
            "The printed form is the default; a field selects the weights of Q_{t-1}.",
            _reproduce("coco/errata"),
        ),
        Erratum(
            "Experiments",
            "P_t uniform on [-1, 1]",
            "Such constraints are independent of X_t and cannot be learned.",
            "We add a budget constraint, which can be learned.",
            _reproduce("coco/fig1"),
        ),
        Erratum(
            "Experiments",
            "f_t is strongly convex",
            "f_t has no curvature on entries that are not observed.",
            "The curvature is a parameter; in our runs it is the share of the observed entries that a round contains, "
            "in the preset tuned times a factor.",
            _reproduce("coco/fig1"),
        ),
        Erratum(
            "Experiments",
            "one entry (i, j) per round, and a loss summed over all observed entries O",
            "If the loss of a round is this sum, f_t is the same function in every round.",
            "A round's loss is the sum over a batch of entries.",
            _reproduce("coco/fig1"),
            left_open=True,
        ),
        Erratum(
            "Proof of Lemma 3, and (1)",
            "x* is the minimiser over K, and g_t(x*) <= 0 in every round",
            "A minimiser over K need not satisfy the constraints.",
            "The metric feasible_regret is against the best feasible point of K, and is the one that bounds are "
            "compared with; the metric regret is against the minimiser over K.",
            _reproduce("coco/rates"),
        ),
    ),
)

_DRO = Paper(
    "dro",
    "Stochastic Approximation Approaches to Group Distributionally Robust Optimization and Beyond",
    "Zhang, Bai, Zhao, Yang & Zhou, JMLR",
    easy="All algorithms, the step sizes of their theorems, Example 1, and the exact group sizes of Adult.",
    difficult="Exact optima and duality gaps of every synthetic instance, and projections onto capped simplices with "
    "ties.",
    guessed="The factors of the step sizes, the radius, G, the number of trials, the number of rounds of Figures 2, 3, "
    "6 and 7, and the features of Adult.",
    errata=(
        Erratum(
            "Algorithm 8",
            "the test c p_i < 1/k <= c p_{i+1}",
            "If there are ties at the cap, no split passes the test, and the weights can sum to m/k.",
            "We use the one-sided test.",
            _tests("capped"),
        ),
        Erratum(
            "Theorem 10",
            "'=' in its bound, with an unspecified constant c",
            "'<=' must be meant, and the constant has to be chosen.",
            "We use '<=' with c = 1.",
            _reproduce("dro/budgets"),
        ),
        Erratum(
            "Assumption 3",
            "losses in [0, 1]",
            "The logistic losses of the experiments exceed 1.",
            "Losses are not clipped; explicit bounds are tested only on problems with losses in [0, 1].",
            _reproduce("dro/bounds"),
        ),
        Erratum(
            "Proof of Theorem 12",
            "extreme points have k entries of 1",
            "Extreme points have k entries of 1/k.",
            "This has no effect on the algorithm.",
            _tests("atkro"),
        ),
    ),
)

_OCO = Paper(
    "oco",
    "Parameter-free Algorithms for the Stochastically Extended Adversarial Model",
    "Wang, Barik, Zhao & Tan, NeurIPS 2025",
    easy="OONS with its path-wise inequality, and the identity of Proposition A.1.",
    difficult="The projection in a matrix norm, and the meta algorithm with its three layers.",
    guessed="All instances and sizes, since the paper has no experiments, and the step size of the middle layer of the "
    "meta algorithm.",
    errata=(
        Erratum(
            "(5) and Theorem 4.1",
            "f(x) - f(0) bounded by <grad f(x), x>, whatever the sign of the weight",
            "For the (negative) weight of the comparator, convexity gives the opposite inequality; regret on smooth "
            "losses can be linear.",
            "By default the meta algorithm receives gradients at the point that was played; the printed surrogate and "
            "loss values are options.",
            _reproduce("oco/e3"),
        ),
        Erratum(
            "Algorithm 3",
            "b_t^k without a square",
            "Without a square the units of the terms do not agree.",
            "We use 32 beta_k (l - h)^2.",
            _reproduce("oco/certificates"),
        ),
        Erratum(
            "Algorithm 3",
            "beta^k_{t,j} of the middle layer",
            "The paper does not define it.",
            "We use the constant 2 beta_k.",
            _reproduce("oco/certificates"),
            left_open=True,
        ),
        Erratum(
            "Theorem 4.1, (8)",
            "O~(||u||^2 + ||u|| ...), which is O~(0) at u = 0",
            "The proof gives a bound with the square root of the variances, which does not vanish at u = 0.",
            "The algorithm is not changed; `n_small` adds radii below 2.",
            _reproduce("oco/origin"),
        ),
        Erratum(
            "Appendix C.3",
            "Lemma C.4, whose sums run up to t, for eta_t of (4), whose sum runs up to t - 1",
            "The lemma does not cover the round of a first large error. Once the sum exceeds z^2, a factor sqrt(2) "
            "repairs the proof; in earlier rounds the cap 1 / (64 D z) does.",
            "The algorithm is not changed; the bound that is checked sums eta_t ||e_t||^2 directly.",
            _reproduce("oco/bound"),
        ),
        Erratum(
            "Appendix E",
            "max D_t < sqrt(T)",
            "The argument gives only 2 sqrt(T).",
            "The algorithm is not changed.",
            _reproduce("oco/restarts"),
        ),
    ),
)

_CLASSICS = Paper(
    "classics",
    "Classical bandits",
    "Papers from 2010 to 2021, the thesis of Besson, and the book by Lattimore & Szepesvari",
    easy="KL-UCB's two figures, Figure 6.1 of the book and the notebooks of D-LinUCB state everything that is needed.",
    difficult="Running each learner 50,000 times within minutes, and ending a trial as soon as its learner stops.",
    guessed="K, the gap and the number of rounds of the adversary in Figure 3 (Tsallis-INF), the fixed m of Figure "
    "7.1, the number of rounds in the figure of Chapelle and Li, and the bonus of UCB in their Table 1, which here "
    "uses the logarithm of all rounds.",
    errata=(
        Erratum(
            "Russac et al., authors' code, D_LinUCB_class.py",
            "cov_squared = gamma^2 cov + a a' + (1 - gamma^2) lambda I, after cov was updated",
            "In Algorithm 1 this matrix (W) is updated from its own last value. In the code it is updated from the "
            "covariance (V), and the new arm counts twice, which widens the confidence bounds.",
            "We use Algorithm 1; the field `authors_code` selects the recursion of the code.",
            _reproduce("classics/russac-fig1"),
        ),
        Erratum(
            "Zhou et al. and Zhang et al., authors' code, learner_diag.py",
            "sigma = sqrt(sum lambda nu g^2 / U); weight decay to 0; U is updated when an arm is chosen, not when its "
            "reward arrives",
            "In the papers nu multiplies the root, so nu = 1e-5 under the root is a multiplier of 3e-3, 316 times as "
            "large. In the papers weights decay to their initial values, at which the function is 0.",
            "We use the form of the papers (`NeuralGradient`).",
            _tests("authors_code_of_neural_ts"),
        ),
        Erratum(
            "Gutin & Farias, authors' code FastGittins, policy.hpp, ThompsonPolicy",
            "if (totalsampled[a] == totalrewards[a]) return a",
            "An arm without a failure is always played. With 1 success in 1 play against an arm with 95 in 100, "
            "Thompson sampling plays it only with probability 0.11.",
            "We use Thompson sampling.",
            _tests("authors_code_of_fast_gittins"),
        ),
        Erratum(
            "ctx-bandits-mcmc-showdown, src/game.py, task wheel",
            "The reward depends only on the arm, and the last arm has the largest mean.",
            "In this code a learner that always plays the last arm has regret 0. On the wheel bandit with delta = 0.5 "
            "it has 124 % of the regret of uniform play.",
            "We use the wheel bandit of Riquelme et al., and compare with no result on that task.",
            _tests("code_of_mcmc_bandits"),
        ),
        Erratum(
            "Besson, thesis, captions of Tables 6.2 and 6.3",
            "20,000 rounds of problem 3, 100,000 rounds of problem 5",
            "The numbers of rounds are exchanged: in 20,000 rounds of problem 3 no regret can exceed 889, but four of "
            "the eleven printed numbers are larger.",
            "Problem 3 has 100,000 rounds and problem 5 has 20,000; KL-UCB, SW-kl-UCB and Thompson sampling then have "
            "the printed regret.",
            _reproduce("classics/besson-tables"),
        ),
        Erratum(
            "SMPyBandits, authors' code of these tables, class klUCB_forGLR",
            "c = 3 is the factor of log t",
            "In the text 3 is the factor of the second term of log t + 3 log log t. Indices at level 3 log t explain "
            "the printed regret of both variants of GLR-klUCB; at level log t regret is smaller.",
            "We use level log t; 'GLR local as coded' and 'GLR global as coded' have the level of the code.",
            _reproduce("classics/besson-tables"),
        ),
        Erratum(
            "SMPyBandits, configuration of these tables",
            "The number of changes is given to CUSUM-UCB, not to M-UCB.",
            "M-UCB then explores as for a single change, which explains its printed regret.",
            "M-UCB is given the true number of changes; 'M-UCB for one change' has the configuration of the thesis.",
            _reproduce("classics/besson-tables"),
        ),
        Erratum(
            "SMPyBandits, class DiscountedBayesianIndexPolicy",
            "Every round discounts the played arm K times, and no other arm.",
            "The posterior of an arm that is not discounted never forgets. This explains the printed regret of "
            "discounted Thompson sampling.",
            "All arms are discounted; 'DTS as coded' has the discount of the code.",
            _reproduce("classics/besson-tables"),
        ),
        Erratum(
            "SMPyBandits, class CentralizedMultiplePlay, Table of Chapter 5",
            "The rewards of all players advance the clock of one policy.",
            "With P players the indices of this policy have log(P t) in place of log t, which explains the printed "
            "regret.",
            "We use log t; the learners labelled 'as coded' have the clock of the code.",
            _reproduce("classics/teams-k9"),
        ),
        Erratum(
            "Wu & Liu, authors' code MAB.cpp",
            "A duel of arms i and j costs e_i + e_j.",
            "The paper compares with learners of Komiyama et al., where the strong regret of a duel is (e_i + e_j) / "
            "2.",
            "We use (e_i + e_j) / 2.",
            _tests("regret_and_winners"),
        ),
    ),
)

PAPERS = {paper.family: paper for paper in (_LINEAR, _GLM, _COCO, _DRO, _OCO, _CLASSICS)}
