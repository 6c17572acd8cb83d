"""The client for programs with an event loop: the operations themselves, over connections of asyncio."""

from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from kubedl.client.connection import ignore_call, open_client
from kubedl.client.loop_calls import LoopCalls
from kubedl.client.operations import Operations

if TYPE_CHECKING:
    from kubedl.client.async_local_client import AsyncLocalClient
    from kubedl.client.history_database import HistoryDatabase
    from kubedl.kube.sync_client import OnCall
    from kubedl.kube.sync_credentials import Overrides


class AsyncTrainingClient(Operations):
    """`TrainingClient` with coroutines: `job = await client.get_job("bert")`. `async with` closes it.

    Logs are taken with `async for line in client.get_job_logs("bert", follow=True)`. Tasks of one event loop may share
    a client. With `backend="local"`, jobs are processes of this machine.
    """

    def __new__(cls, *, backend: str = "kubernetes", **_: Any) -> Self:  # noqa: ANN401 - those of __init__
        """Return the client of the chosen backend."""
        return _local_client() if backend == "local" else super().__new__(cls)  # type: ignore[return-value]

    def __init__(  # noqa: PLR0913 - those of TrainingClient
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
        """Read the kubeconfig; the arguments are those of TrainingClient."""
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
        super().__init__(
            LoopCalls(client), namespace, job_kind, use_history=use_history, history_database=history_database
        )

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()


def _local_client() -> "AsyncLocalClient":
    from kubedl.client.async_local_client import AsyncLocalClient  # noqa: PLC0415 - most programs need none

    return AsyncLocalClient()
