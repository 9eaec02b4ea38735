"""Labelled arrays and tidy tables agree with the values."""

import csv
import sys

import numpy as np
import pytest

from jaxbandits.base import files
from jaxbandits.base.errors import InputError
from jaxbandits.results.result import Result
from tests.results import factories


def test_a_grid_has_one_dimension_per_field(rng):
    pytest.importorskip("xarray")
    points = [{"rate": r, "environment.scale": s} for s in (1.0, 2.0) for r in (0.1, 0.2, 0.4)]
    trials = factories.trials({"loss": rng.normal(size=(6, 4, 3)), "risk": rng.normal(size=(6, 4, 3, 2))}, points,
                         axes={"risk": ("group",)}, units={"loss": "points"})  # fmt: skip
    dataset = Result({"a": trials}).to_xarray()["a"]
    assert dataset["loss"].dims == ("rate", "environment.scale", "seed", "round")
    assert dataset["risk"].dims[-1] == "group" and dataset["loss"].units == "points"
    one = dataset.sel({"rate": 0.2, "environment.scale": 2.0, "seed": 3, "round": 30})
    assert float(one["loss"]) == trials.values["loss"][4, 3, 2]
    np.testing.assert_array_equal(one["risk"], trials.values["risk"][4, 3, 2])


def test_points_that_are_no_grid_share_a_dimension(rng):
    pytest.importorskip("xarray")
    points = [{"rate": 0.1, "scale": 1.0}, {"rate": 0.2, "scale": 4.0}, {"rate": 0.2, "scale": 9.0}]
    trials = factories.trials({"loss": rng.normal(size=(3, 4, 2))}, points)
    dataset = Result({"a": trials}).to_xarray()["a"]
    assert dataset["loss"].dims == ("point", "seed", "round")
    np.testing.assert_array_equal(dataset.sel(rate=0.2).sel(scale=9.0)["loss"].squeeze(), trials.values["loss"][2])


@pytest.mark.slow
def test_every_label_has_arrays_of_its_own(tmp_path):
    xarray = pytest.importorskip("xarray")
    result = factories.result()
    arrays = result.to_xarray()
    assert arrays["swept"]["regret"].shape == (3, 6, 4) and arrays["grouped"]["risk"].dims == ("seed", "round", "group")
    pytest.importorskip("h5netcdf")
    arrays["swept"].to_netcdf(tmp_path / "a.nc", engine="h5netcdf")
    with xarray.open_dataset(tmp_path / "a.nc", engine="h5netcdf") as again:
        np.testing.assert_array_equal(again["loss"], arrays["swept"]["loss"])


def test_tidy_tables_hold_every_number_once():
    polars, pandas = pytest.importorskip("polars"), pytest.importorskip("pandas")
    result = factories.result()
    frame = result.to_polars()
    assert frame.columns == ["label", "rate", "seed", "round", "healthy", "inadmissible", "regret", "loss", "risk[0]",
                             "risk[1]", "risk[2]"]  # fmt: skip
    assert len(frame) == 3 * 6 * 4 + 4 * 2
    one = frame.filter((polars.col("rate") == 0.2) & (polars.col("seed") == 1) & (polars.col("round") == 40))
    assert one["loss"].to_list() == [result.get("loss", "swept")[1, 1, -1]] and one["risk[0]"].to_list() == [None]
    one = frame.filter((polars.col("label") == "grouped") & (polars.col("seed") == 3) & (polars.col("round") == 5))
    assert one["risk[2]"].to_list() == [result.get("risk", "grouped")[0, 1, 0, 2]] and one["rate"].to_list() == [None]
    other = result.to_pandas()
    assert isinstance(other, pandas.DataFrame) and list(other) == frame.columns
    np.testing.assert_array_equal(other["loss"].dropna(), frame["loss"].drop_nulls())


def test_csv_is_the_same_table(tmp_path):
    result = factories.result()
    path = result.to_csv(tmp_path / "deep" / "r.csv")
    with open(path, newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 3 * 6 * 4 + 4 * 2
    assert float(rows[0]["loss"]) == result.get("loss", "swept")[0, 0, 0] and rows[0]["risk[0]"] == ""
    assert rows[-1]["label"] == "grouped" and rows[-1]["rate"] == ""
    assert float(rows[-1]["risk[2]"]) == result.get("risk", "grouped")[0, 3, 1, 2]
    with pytest.raises(InputError, match="the name of a file must be a string or a path object"):
        result.to_csv(None)
    with pytest.raises(InputError, match="cannot write"):
        result.to_csv(tmp_path)


def test_a_field_and_a_metric_of_one_name_are_told_apart():
    pytest.importorskip("xarray")
    result = Result({"a": factories.trials({"radius": np.ones((1, 2, 3))}, [{"radius": 7.0}])})
    dataset = result.to_xarray()["a"]
    assert dataset["radius"].dims == ("radius (field)", "seed", "round")
    assert dataset["radius (field)"].values.tolist() == [7.0]
    assert list(result.to_pandas()["radius (field)"].unique()) == [7.0]


def test_a_metric_with_the_name_of_an_entry_is_told_apart(tmp_path):
    entries, scalar = np.arange(12.0).reshape(1, 3, 2, 2), -np.ones((1, 3, 2))
    for values in ({"c": entries, "c[0]": scalar}, {"c[0]": scalar, "c": entries}):
        path = Result({"a": factories.trials(values)}).to_csv(tmp_path / "r.csv")
        with open(path, newline="") as file:
            (first, *_) = csv.DictReader(file)
        assert [first[name] for name in ("c[0]", "c[1]", "c[0] (metric)")] == ["0.0", "1.0", "-1.0"]


@pytest.mark.parametrize(
    ("method", "package", "how"),
    [("to_xarray", "xarray", r"jaxbandits\[xarray\]"), ("to_polars", "polars", r"jaxbandits\[frames\]"),
     ("to_pandas", "pandas", "pip install pandas")],
)  # fmt: skip
def test_a_missing_package_says_how_to_install_it(monkeypatch, method, package, how):
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(InputError, match=how):
        getattr(factories.result(), method)()


def test_summaries_and_files_of_other_tools(tmp_path):
    polars, xarray = pytest.importorskip("polars"), pytest.importorskip("xarray")
    pytest.importorskip("h5netcdf")
    result = factories.result()
    with pytest.warns(UserWarning, match="intervals of skewed"):
        frame, rows = result.summary_frame("regret"), result.summary("regret")
    assert frame["mean"].to_list() == [row.mean for row in rows] and frame["rate"].to_list() == [0.1, 0.2, 0.4, None]
    assert polars.read_parquet(result.to_parquet(tmp_path / "r.parquet")).equals(result.to_polars())
    path = result.to_netcdf(tmp_path / "r.nc")
    for label, data in result.to_xarray().items():
        with xarray.open_dataset(path, engine="h5netcdf", group=label) as again:
            assert again.equals(data)
    for write in (result.to_parquet, result.to_netcdf):
        with pytest.raises(InputError, match="cannot write"):
            write(tmp_path)
    assert sorted(file.name for file in tmp_path.iterdir()) == ["r.nc", "r.parquet"]


def test_a_field_with_the_name_of_an_axis_stays_in_the_summary():
    pytest.importorskip("polars")
    values = np.arange(12.0).reshape(2, 3, 1, 2)
    trials = factories.trials({"risk": values}, [{"group": 7}, {"group": 9}], axes={"risk": ("group",)})
    with pytest.warns(UserWarning, match="only 3 seeds"):
        frame = Result({"a": trials}).summary_frame()
    assert frame["group (field)"].to_list() == [7, 7, 9, 9] and frame["group"].to_list() == [0, 1, 0, 1]


def test_text_that_a_spreadsheet_would_run_is_text(tmp_path):
    trials = factories.trials({"a": -np.ones((1, 1, 1))}, [{"rule": "@sum(A1)"}])
    path = Result({"=HYPERLINK(0)": trials, "+1": trials, "fine": trials}).to_csv(tmp_path / "r.csv")
    with path.open() as file:
        rows = list(csv.DictReader(file))
    assert [row["label"] for row in rows] == ["'=HYPERLINK(0)", "'+1", "fine"]
    assert {row["rule"] for row in rows} == {"'@sum(A1)"} and {row["a"] for row in rows} == {"-1.0"}


def test_labels_that_netcdf_would_confuse_have_groups_of_their_own(tmp_path):
    xarray = pytest.importorskip("xarray")
    pytest.importorskip("h5netcdf")
    labels = ("a/b", "a-b", "a//b", ".", "..", "_", "a-b 2")
    result = Result({label: factories.trials({"m": np.full((1, 1, 1), i)}) for i, label in enumerate(labels)})
    groups = xarray.open_groups(result.to_netcdf(tmp_path / "r.nc"), engine="h5netcdf")
    found = {data.attrs["label"]: float(data["m"].item()) for data in groups.values() if "label" in data.attrs}
    assert found == {label: i for i, label in enumerate(labels)}
    assert float(groups["/a-b"]["m"].item()) == 1.0  # the label that is a name keeps it


def test_a_terminal_is_shown_control_characters_as_escapes():
    shown = str(Result({"a\x1b[2J\n": factories.trials({"m": np.ones((1, 2, 1))})}))
    assert "\x1b" not in shown and r"a\x1b[2J\n" in shown


def test_a_metric_with_a_slash_keeps_its_numbers_in_netcdf(tmp_path):
    xarray = pytest.importorskip("xarray")
    pytest.importorskip("h5netcdf")
    values = np.arange(6.0).reshape(1, 3, 2)
    result = Result(
        {"a": factories.trials({"a/b": values, "a-b": -values, "c/d": values[..., None]}, axes={"c/d": ("x/y",)})}
    )
    with xarray.open_dataset(result.to_netcdf(tmp_path / "r.nc"), engine="h5netcdf", group="a") as again:
        assert sorted(again.data_vars) == ["a-b", "a-b 2", "c-d", "healthy", "inadmissible"]
        np.testing.assert_array_equal(np.squeeze(again["a-b 2"].values), values[0])
        assert again["c-d"].dims[-1] == "x-y"


def test_a_disk_that_is_full_is_one_line_and_leaves_no_library_with_an_open_file(tmp_path, monkeypatch):
    """The library that makes HDF5 never sees the disk: it would crash the process when it closes the file."""
    pytest.importorskip("h5netcdf")

    def full(descriptor):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(files.os, "fsync", full)
    with pytest.raises(InputError, match=r"cannot write .*r\.nc: No space left on device"):
        factories.result().to_netcdf(tmp_path / "r.nc")
    assert not [*tmp_path.iterdir()]
