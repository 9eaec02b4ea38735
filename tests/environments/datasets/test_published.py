"""Published data sets: fetched from a server on the loopback address, checked, found; every failure one line."""

import argparse
import dataclasses
import functools
import gzip
import hashlib
import http.server
import io
import socket
import threading
import zipfile
from pathlib import Path

import pytest

from jaxbandits import InputError
from jaxbandits.cli import main
from jaxbandits.commands import reproduce
from jaxbandits.commands.data import data_on_this_machine, data_set_of
from jaxbandits.environments.datasets import published, uci
from jaxbandits.environments.datasets.published import DATA_SETS, DataSet, RemoteFile, fetch, find, text_digest
from jaxbandits.reproduction import EXPERIMENTS
from jaxbandits.reproduction.engine.budget import parts

TEXT = b"1 1 3.5\n1 2 4\n2 1 0.5\n"
SHA256 = hashlib.sha256(TEXT.strip()).hexdigest()


def archive(names):
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w") as made:
        for name in names:
            made.writestr(name, TEXT)
    return data.getvalue()


CONTENT = {
    "/plain": TEXT,
    "/windows": b"\xef\xbb\xbf" + TEXT.replace(b"\n", b"\r\n") + b"\r\n",
    "/gz": gzip.compress(TEXT),
    "/zip": archive(["film/readme.txt", "film/ratings.txt"]),
    "/other-zip": archive(["film/trust.txt"]),
    "/other": b"1 1 3\n",
    "/half-gz": gzip.compress(TEXT * 1000)[:-20],
    "/half-zip": archive(["film/ratings.txt"])[:-10],
    "/half": TEXT[:10],
}


class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        if self.path not in CONTENT:
            self.send_error(404)
            return
        self.send_response(200)
        self.send_header("Content-Length", str(len(TEXT) if self.path == "/half" else len(CONTENT[self.path])))
        self.end_headers()
        self.wfile.write(CONTENT[self.path])

    def log_message(self, *arguments):
        pass


@pytest.fixture(scope="module")
def address():
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_address[1]}"
    server.shutdown()
    server.server_close()
    thread.join()


@pytest.fixture
def offer_data_set(tmp_path, monkeypatch, address):
    """Offer a data set `toy` of one file at a path of the server, in an empty directory."""
    monkeypatch.setenv("JAXBANDITS_DATA", str(tmp_path / "data"))

    def offer(path, member="", base=address, sha256=SHA256):
        file = RemoteFile("ratings.txt", base + path, sha256, member)
        monkeypatch.setitem(DATA_SETS, "toy", DataSet("a toy", "ours", (file,)))
        return tmp_path / "data" / "toy" / "ratings.txt"

    return offer


@pytest.mark.parametrize(("path", "member"), [("/plain", ""), ("/windows", ""), ("/gz", ""), ("/zip", "ratings.txt")])
def test_what_is_published_is_fetched_and_found(offer_data_set, path, member, capsys):
    """Also with line ends of Windows, compressed, and from an archive; a second time nothing is downloaded."""
    expected = offer_data_set(path, member)
    assert find("toy") is None
    assert main(["data", "fetch", "toy"]) == 0
    assert capsys.readouterr().out.strip() == str(expected) and find("toy") == expected
    assert text_digest(expected) == SHA256 and [p.name for p in expected.parent.iterdir()] == ["ratings.txt"]
    offer_data_set("/nowhere")
    assert fetch("toy") == expected


@pytest.mark.parametrize(
    ("path", "member", "message"),
    [
        ("/nowhere", "", "the server answers 404"),
        ("/other", "", r"is not ratings.txt as published \(SHA-256 "),
        ("/half", "", "the connection ended before the whole file had arrived"),
        ("/half-gz", "", "is damaged or incomplete"),
        ("/half-zip", "ratings.txt", "is damaged or incomplete"),
        ("/other-zip", "ratings.txt", "does not contain ratings.txt"),
    ],
)
def test_anything_else_is_one_line_and_leaves_nothing(offer_data_set, path, member, message):
    expected = offer_data_set(path, member)
    with pytest.raises(InputError, match=message) as said:
        fetch("toy")
    assert "\n" not in str(said.value) and find("toy") is None and not expected.parents[1].exists()


def test_what_is_there_stays_where_nothing_is_fetched(offer_data_set):
    expected = offer_data_set("/nowhere")
    expected.parent.mkdir(parents=True)
    (expected.parent / "notes.txt").write_text("mine")
    with pytest.raises(InputError, match="the server answers 404"):
        fetch("toy")
    assert [p.name for p in expected.parent.iterdir()] == ["notes.txt"]


def test_without_a_connection_and_where_nothing_can_be_written(offer_data_set, tmp_path, monkeypatch):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        base = f"http://127.0.0.1:{free.getsockname()[1]}"  # nobody listens
        offer_data_set("/plain", base=base)
        with pytest.raises(InputError, match=rf"cannot fetch {base}/plain: no connection"):
            fetch("toy")
    assert not list(tmp_path.iterdir())
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("JAXBANDITS_DATA", str(tmp_path / "file"))
    with pytest.raises(InputError, match=r"cannot write .*file"):
        fetch("toy")


def test_unknown_names(capsys):
    assert main(["data", "fetch", "adul"]) == 2
    assert "unknown data set 'adul'; did you mean 'adult'?" in capsys.readouterr().err
    for call in (fetch, find):
        with pytest.raises(InputError, match="unknown data set 'mnist'"):
            call("mnist")


def test_the_list_says_where_sets_are_their_terms_and_who_uses_them(offer_data_set, capsys):
    offer_data_set("/plain")
    fetch("toy")
    assert main(["data", "list"]) == 0
    text = " ".join(capsys.readouterr().out.split())  # long lines are folded
    for line in (
        "CC BY 4.0",
        "used by: glm/covertype",
        "jaxbandits data fetch adult",
        f"path: {find('toy')}",
    ):
        assert line in text, line


def test_sets_that_are_not_fetched_say_where_they_are(tmp_path, monkeypatch, capsys):
    """By name, with the file and the folder; what is put there is found by `find` and by the reader."""
    monkeypatch.setenv("JAXBANDITS_DATA", str(tmp_path))
    assert main(["data", "list"]) == 0
    text = " ".join(capsys.readouterr().out.split())  # long lines are folded
    for name, file in (("letter", "letter-recognition.data"), ("penbased", "pendigits.tra"), ("satimage", "sat.trn")):
        line = f"download {file} from UCI Machine Learning Repository, '"
        assert f"to download it by hand: {line}" in text and f"into the directory {tmp_path / name}" in text
        assert main(["data", "fetch", name]) == 2
        assert f"{name} cannot be downloaded by fetch: {line}" in capsys.readouterr().err
        (tmp_path / name).mkdir()
        (tmp_path / name / file).write_text("")
        assert find(name) == tmp_path / name / file == uci.find(name, tmp_path)
    assert "used by: glm/covertype, classics/bietti-wins" in text


def test_experiments_name_their_data_set():
    users = {name: data_set_of(experiment) for name, experiment in EXPERIMENTS.items()}
    assert (
        users["dro/fig5"] == "adult"
        and users["coco/fig1"] == "movielens-100k"
        and users["glm/covertype"] == "covertype"
    )
    assert users["classics/bietti-wins"] is None and users["linear/fig1"] is None


def test_reproduce_plays_what_is_there(tmp_path, monkeypatch):
    """Else one line says that a stand-in is played, and how to fetch the data."""
    monkeypatch.setenv("JAXBANDITS_DATA", str(tmp_path))
    experiment = EXPERIMENTS["glm/covertype"]
    path, message = data_on_this_machine(experiment)
    assert path is None
    assert message.startswith("glm/covertype: ") and "jaxbandits data fetch covertype" in message
    (tmp_path / "covertype").mkdir()
    (tmp_path / "covertype" / "covtype.data.gz").write_bytes(b"")
    path, message = data_on_this_machine(experiment)
    assert path == tmp_path / "covertype" / "covtype.data.gz" and message == f"glm/covertype: uses {path}"
    assert data_on_this_machine(EXPERIMENTS["linear/fig1"]) == (None, "")


def test_a_run_of_a_budget_plays_what_is_there(tmp_path, monkeypatch, capsys):
    """In this process and in another one, also what --data names; else one line says that it uses a stand-in."""
    monkeypatch.setenv("JAXBANDITS_DATA", str(tmp_path))
    played = []
    monkeypatch.setattr(
        reproduce, "_reproduce_one", lambda experiment, data, *_: played.append((experiment.title, data))
    )
    made = EXPERIMENTS["glm/covertype"]
    monkeypatch.setitem(EXPERIMENTS, made.name, dataclasses.replace(made, from_file=lambda path: {"title": path.name}))
    arguments = argparse.Namespace(data=None, exclude=[])
    part = next(iter(parts(made, "quick")))
    for run in (reproduce._run_part, reproduce._run_apart):
        of = EXPERIMENTS[made.name] if run is reproduce._run_part else made.name
        outcome = run(of, part, tmp_path, arguments)
        said = capsys.readouterr().err + outcome.errors
        assert outcome.worked and "stand-in for covertype; `jaxbandits data fetch covertype`" in said
    (tmp_path / "covertype").mkdir()
    file = tmp_path / "covertype" / "covtype.data.gz"
    file.write_bytes(b"")
    reproduce._run_part(EXPERIMENTS[made.name], part, tmp_path, arguments)
    arguments.data = tmp_path / "mine.data"
    reproduce._run_apart(made.name, part, tmp_path, arguments)
    assert played == [(made.title, None)] * 2 + [(file.name, file), ("mine.data", arguments.data)]


@pytest.mark.parametrize("name", [name for name, found in DATA_SETS.items() if not found.by_hand])
def test_digests_are_those_of_the_published_files(name):
    """The files are those of JAXBANDITS_DATA."""
    path = find(name) if published.directory() is not None else None
    if path is None:
        pytest.skip(f"no {name} on this machine")
    folder = path if path.is_dir() else path.parent
    for file in DATA_SETS[name].files:
        assert text_digest(Path(folder) / file.name) == file.sha256


def test_nothing_is_imported_for_it():
    """`import jaxbandits` and `--help` know neither frames nor pooch."""
    import subprocess
    import sys

    code = (
        "import sys, jaxbandits, jaxbandits.data; from jaxbandits.cli import _parser; _parser();"
        "print({'polars', 'narwhals', 'pooch', 'pandas', 'pyarrow', 'requests', 'sklearn'} & {*sys.modules})"
    )
    run = functools.partial(subprocess.run, check=True, capture_output=True, text=True)
    assert run([sys.executable, "-c", code]).stdout.strip() == "set()"
