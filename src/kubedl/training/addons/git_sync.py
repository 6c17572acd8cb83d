"""Code from git in every pod, by an init container that fetches it into a volume that all containers of the pod see.

It is the same commit in every pod that the job ever has: the first pod is created alone and reports which commit it
got, which is written to the status before any other pod is created, and from then on is what every pod fetches. For a
gang, whose pods are created all at once, a small pod beside them does that (`code_resolver`).
`git_sync_status` reads what the init container reports.
"""

import posixpath
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import replace

from kubedl.api.training import TrainingJob
from kubedl.api.training_addons import CodeSource
from kubedl.kube.errors import AlreadyExistsError
from kubedl.kube.types.core import PODS, Pod
from kubedl.podspec.security import NOBODY, RESTRICTED
from kubedl.runtime.writer import Writer
from kubedl.training import lost_nodes
from kubedl.training.addons import code_resolver, git_sync_status
from kubedl.training.addons.base import Addon, Body, Reason
from kubedl.training.addons.code_source import (
    ADDED_LATE,
    ANNOTATION,
    destination,
    is_asked_for,
    is_ignored,
    is_wanted,
    requested_source,
    revision,
)
from kubedl.training.addons.git_sync_script import PROTOCOLS, SCRIPT
from kubedl.training.addons.git_sync_status import CONTAINER
from kubedl.training.job import Job
from kubedl.training.observed import Observed, ObservedReplica, Settings
from kubedl.training.plan import Creation, Gate, PlanBuilder
from kubedl.training.pod_diagnostics import diagnose
from kubedl.training.policies.failure_policy import Failure, FailureClass

VOLUME = "git-sync"
SECRET_VOLUME, SECRET_PATH = "git-sync-secret", "/etc/kubedl/git"
USERS_VOLUME, USERS = "git-sync-users", "training.kubedl.io/git-sync-users"
RESULT = "/dev/termination-log"
# Requests equal limits: a pod whose containers are guaranteed their resources stays so.
RESOURCES = {"requests": {"cpu": "250m", "memory": "512Mi"}, "limits": {"cpu": "250m", "memory": "512Mi"}}


class CodeSync(Addon):
    """Fetches the code in an init container of every pod, the same commit in all of them."""

    def is_requested(self, resource: TrainingJob) -> bool:
        """By spec.codeSource or the annotation."""
        return is_asked_for(resource)

    def validate(self, resource: TrainingJob) -> None:
        """Everything that can be wrong is found before a pod is made."""
        requested_source(resource)

    def late_edit(self, resource: TrainingJob, pods: Sequence[Pod]) -> Reason | None:
        """Code that is asked for while there are pods without it: all pods of a job have the same code, or none."""
        if resource.status.code_revision:
            return None
        without = (all(container.name != CONTAINER for container in pod.spec.init_containers) for pod in pods)
        return (ADDED_LATE, f"annotation {ANNOTATION}") if is_ignored(resource.status) or any(without) else None

    def observe_status(self, builder: PlanBuilder, replicas: Sequence[ObservedReplica]) -> Reason | None:
        """Record which commit the job runs; it fails if its first pod could not fetch the code."""
        resource, resolver = builder.observed.job.resource, _resolver(builder.observed)
        if resource.status.code_revision and resolver is not None:
            builder.delete(resolver)
        if resource.status.code_revision or not is_wanted(resource) or is_ignored(builder.status):
            return None
        pods = [pod for seen in replicas if (pod := seen.current or seen.gone) is not None]
        pods += [resolver] if resolver is not None else []
        commit = revision(resource) or git_sync_status.commit(pods)
        if commit:
            builder.set(code_revision=commit)
            return None
        complaint = git_sync_status.failure_message(pods)
        return ("CodeSyncFailed", complaint) if complaint is not None else None

    def gate(self, builder: PlanBuilder) -> Gate | None:
        """The first pod starts alone and reports the commit; the status must have it before others are created."""
        observed, resource = builder.observed, builder.observed.job.resource
        if is_ignored(builder.status) and not is_ignored(resource.status):
            return Gate("", "")  # pods are rendered from the status, which must be written first
        if not is_wanted(resource) or revision(resource):
            return None
        if observed.job.starts_together:
            return _resolve(builder)
        if not observed.pods:
            return Gate("", "", allowed=1)
        first = observed.pods[0].metadata.name
        return Gate("WaitingForCode", f"the other pods wait for the commit that {first} fetches (codeSource)")

    async def prepare(self, writer: Writer, observed: Observed, creations: Sequence[Creation]) -> None:
        """Create the pod that finds the commit of a gang."""
        resource = observed.job.resource
        if not (observed.job.starts_together and is_wanted(resource)) or revision(resource):
            return
        found, settings = requested_source(resource), observed.settings
        image = found[0].image if found is not None else ""
        user = None if settings.omit_user else NOBODY
        body = code_resolver.render(observed.kind, observed.job, image or settings.git_image, _security(user))
        self.mutate_pod(body, observed.job, settings)
        with suppress(AlreadyExistsError):
            await writer.client.create(PODS, observed.job.namespace, body)

    def pod_names(self, resource: TrainingJob) -> Iterable[str]:
        """The pod that finds the commit of a gang."""
        return (code_resolver.resolver_name(resource),) if is_asked_for(resource) else ()

    def helpers(self, observed: Observed) -> Iterable[Pod]:
        """The same: else it could get a node, or ask an autoscaler for one, long after it is of use."""
        resolver = _resolver(observed)
        return (resolver,) if resolver is not None else ()

    def classify_failure(self, pod: Pod, failure: Failure) -> Failure:
        """The same code was fetched before, or the job would have failed: what failed now may work later."""
        sync = git_sync_status.ending(pod)
        if failure.cost is FailureClass.DISRUPTION or sync is None or sync.exit_code == 0:
            return failure
        text = f"could not fetch the code: {git_sync_status.error_message(sync)}"
        return replace(failure, cost=FailureClass.RETRYABLE, text=text)

    def mutate_pod(self, pod: Body, job: Job, settings: Settings) -> None:
        """The init container, its volumes, and the code in every container."""
        found = requested_source(job.resource)
        if found is None:
            return
        source, key = found
        spec = pod["spec"]
        user = _user(spec, job.container, None if settings.omit_user else NOBODY)
        volumes: list[Body] = [{"name": VOLUME, "emptyDir": {}}]
        mounts: list[Body] = [{"name": VOLUME, "mountPath": source.root_path}]
        if source.secret_name:
            # Optional: the script can say that it is missing, where a pod that waits for it would say nothing.
            secret = {"secretName": source.secret_name, "defaultMode": 0o444, "optional": True}
            volumes.append({"name": SECRET_VOLUME, "secret": secret})
            mounts.append({"name": SECRET_VOLUME, "mountPath": SECRET_PATH, "readOnly": True})
        if _scope(source.repository) is None and user is not None:
            # ssh refuses to work for a user who has no name, which few images give to any number.
            pod["metadata"]["annotations"] = {
                **pod["metadata"]["annotations"],
                USERS: f"root:x:0:0::/:/bin/sh\ncode:x:{user}:{user}::/:/bin/sh\n",
            }
            entry = {"path": "passwd", "fieldRef": {"fieldPath": f"metadata.annotations['{USERS}']"}}
            volumes.append({"name": USERS_VOLUME, "downwardAPI": {"items": [entry]}})
            mounts.append({"name": USERS_VOLUME, "mountPath": "/etc/passwd", "subPath": "passwd", "readOnly": True})
        directory = destination(source)
        spec["volumes"] = [*(spec.get("volumes") or ()), *volumes]
        spec["initContainers"] = [
            *(spec.get("initContainers") or ()),
            {
                "name": CONTAINER,
                "image": source.image or settings.git_image,
                "imagePullPolicy": "IfNotPresent",
                "command": ["sh", "-c", SCRIPT],
                "env": [*_environment(source, key, job.resource), *(entry.unpack() for entry in source.env)],
                "resources": source.resources.unpack() if source.resources is not None else RESOURCES,
                "securityContext": _security(user),
                "terminationMessagePath": RESULT,
                "terminationMessagePolicy": "FallbackToLogsOnError",
                "volumeMounts": mounts,
            },
        ]
        for container in spec["containers"]:
            place = posixpath.join(container.get("workingDir") or source.root_path, directory)
            mount = {"name": VOLUME, "mountPath": place, "subPath": directory}
            container["volumeMounts"] = [*(container.get("volumeMounts") or ()), mount]


def _resolver(observed: Observed) -> Pod | None:
    name = code_resolver.resolver_name(observed.job.resource)
    return next((pod for pod in observed.others if pod.metadata.name == name), None)


def _resolve(builder: PlanBuilder) -> Gate:
    """No pod of a gang is created before its commit is known; a pod that was evicted or lost is created again."""
    observed, resolver = builder.observed, _resolver(builder.observed)
    message = (
        f"the pods wait for the commit that {code_resolver.resolver_name(observed.job.resource)} fetches (codeSource)"
    )
    if resolver is None:
        builder.prepare = True
    elif lost_nodes.is_given_up(builder, resolver):
        builder.delete(resolver, force=True)
    elif resolver.status.phase == "Failed":
        builder.delete(resolver)
    else:
        cause = diagnose(resolver, observed.now, observed.lost_nodes.get(resolver.spec.node_name))
        message += f": {cause.reason}: {cause.message}" if cause is not None and cause.reason else ""
    return Gate("WaitingForCode", message)


def _environment(source: CodeSource, key: str, resource: TrainingJob) -> list[Body]:
    wanted = revision(resource) or source.revision
    names = wanted or (f"refs/heads/{source.branch} refs/tags/{source.branch}" if source.branch else "HEAD")
    variables = {
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_ALLOW_PROTOCOL": PROTOCOLS,
        "GIT_HTTP_LOW_SPEED_LIMIT": "1000",  # bytes a second, below which for a minute a server counts as silent
        "GIT_HTTP_LOW_SPEED_TIME": "60",
        "KUBEDL_GIT_REPOSITORY": source.repository,
        "KUBEDL_GIT_SCOPE": _scope(source.repository) or "",
        "KUBEDL_GIT_REFS": names,
        "KUBEDL_GIT_REVISION": wanted,
        "KUBEDL_GIT_ROOT": source.root_path,
        "KUBEDL_GIT_DESTINATION": destination(source),
        "KUBEDL_GIT_DEPTH": str(source.depth),
        "KUBEDL_GIT_FAILURES": str(source.max_failures),
        "KUBEDL_GIT_SECRET": SECRET_PATH if source.secret_name else "",
        "KUBEDL_GIT_SECRET_NAME": source.secret_name,
        "KUBEDL_GIT_SSH_KEY": key,
        "KUBEDL_GIT_RESULT": RESULT,
    }
    # Kubernetes would put the value of another variable in the place of $(NAME).
    return [{"name": name, "value": value.replace("$", "$$")} for name, value in variables.items()]


def _scope(repository: str) -> str | None:
    """The server to which credentials may be sent; None where ssh does it."""
    protocol, _, rest = repository.partition("://")
    server = rest.partition("/")[0]
    return f"{protocol}://{server}" if protocol in {"https", "http", "git"} and server else None


def _user(spec: Body, main: str, otherwise: int | None) -> int | None:
    """As whom the main container runs, so that it owns its code; never root. None: as the cluster decides."""
    own = next((one.get("securityContext") for one in spec["containers"] if one["name"] == main), None)
    for context in (own, spec.get("securityContext")):
        user = context.get("runAsUser") if isinstance(context, dict) else None
        if isinstance(user, int) and user > 1:  # neither root nor a boolean
            return user
    return otherwise  # for templates that name no user, or root


def _security(user: int | None) -> Body:
    return {**({"runAsUser": user} if user is not None else {}), **RESTRICTED}
