"""Executors for `run_sweep(..., executor=)` that wrap packages without a method `submit(function, *args)`.

The executors of `concurrent.futures`, `mpi4py.futures`, Dask (`Client.get_executor()`), loky and submitit can be passed
to `run_sweep` directly.
"""

import traceback
from collections.abc import Callable
from typing import Any


class RayExecutor:
    """Executor that runs functions as Ray tasks: `RayExecutor(ray, num_cpus=2)` after `ray.init()`."""

    def __init__(self, ray: Any, **options: Any):
        """Create an executor.

        Args:
          ray: the module `ray`, which must be initialised.
          **options: options of `ray.remote`, such as `num_cpus`, `num_gpus` and `max_retries`.
        """
        self._ray, self._options = ray, options

    def submit(self, function: Callable[..., Any], *args: Any) -> Any:
        """Start a task, and return an object whose method `result()` waits for the result of the function."""
        remote = self._ray.remote(**self._options)(function) if self._options else self._ray.remote(function)
        return _LazyResult(self._ray.get, remote.remote(*args))


class JoblibExecutor:
    """Executor for any joblib backend: `JoblibExecutor(joblib.Parallel(n_jobs=4))`.

    Reading a result that is not available yet runs all submitted tasks together.
    """

    def __init__(self, parallel: Any):
        """Create an executor.

        Args:
          parallel: a `joblib.Parallel` whose backend does not fork processes; loky is suitable.
        """
        self._parallel = parallel
        self._tasks: list[Any] = []
        self._results: list[tuple[Any, Exception | None]] = []  # result of each task, or its error

    def submit(self, function: Callable[..., Any], *args: Any) -> Any:
        """Add a task, and return an object whose method `result()` returns its result or raises its error.

        A call of `result()` of a task that has not started starts all tasks that have been submitted.
        """
        self._tasks.append((_attempt, (function, args), {}))  # the return value of `joblib.delayed`
        return _LazyResult(self._result_of, len(self._tasks) - 1)

    def _result_of(self, i: int) -> Any:
        if i >= len(self._results):
            self._results += self._parallel(self._tasks[len(self._results) :])
        result, error = self._results[i]
        if error is not None:
            raise error
        return result


def _attempt(function: Callable[..., Any], args: tuple[Any, ...]) -> tuple[Any, Exception | None]:
    """Call a function, and return its result and None, or None and its error.

    The error is returned and not raised, since joblib ends all tasks at the first error. Its traceback is added as a
    note, since a returned error is pickled without it.
    """
    try:
        return function(*args), None
    except Exception as error:
        error.add_note("".join(traceback.format_exception(error)))
        return None, error


class _LazyResult:
    """Future whose result is fetched when it is read."""

    def __init__(self, get: Callable[[Any], Any], argument: Any):
        self._get, self._argument = get, argument

    def result(self) -> Any:
        """Wait for the result and return it."""
        return self._get(self._argument)
