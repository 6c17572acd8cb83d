"""The client without an event loop, for a cluster or for this machine: every operation, run to its end."""

from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from kubedl.client.blocking import ThreadCalls, blocking, blocking_each, run
from kubedl.client.connection import ignore_call, open_client
from kubedl.client.job_logs import blocking_logs
from kubedl.client.objects import Objects
from kubedl.client.operations import Operations

if TYPE_CHECKING:
    from kubedl.client.crons import Crons
    from kubedl.client.history_database import HistoryDatabase
    from kubedl.client.history_operations import History
    from kubedl.client.job_view import JobView
    from kubedl.client.local_client import LocalClient
    from kubedl.client.models import Models
    from kubedl.client.queues import Queues
    from kubedl.client.services import Services
    from kubedl.kube.sync_client import OnCall
    from kubedl.kube.sync_credentials import Overrides


class TrainingClient:
    """Training jobs of one cluster. Threads may share a client; `with` closes it.

    A job is named by its name, by kind and name (`pytorch/bert`), or by the name of one of its pods. With
    `backend="local"`, jobs are processes of this machine.
    """

    def __new__(cls, *, backend: str = "kubernetes", **_: Any) -> Self:  # noqa: ANN401 - those of __init__
        """Return the client of the chosen backend."""
        return _local_client() if backend == "local" else super().__new__(cls)  # type: ignore[return-value]

    def __init__(  # noqa: PLR0913 - the names of Kubeflow's client, and what kubectl's flags say
        self,
        *,
        namespace: str | None = None,
        config_file: str | None = None,
        context: str | None = None,
        server: str | None = None,
        token: str | None = None,
        job_kind: str = "PyTorchJob",
        request_timeout: float = 30.0,
        overrides: "Overrides | None" = None,
        on_call: "OnCall" = ignore_call,
        use_history: bool = True,
        history_database: "HistoryDatabase | None" = None,
        backend: str = "kubernetes",
        client_configuration: object = None,
    ) -> None:
        """Read the kubeconfig; `overrides` has everything else that kubectl's flags can say about a connection.

        `on_call` is told each request: method, path, result and seconds. With `use_history`, jobs that were deleted are
        looked up in the history: `history_database`, or the database that $KUBEDL_HISTORY_DATABASE names.
        """
        client = open_client(
            overrides=overrides,
            config_file=config_file,
            context=context,
            server=server,
            token=token,
            request_timeout=request_timeout,
            on_call=on_call,
            backend=backend,
            client_configuration=client_configuration,
        )
        self._operations = Operations(
            ThreadCalls(client), namespace, job_kind, use_history=use_history, history_database=history_database
        )

    @classmethod
    def over(cls, operations: Operations) -> "TrainingClient":
        """Return the client of operations that exist."""
        made = object.__new__(TrainingClient)
        made._operations = operations
        return made

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections."""
        run(self._operations.close())

    @property
    def namespace(self) -> str:
        """Return the namespace in which names are looked up."""
        return self._operations.namespace

    @property
    def server(self) -> str:
        """Return the address of the API server."""
        return self._operations.server

    @property
    def objects(self) -> Objects:
        """Return all objects of the namespace that are no jobs, as the server has them."""
        return Objects(self._operations.objects)

    @property
    def models(self) -> "Models":
        """Return the models of the namespace, with their versions."""
        from kubedl.client.models import Models  # noqa: PLC0415 - commands about jobs need none

        return Models(self._operations.models)

    @property
    def services(self) -> "Services":
        """Return the services of the namespace, with their predictors."""
        from kubedl.client.services import Services  # noqa: PLC0415 - commands about jobs need none

        return Services(self._operations.services)

    @property
    def crons(self) -> "Crons":
        """Return the crons of the namespace."""
        from kubedl.client.crons import Crons  # noqa: PLC0415 - commands about jobs need none

        return Crons(self._operations.crons)

    @property
    def queues(self) -> "Queues":
        """Return the queues of the namespace, with those who are in them."""
        from kubedl.client.queues import Queues  # noqa: PLC0415 - commands about jobs need none

        return Queues(self._operations.queues)

    @property
    def history(self) -> "History":
        """Return the jobs that ended or were deleted, from the database of the recorder."""
        from kubedl.client.history_operations import History  # noqa: PLC0415 - commands about jobs need none

        return History(self._operations.history)

    def watch(self, name: str, *, namespace: str | None = None) -> "JobView":
        """Return a job as a notebook shows it: phases, progress, replicas, and why it waits; it follows the job."""
        return self._operations.watch(name, namespace=namespace)

    kinds = blocking(Operations.kinds)
    kind = blocking(Operations.kind)
    server_version = blocking(Operations.server_version)
    whoami = blocking(Operations.whoami)
    may = blocking(Operations.may)
    serves = blocking(Operations.serves)

    list_jobs = blocking(Operations.list_jobs)
    select_jobs = blocking(Operations.select_jobs)
    watch_jobs = blocking_each(Operations.watch_jobs)
    get_nodes_of_jobs = blocking(Operations.get_nodes_of_jobs)
    get_job = blocking(Operations.get_job)
    create_job = blocking(Operations.create_job)
    create_free_job = blocking(Operations.create_free_job)
    replace_job = blocking(Operations.replace_job)
    check_job = blocking(Operations.check_job)
    apply = blocking(Operations.apply)
    update_job = blocking(Operations.update_job)
    delete_job = blocking(Operations.delete_job)
    prunable = blocking(Operations.prunable)
    prune = blocking(Operations.prune)
    suspend_job = blocking(Operations.suspend_job)
    resume_job = blocking(Operations.resume_job)
    scale_job = blocking(Operations.scale_job)

    get_job_pods = blocking(Operations.get_job_pods)
    get_job_events = blocking(Operations.get_job_events)
    wait_for_job_status = blocking(Operations.wait_for_job_status)
    follow_job = blocking_each(Operations.follow_job)
    failure = blocking(Operations.failure)

    get_job_conditions = blocking(Operations.get_job_conditions)
    is_job_created = blocking(Operations.is_job_created)
    is_job_running = blocking(Operations.is_job_running)
    is_job_restarting = blocking(Operations.is_job_restarting)
    is_job_succeeded = blocking(Operations.is_job_succeeded)
    is_job_failed = blocking(Operations.is_job_failed)
    wait_for_job_conditions = blocking(Operations.wait_for_job_conditions)
    get_job_pod_names = blocking(Operations.get_job_pod_names)

    train = blocking(Operations.train)
    run_directory = blocking(Operations.run_directory)
    get_job_result = blocking(Operations.get_job_result)
    why = blocking(Operations.why)
    explain = blocking(Operations.explain)

    get_job_logs = blocking_logs(Operations.get_job_logs)
    follow_job_logs = blocking_logs(Operations.follow_job_logs)
    service_logs = blocking_logs(Operations.service_logs)


def _local_client() -> "LocalClient":
    from kubedl.client.local_client import LocalClient  # noqa: PLC0415 - commands need none

    return LocalClient()
