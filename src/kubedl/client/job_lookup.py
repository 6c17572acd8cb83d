"""Finds a job by what people type: a name, kind and name, or the name of one of its pods."""

from collections.abc import Mapping, Sequence
from typing import TypeVar
from urllib.parse import quote

from kubedl.client import errors
from kubedl.client.calls import Calls
from kubedl.client.errors import Ambiguous, Forbidden, KubedlError, NotFound, Unreachable
from kubedl.client.job import Job
from kubedl.client.kinds import GROUP_VERSION, PATH, JobKind, KindCache, ResourceList, kinds_in
from kubedl.kube import codec
from kubedl.kube.errors import ApiError, NotFoundError

T = TypeVar("T")

UNSEEN = "the job does not say why"
INSTALL = "install KubeDL (docs/operations/install.md), or choose another --context"


class Cluster:
    """A server, the kinds of jobs that it has, and its jobs by name."""

    def __init__(self, client: Calls, kinds: tuple[JobKind, ...] = ()) -> None:
        self.client = client
        self._cache = KindCache(client.credentials.server)
        self._kinds = kinds

    async def call(self, method: str, path: str, what: str, *, params: Mapping[str, str]) -> bytes:
        """Send a request; `what` completes "cannot …" if it fails."""
        try:
            return await self.client.call(method, path, params=params)
        except ApiError as error:
            raise self.failed(error, what) from error

    def decode(self, answer: bytes, kind: type[T]) -> T:
        """Decode an answer; one that no API server gives is that of something else at its address."""
        try:
            return codec.decode(answer, kind)
        except codec.UNREADABLE as error:
            server = self.client.credentials.server
            raise Unreachable(
                f"{server} does not answer like an API server", str(error)[:200], ("check --server, or --context",)
            ) from error

    def failed(self, error: ApiError, what: str) -> KubedlError:
        """Return the client's error for one of the server."""
        return errors.from_api(error, what, self.client.credentials.server)

    async def kinds(self) -> tuple[JobKind, ...]:
        """Return the kinds of jobs that the cluster serves."""
        self._kinds = self._kinds or self._cache.read() or await self._discover()
        return self._kinds

    async def kind(self, name: str) -> JobKind:
        """Return the kind that a word means; raises NotFound with those that there are."""
        for kinds in (self.kinds, self._discover):
            for kind in await kinds():
                if kind.is_called(name):
                    return kind
        known = ", ".join(kind.word for kind in self._kinds)
        raise NotFound(f"there is no kind of jobs called {name}", f"this cluster has {known}", (f"one of {known}",))

    async def find(self, name: str, namespace: str) -> tuple[JobKind, Job]:
        """Return the job that a name means."""
        word, slash, rest = name.partition("/")
        if slash:
            kind = await self.kind(word)
            if (job := await self._get(kind, namespace, rest)) is None:
                raise _nothing(rest, namespace)
            return kind, job
        found, refused = await self._with_name(name, namespace)
        if len(found) > 1:
            names = tuple(f"{kind.word}/{name}" for kind, _ in found)
            raise Ambiguous(f"{len(found)} jobs in {namespace} are called {name}", "they differ in kind", names)
        if found:
            return found[0]
        try:
            return await self._of_pod(name, namespace)
        except NotFound:
            if refused is not None:  # it may be of a kind that the caller may not read
                raise refused from None
            raise

    async def _with_name(self, name: str, namespace: str) -> tuple[list[tuple[JobKind, Job]], Forbidden | None]:
        """Return the jobs of a name, and why some kinds may not be read."""

        async def get(kind: JobKind) -> tuple[JobKind, Job | Forbidden | None]:
            try:
                return kind, await self._get(kind, namespace, name)
            except Forbidden as error:
                return kind, error

        answers = await self.client.together([get(kind) for kind in await self.kinds()])
        refused = next((answer for _, answer in answers if isinstance(answer, Forbidden)), None)
        return [(kind, answer) for kind, answer in answers if isinstance(answer, Job)], refused

    async def _of_pod(self, name: str, namespace: str) -> tuple[JobKind, Job]:
        """Return the job that a pod belongs to."""
        try:
            answer = await self.client.call("GET", f"/api/v1/namespaces/{namespace}/pods/{quote(name, safe='')}")
        except ApiError as error:
            raise _nothing(name, namespace) from error
        owners = self.decode(answer, dict)["metadata"].get("ownerReferences") or ()
        for owner in owners:
            if owner.get("controller") and owner.get("apiVersion") == GROUP_VERSION:
                kind = await self.kind(owner["kind"])
                if (job := await self._get(kind, namespace, owner["name"])) is not None:
                    return kind, job
        raise _nothing(name, namespace)

    async def _get(self, kind: JobKind, namespace: str, name: str) -> Job | None:
        try:
            answer = await self.client.call("GET", kind.path(namespace, quote(name, safe="")))
        except NotFoundError:
            return None
        except ApiError as error:
            raise self.failed(error, f"get {kind.word}/{name}") from error
        return Job.of(self.decode(answer, dict))

    async def _discover(self) -> tuple[JobKind, ...]:
        try:
            self._kinds = kinds_in(self.decode(await self.client.call("GET", PATH), ResourceList))
        except NotFoundError as error:
            why = f"{self.client.credentials.server} does not serve {GROUP_VERSION}"
            raise NotFound("this cluster has no KubeDL", why, (INSTALL,)) from error
        except ApiError as error:
            raise self.failed(error, "ask for the kinds of jobs") from error
        if not self._kinds:
            raise Forbidden("this cluster shows no kinds of jobs", f"{GROUP_VERSION} is empty", (INSTALL,))
        self._cache.write(self._kinds)
        return self._kinds


def is_wanted(replica: str, name: str, wanted: Sequence[str], job: Job) -> bool:
    """Return whether a replica was asked for: by role, as worker-0, by its pod, or because the job was named by it."""
    if not wanted:
        own = name.rpartition("/")[2]
        return own in (job.name, f"{job.name}-{replica}")
    full = f"{job.name}-{replica}"
    return any(one.lower() in (replica, full, replica.rpartition("-")[0]) for one in wanted)


def no_pods(job: Job, wanted: Sequence[str]) -> NotFound:
    """Return the error that a job has no pods to read."""
    which = f"called {', '.join(wanted)}" if wanted else "yet" if not job.is_finished else "any more"
    return NotFound(f"{job.name} has no pods {which}", job.message or UNSEEN, (f"kubedl get {job.name}",))


def _nothing(name: str, namespace: str) -> NotFound:
    return NotFound(
        f"there is no job called {name} in {namespace}",
        "names are looked up in one namespace, in all kinds of jobs, and among their pods",
        ("kubedl list -A",),
    )
