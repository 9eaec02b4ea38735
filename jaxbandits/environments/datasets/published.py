"""Published data sets: their addresses, their terms, and their local copies.

    path = fetch("adult")        directory of the files, which are downloaded if they are missing

Data sets are stored in the directory JAXBANDITS_DATA, or else in the user's cache, with one folder per data set. A
download is checked by the SHA-256 digest of its decompressed text. Before the digest is computed, line ends are
converted to Unix line ends and white space at both ends is removed, since servers and editors may change both.
"""

import contextlib
import gzip
import hashlib
import os
import tempfile
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from jaxbandits.base.errors import InputError, unknown_name

_TIMEOUT_S = 30.0  # longest wait for the first byte and between two reads, in seconds


class RemoteFile(NamedTuple):
    """A file of a data set.

    Attributes:
      name: name of the local copy.
      url: address of the file, or of the zip archive that contains it; "" if users must download the file themselves.
      sha256: SHA-256 digest of the text; "" if it is not known.
      member: end of the path of the file in the archive; "" if `url` is not an archive.
    """

    name: str
    url: str = ""
    sha256: str = ""
    member: str = ""


class DataSet(NamedTuple):
    """Description of a published data set.

    Attributes:
      title: description of the data set.
      terms: licence, and authors to cite.
      files: all files of the data set.
      by_hand: site from which users must download the files; "" if `fetch` downloads them.
    """

    title: str
    terms: str
    files: tuple[RemoteFile, ...]
    by_hand: str = ""

    @property
    def argument(self) -> str:
        """Name of the file if there is only one; "" if there are several, for which `--data` expects their folder."""
        return self.files[0].name if len(self.files) == 1 else ""


_UCI = "https://archive.ics.uci.edu/ml/machine-learning-databases"
DATA_SETS = {
    "adult": DataSet(
        "UCI Adult: 48,842 people, 14 attributes, income above 50,000",
        "CC BY 4.0; Becker & Kohavi, 1996",
        (
            RemoteFile(
                "adult.data",
                f"{_UCI}/adult/adult.data",
                "ea895aae047aa83ca757e3024a029be8b11806c656ad2c5b1efd8cec28af19ad",
            ),
            RemoteFile(
                "adult.test",
                f"{_UCI}/adult/adult.test",
                "cef936265eaa826d9b44c86da611553fb99772b632b60ef8577a97fe8efdb2e3",
            ),
        ),
    ),
    "covertype": DataSet(
        "UCI Covertype: 581,012 plots of forest, 54 attributes, 7 cover types",
        "CC BY 4.0; Blackard, 1998",
        (
            RemoteFile(
                "covtype.data.gz",
                f"{_UCI}/covtype/covtype.data.gz",
                "b01869df22801f347933597e60941a9b5a361d2c050b01c863b2188eba9ff344",
            ),
        ),
    ),
    "movielens-100k": DataSet(
        "MovieLens-100k: 100,000 ratings of 1,682 films by 943 users",
        "research use, not to be passed on; Harper & Konstan, ACM TiiS 2015",
        (
            RemoteFile(
                "u.data",
                "https://files.grouplens.org/datasets/movielens/ml-100k/u.data",
                "f30dc7fc1d0a843b086c92eb2fab6a21a99a3d1acc149cfb73b3e6594a8d394b",
            ),
        ),
    ),
    "filmtrust": DataSet(
        "FilmTrust: 35,497 ratings of 2,071 films by 1,508 users",
        "no licence stated; Guo, Zhang & Yorke-Smith, IJCAI 2013",
        (
            RemoteFile(
                "ratings.txt",
                "https://guoguibing.github.io/librec/datasets/filmtrust.zip",
                "9a6c172d4f2226c140d2ae573f9336aa84ec9c5db722d48fffd0d3b400bca025",
                "ratings.txt",
            ),
        ),
    ),
    "letter": DataSet(
        "UCI Letter Recognition: 20,000 images of letters, 16 attributes, 26 classes",
        "CC BY 4.0; Slate, 1991",
        (RemoteFile("letter-recognition.data"),),
        "UCI Machine Learning Repository, 'Letter Recognition'",
    ),
    "penbased": DataSet(
        "UCI Pen-Based Recognition of Handwritten Digits, training part: 7,494 digits, 16 attributes, 10 classes",
        "CC BY 4.0; Alpaydin & Alimoglu, 1996",
        (RemoteFile("pendigits.tra"),),
        "UCI Machine Learning Repository, 'Pen-Based Recognition of Handwritten Digits'",
    ),
    "satimage": DataSet(
        "UCI Statlog (Landsat Satellite), training part: 4,435 pixels, 36 attributes, 6 classes",
        "CC BY 4.0; Srinivasan, 1993",
        (RemoteFile("sat.trn"),),
        "UCI Machine Learning Repository, 'Statlog (Landsat Satellite)'",
    ),
}


def directory() -> Path | None:
    """Return the directory in which data sets are stored.

    It is the value of the environment variable JAXBANDITS_DATA, or else a directory in the user's cache. The result is
    None if the variable is not set and the extra `data` is not installed.
    """
    named = os.environ.get("JAXBANDITS_DATA", "")
    if named:
        return Path(named).expanduser()
    try:
        import platformdirs  # installed together with pooch
    except ImportError:
        return None
    return platformdirs.user_cache_path("jaxbandits") / "data"


def find_entry(name: str) -> DataSet:
    """Return the description of a data set, given its name.

    Raises:
      InputError: if the name is unknown; the message suggests similar names.
    """
    if name not in DATA_SETS:
        raise unknown_name("data set", name, DATA_SETS)
    return DATA_SETS[name]


def find(name: str) -> Path | None:
    """Return the path of a data set for `--data`: its only file, or the folder of its files; None if a file is missing.

    Raises:
      InputError: if the name is unknown.
    """
    found, place = find_entry(name), directory()
    if place is None or not all((place / name / file.name).is_file() for file in found.files):
        return None
    return place / name / found.argument


def fetch(name: str) -> Path:
    """Download the missing files of a data set, and return the path of the data set (as `find` does).

    Raises:
      InputError: if the name is unknown, users must download the data set themselves, the extra `data` is not
        installed, the download fails, a file differs from the published file, or a file cannot be written.
    """
    found, place = find_entry(name), directory()
    if found.by_hand:
        raise InputError(f"{name} cannot be downloaded by fetch: {by_hand(name)}")
    try:
        import pooch
    except ImportError:
        pooch = None
    if pooch is None or place is None:
        raise InputError("fetching data needs the extra `data` (pooch): pip install 'jaxbandits[data]'")
    folder = place / name
    for file in found.files:
        if not (folder / file.name).is_file():
            try:
                with _new_folder(folder), tempfile.TemporaryDirectory(dir=folder) as temporary:
                    text = _download(pooch, file, temporary)
                    os.replace(text, folder / file.name)
            except OSError as error:
                raise InputError(f"cannot write {folder / file.name}: {error.strerror or error}") from None
    return folder / found.argument


def by_hand(name: str) -> str:
    """Return instructions on where to get the files that `fetch` cannot download, and where to put them."""
    found, place = find_entry(name), directory()
    folder = f"{place / name if place else name}"
    return (
        f"download {' and '.join(file.name for file in found.files)} from {found.by_hand} into the directory {folder}"
    )


@contextlib.contextmanager
def _new_folder(folder: Path) -> Iterator[None]:
    """Create a folder for a `with` block; if it is empty at the end, remove it and the parents that were created."""
    new = [path for path in (folder, *folder.parents) if not path.exists()]
    folder.mkdir(parents=True, exist_ok=True)
    try:
        yield
    finally:
        with contextlib.suppress(OSError):  # stop at the first folder that is not empty
            for path in new:
                path.rmdir()


def _download(pooch: Any, file: RemoteFile, folder: str) -> Path:
    """Download a file into a folder, compare its digest with the published one, and return its path."""
    import requests

    pooch.get_logger().setLevel("WARNING")
    try:
        path = Path(pooch.retrieve(file.url, None, fname="download", path=folder, downloader=_write))
    except requests.exceptions.HTTPError as error:
        answer: Any = error.response
        raise InputError(f"cannot fetch {file.url}: the server answers {answer.status_code}") from None
    except requests.exceptions.Timeout:
        raise InputError(f"cannot fetch {file.url}: no answer within {_TIMEOUT_S:g} s") from None
    except requests.exceptions.ChunkedEncodingError:
        raise InputError(f"cannot fetch {file.url}: the connection ended before the whole file had arrived") from None
    except requests.exceptions.RequestException:
        raise InputError(f"cannot fetch {file.url}: no connection") from None
    try:
        if file.member:
            path = _extract(path, file)
        found = text_digest(path)
    except (EOFError, zlib.error, zipfile.BadZipFile, gzip.BadGzipFile):
        raise InputError(f"the file received from {file.url} is damaged or incomplete") from None
    if found != file.sha256:
        raise InputError(
            f"the file from {file.url} is not {file.name} as published "
            f"(SHA-256 {found[:12]}..., not {file.sha256[:12]}...)"
        )
    return path


def _write(url: str, path: str, pooch: Any) -> None:
    """Download a file like `pooch.HTTPDownloader`, but close the connection even if an error occurs."""
    import requests

    del pooch
    with requests.get(url, stream=True, timeout=_TIMEOUT_S) as response, open(path, "wb") as file:
        response.raise_for_status()
        for chunk in response.iter_content(1 << 16):
            file.write(chunk)


def _extract(path: Path, file: RemoteFile) -> Path:
    """Extract a member of an archive into the directory of the archive, and return its path."""
    with zipfile.ZipFile(path) as archive:
        inside = next((name for name in archive.namelist() if name.endswith(file.member)), None)
        if inside is None:
            raise InputError(f"{file.url} does not contain {file.member}")
        member = path.with_name("member")
        member.write_bytes(archive.read(inside))
    return member


def text_digest(path: Path) -> str:
    """Return the SHA-256 digest of a decompressed text, with Unix line ends and no white space at both ends."""
    data = path.read_bytes()
    data = gzip.decompress(data) if data.startswith(b"\x1f\x8b") else data
    return hashlib.sha256(data.removeprefix(b"\xef\xbb\xbf").replace(b"\r\n", b"\n").strip()).hexdigest()
