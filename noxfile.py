"""Sessions in environments of their own, one for each version: `uvx nox` runs the tests on all Python versions.

uvx nox -s tests-3.12             one version, with the versions of constraints.txt
uvx nox -s newest                 the newest JAX, pre-releases included
"""

import nox

nox.options.default_venv_backend = "uv|venv"
nox.options.sessions = ["tests"]


@nox.session(python=["3.11", "3.12", "3.13"])
def tests(session: nox.Session) -> None:
    """Run the tests with the tested versions of the dependencies."""
    session.install("-c", "constraints.txt", "-e", ".[test]")
    _run_tests(session)


@nox.session(python="3.13")
def newest(session: nox.Session) -> None:
    """Run the tests with the newest JAX, including pre-releases."""
    session.install("-e", ".[test]")
    session.install("--upgrade", "--pre", "jax", "jaxlib")
    session.env["JAXBANDITS_CACHE"] = "off"
    _run_tests(session)


def _run_tests(session: nox.Session) -> None:
    """Run the quick tests; the precision belongs to the process, so that float32 has one of its own."""
    for part in ("tests", "tests/float32"):
        session.run("pytest", "-n", "auto", "-m", "not slow", part, *session.posargs)
