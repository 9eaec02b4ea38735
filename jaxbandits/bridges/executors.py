"""Executors for `run_sweep(..., executor=)`, for packages that have no executor with `submit(function, *args)`.

Those of `concurrent.futures`, `mpi4py.futures`, Dask (`Client.get_executor()`), loky and submitit need no class here.
"""

from collections.abc import Callable
from typing import Any


class RayExecutor:
    """Tasks of Ray: `RayExecutor(ray, num_cpus=2)` after `ray.init()`."""

    def __init__(self, ray: Any, **options: Any):
        """Begin.

        Args:
          ray: the module.
          **options: of `ray.remote`, such as `num_cpus`, `num_gpus` and `max_retries`.
        """
        self._ray, self._options = ray, options

    def submit(self, function: Callable[..., Any], *args: Any) -> Any:
        """Start a task; the result of the returned object is that of the function."""
        remote = self._ray.remote(**self._options)(function) if self._options else self._ray.remote(function)
        return _LazyResult(self._ray.get, remote.remote(*args))


class JoblibExecutor:
    """Any backend of joblib: `JoblibExecutor(joblib.Parallel(n_jobs=4))`, the tasks together at the first result."""

    def __init__(self, parallel: Any):
        """Begin.

        Args:
          parallel: a `joblib.Parallel`, whose backend starts processes without fork, as loky does.
        """
        self._parallel = parallel
        self._tasks: list[Any] = []
        self._results: list[Any] | None = None

    def submit(self, function: Callable[..., Any], *args: Any) -> Any:
        """Add a task; it starts when the first result is read."""
        self._tasks.append((function, args, {}))  # the form of `joblib.delayed`
        return _LazyResult(self._result_of, len(self._tasks) - 1)

    def _result_of(self, i: int) -> Any:
        results = self._results if self._results is not None else list(self._parallel(self._tasks))
        self._results = results
        return results[i]


class _LazyResult:
    """Result that becomes available later."""

    def __init__(self, get: Callable[[Any], Any], argument: Any):
        self._get, self._argument = get, argument

    def result(self) -> Any:
        """Wait for it."""
        return self._get(self._argument)
