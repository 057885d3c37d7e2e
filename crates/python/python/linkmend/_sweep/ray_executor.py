"""Ray's tasks as an executor."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Executor, Future
from typing import Any

from .errors import SweepError


class RayExecutor(Executor):
    """Submits tasks to Ray with the given task options, such as `num_cpus` or `resources`.

    Ray is initialised if it is not. It repeats tasks whose worker or node was lost; a sweep also does.
    """

    def __init__(self, **options: Any) -> None:
        try:
            import ray
        except ImportError as error:
            raise SweepError('executor="ray" needs Ray: pip install ray') from error
        self._ray: Any = ray
        self._options = {"num_cpus": 1, "max_retries": 3, **options}
        self._references: dict[Future[Any], Any] = {}
        self._functions: dict[Callable[..., Any], Any] = {}
        if not ray.is_initialized():
            ray.init()

    def capacity(self) -> int:
        """How many tasks Ray's cluster can run concurrently."""
        processors = self._ray.cluster_resources().get("CPU", 1)
        return max(1, int(processors / (self._options["num_cpus"] or 1)))

    def submit(self, function: Callable[..., Any], /, *arguments: Any, **named: Any) -> Future[Any]:
        """Starts a task."""
        remote = self._functions.get(function)
        if remote is None:
            remote = self._ray.remote(**self._options)(function)
            self._functions[function] = remote
        reference = remote.remote(*arguments, **named)
        future: Future[Any] = reference.future()
        self._references[future] = reference
        future.add_done_callback(lambda done: self._references.pop(done, None))
        return future

    def abort_tasks(self) -> None:
        """Stops all tasks that are running or waiting."""
        for reference in list(self._references.values()):
            self._ray.cancel(reference, force=True)
