"""Long runs against outside solvers: the least maximal risk of groups of rows, the least mean of the k largest.

`pip install -e ".[outside]"` brings cvxpy and Clarabel, `pip install --no-deps dro` the package of that name, whose
linear models need nothing else. Without them these tests are skipped.
"""

import importlib
import importlib.util
import sys
import types

import numpy as np
import pytest

from jaxbandits.domains import L2Ball
from jaxbandits.dro import SMD, ATkROk, ATkROm, GroupData, Online
from jaxbandits.environments.datasets.groups import Groups
from jaxbandits.simulation import simulate

M, D, ROWS, RADIUS, K = 4, 3, 30, 2.0, 2


@pytest.fixture(scope="module")
def table():
    """Four groups that want different models, the first with a fifth of its labels wrong."""
    rng = np.random.default_rng(5)
    x = rng.normal(size=(M, ROWS, D))
    y = np.sign(np.einsum("mrd,md->mr", x, rng.normal(size=D) + 0.8 * rng.normal(size=(M, D))))
    y[0, : ROWS // 5] *= -1.0
    group = np.repeat(np.arange(M), ROWS)
    return Groups(x.reshape(-1, D), y.ravel(), group, tuple("abcd"))


def least(table, k):
    """`min over ||w|| <= RADIUS of the mean of the k largest R_i(w)`, by cvxpy."""
    cvxpy = pytest.importorskip("cvxpy")
    w = cvxpy.Variable(D)
    losses = cvxpy.logistic(cvxpy.multiply(-table.labels, table.features @ w))
    risks = cvxpy.hstack([cvxpy.sum(losses[table.group == i]) / ROWS for i in range(M)])
    problem = cvxpy.Problem(cvxpy.Minimize(cvxpy.sum_largest(risks, k) / k), [cvxpy.norm(w) <= RADIUS])
    return problem.solve()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("cls", "k"), [(SMD, 1), (Online, 1), (ATkROm, K), (ATkROk, K)], ids=lambda value: getattr(value, "__name__", None)
)
def test_long_runs_come_down_to_the_least_risk(table, cls, k):
    """Never below it; 100,000 rounds leave a hundredth at most, and 0.3 of what 100 leave (1/sqrt(T): 0.03)."""
    value, metric = least(table, k), "max_risk" if k == 1 else "top_k_risk"
    environment = GroupData.from_table(table, top_k=k)
    excess = []
    for horizon in (100, 100_000):
        told = {"dim": D, "n_groups": M, "horizon": horizon, "domain": L2Ball(radius=RADIUS)} | (
            {"k": k} if k > 1 else {}
        )
        found = simulate(cls(**told), environment, horizon, 8, record_points=1, progress=False).final(metric)
        assert np.all(found > value - 1e-6)
        excess.append(np.mean(found) - value)
    assert excess[1] < 0.01 and excess[1] < 0.3 * excess[0], excess


def _group_dro():
    """`GroupDRO` of the package `dro`, of which the other modules, and with them torch, stay out."""
    pytest.importorskip("cvxpy")
    found = importlib.util.find_spec("dro")
    if found is None or not found.submodule_search_locations:
        pytest.skip("needs the package dro")
    kept = {name: module for name, module in sys.modules.items() if name.partition(".")[0] == "dro"}
    try:
        for name in ("dro", "dro.linear_model"):  # packages whose __init__ is not run
            package = sys.modules[name] = types.ModuleType(name)
            package.__path__ = [f"{place}/{name[4:]}" for place in found.submodule_search_locations]
        return importlib.import_module("dro.linear_model.group_dro").GroupDRO
    except ModuleNotFoundError as error:
        pytest.skip(f"dro without GroupDRO, or without what it needs: {error}")
    finally:
        for name in [name for name in sys.modules if name.partition(".")[0] == "dro"]:
            del sys.modules[name]
        sys.modules.update(kept)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:.*scaler:UserWarning", "ignore::DeprecationWarning")
@pytest.mark.parametrize("cls", [SMD, Online], ids=lambda cls: cls.__name__)
def test_long_runs_come_down_to_the_optimum_of_the_dro_package(table, cls):
    """Its linear logistic model, whose groups are the values of a feature; both without a bound that binds."""
    features = np.column_stack([table.features, table.group / 2.0 - 0.75])
    model = _group_dro()(input_dim=D + 1, group_idx=D, model_type="logistic", fit_intercept=False)
    found = model.fit(features, table.labels)
    assert np.linalg.norm(found["theta"]) < 0.8 * RADIUS
    environment = GroupData.from_table(Groups(features, table.labels, table.group, table.names))
    risks = environment.risks(environment.init(None), np.asarray(found["theta"]))
    np.testing.assert_allclose(risks, found["group_losses"], rtol=1e-9)
    excess = []
    for horizon in (100, 100_000):
        told = {"dim": D + 1, "n_groups": M, "horizon": horizon, "domain": L2Ball(radius=RADIUS)}
        least = simulate(cls(**told), environment, horizon, 8, record_points=1, progress=False).final("max_risk")
        assert np.all(least > found["robust_loss"] - 1e-6)
        excess.append(np.mean(least) - found["robust_loss"])
    assert excess[1] < 0.01 and excess[1] < 0.3 * excess[0], excess
