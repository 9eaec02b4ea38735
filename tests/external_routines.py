"""Functions that leave the compiled program: each LAPACK routine that JAX calls, and further ones.

python -m tests.external_routines targets DIRECTORY    save or read back one program a LAPACK target of jaxlib
python -m tests.external_routines learners NAME ...    simulate a learner that calls each routine; NAME/blocks: in the
                                                       form for accelerators, on the CPU

Both print one JSON object, which a test compares between two processes.
"""

import contextlib
import json
import sys
from pathlib import Path
from typing import Any, ClassVar
from unittest import mock

import jax
import jax.numpy as jnp
import numpy as np
from jax.lax import linalg

from jaxbandits.base.pytree import param, pytree, static
from jaxbandits.programs.executables import Executables
from jaxbandits.programs.program_identity import identify
from jaxbandits.simulation import simulate
from jaxbandits.tracing import target
from jaxbandits.types import PointDecision, Reward
from tests.toy_problems import Noisy

# By LAPACK's name without its first letter; arguments: a positive definite matrix and a general one, `[3, 3]`.
LAPACK = {
    "trsm": lambda a, b: linalg.triangular_solve(jnp.tril(b), b, left_side=True, lower=True),
    "getrf": lambda a, b: linalg.lu(b)[0],
    "geqrf": lambda a, b: linalg.qr(b)[1],
    "geqp3": lambda a, b: jax.scipy.linalg.qr(b, pivoting=True)[1],
    "orgqr": lambda a, b: linalg.qr(b)[0],
    "potrf": lambda a, b: linalg.cholesky(a),
    "gesdd": lambda a, b: jnp.linalg.svd(b, compute_uv=False),
    "gesvd": lambda a, b: linalg.svd(b, compute_uv=False, algorithm=linalg.SvdAlgorithm.QR)[0],
    "syevd": lambda a, b: jnp.linalg.eigh(a)[0],
    "geev": lambda a, b: linalg.eig(b)[0],
    "sytrd": lambda a, b: linalg.tridiagonal(a)[1],
    "gees": lambda a, b: linalg.schur(b)[0],
    "gehrd": lambda a, b: linalg.hessenberg(b)[0],
    "gtsv": lambda a, b: linalg.tridiagonal_solve(b[0], b[1], b[2], b),
}
if hasattr(linalg, "ormqr"):  # a newer JAX
    LAPACK["ormqr"] = lambda a, b: linalg.ormqr(b, b[0], a)
TYPES = ("float32", "float64", "complex64", "complex128")


def matrices(dtype: str) -> tuple[jax.Array, jax.Array]:
    """Return a positive definite matrix and one without symmetry."""
    b = np.asarray([[2.0, 0.3, 0.1], [0.5, 3.0, 0.2], [0.7, 0.4, 4.0]])
    return jnp.asarray(b @ b.T, dtype), jnp.asarray(b, dtype)


def targets(directory: str) -> dict[str, Any]:
    """Return, per routine and type, the custom calls of the program, None where it was read back, and a number."""
    kept, found = Executables(Path(directory)), {}
    device = jax.local_devices()[0]
    for name, function in LAPACK.items():
        for dtype in TYPES:
            args, calls = matrices(dtype), None
            out = jax.eval_shape(function, *args)
            program = kept.load(f"{name}-{dtype}", args, out, device)
            if program is None:
                lowered = jax.jit(function).lower(*args)
                program, calls = lowered.compile(), sorted(identify(lowered, {}).targets)
                kept.save(f"{name}-{dtype}", program, frozenset(calls))
            found[f"{name} {dtype}"] = calls, repr(np.asarray(program(*args)).tolist())
    return found


LEARNERS = {
    **LAPACK,
    "inv": lambda a, b: jnp.linalg.inv(b),
    "solve": lambda a, b: jnp.linalg.solve(a, b[0]),
    "expm": lambda a, b: jax.scipy.linalg.expm(b),
    "sqrtm": lambda a, b: jax.scipy.linalg.sqrtm(a).real,
    "lstsq": lambda a, b: jnp.linalg.lstsq(b, b[0])[0],
    "sort": lambda a, b: jnp.sort(b, axis=0),
    "top_k": lambda a, b: jax.lax.top_k(b, 2)[0],
    "fft": lambda a, b: jnp.abs(jnp.fft.fft(b[0])),
    "callback": lambda a, b: jax.pure_callback(
        np.asarray, jax.ShapeDtypeStruct(b.shape, b.dtype), b, vmap_method="sequential"
    ),
}


@pytree
class Computing:
    """Learner that plays a number which a routine computes from its matrix."""

    feedback: ClassVar[type] = Reward
    routine: str = static(doc="name in LEARNERS")
    scale: Any = param(1.0, "(0, inf)", "of the matrix")

    def init(self, key):
        return jnp.zeros(())

    def select(self, key, t, state, obs):
        return PointDecision.at(state)

    def update(self, key, t, state, obs, decision, feedback):
        a, b = matrices("float32")
        b = self.scale * b + 0.01 * feedback.reward * jnp.eye(3)
        return jnp.real(jnp.sum(LEARNERS[self.routine](a, b))).astype(state.dtype)

    def recommend(self, state):
        return state


def learners(names: list[str]) -> dict[str, Any]:
    """Return, per routine, the programs that XLA compiled for the run, and a number of it."""
    compiled: list[str] = []
    jax.monitoring.register_event_duration_secs_listener(
        lambda event, *_, **__: compiled.append(event) if "backend_compile" in event else None
    )
    found = {}
    for name in names:
        before = len(compiled)
        routine, _, form = name.partition("/")
        with mock.patch.object(target, "is_accelerator", lambda platform: True) if form else contextlib.nullcontext():
            result = simulate(Computing(routine=routine), Noisy(scale=1.0), 5, 2, progress=False)
        found[name] = len(compiled) - before, repr(result.get("loss").tolist())
    return found


if __name__ == "__main__":
    command, *rest = sys.argv[1:]
    jax.config.update("jax_enable_x64", command == "targets")
    print(json.dumps(targets(*rest) if command == "targets" else learners(rest)))
