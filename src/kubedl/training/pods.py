"""The pod of one replica: the user's template plus the engine's additions.

The user's settings have precedence, except for names, KubeDL's labels and the restart policy. An environment variable
has precedence only in `env`: Kubernetes ranks `envFrom` below every `env`, including the engine's.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from kubedl.api.training import RestartScope
from kubedl.api.validation.training import LONGEST_VARIABLE
from kubedl.kube.types.core import PODS
from kubedl.podspec.template import TemplateError
from kubedl.runtime.ownership import owner_reference
from kubedl.training import labels, template
from kubedl.training.addons import registry
from kubedl.training.addons.base import Addon
from kubedl.training.job import Job, Replica
from kubedl.training.kind import Kind
from kubedl.training.observed import Settings
from kubedl.training.policies import spot_replica_spec

Body = dict[str, Any]


def render(
    kind: Kind,
    job: Job,
    replica: Replica,
    attempt: int,
    *,
    scope: RestartScope,
    settings: Settings,
    addons: Iterable[Addon] | None = None,
) -> Body:
    """Render the pod. Raises TemplateError for an invalid template.

    A caller that renders many pods of a job determines once which `addons` it asks for.
    """
    role = job.roles[replica.role]
    given = template.read(role.name, role.template)
    meta = given.get("metadata") or {}
    given["metadata"] = {name: meta.get(name) or {} for name in ("labels", "annotations")}
    kind.adapt(job, replica, given)
    spot_replica_spec.apply(role, replica.index, given)
    meta, spec, name = given["metadata"], given["spec"], job.pod_name(replica)
    spec |= {"hostname": name, "subdomain": job.name, "restartPolicy": _restart_policy(role.restart_policy, scope)}
    # Search domain: resolves the bare name of a pod as well as its full name.
    dns = spec.get("dnsConfig") or {}
    searches = [*(dns.get("searches") or ()), f"{job.name}.{job.namespace}.svc.{settings.cluster_domain}"]
    spec["dnsConfig"] = {**dns, "searches": searches}
    policy = job.spec.scheduling_policy
    # A field that is null or empty, as charts often leave it, is one that is not there: so the API server takes it.
    if policy is not None and policy.priority_class_name and not spec.get("priorityClassName"):
        spec["priorityClassName"] = policy.priority_class_name
    has_account = bool(spec.get("serviceAccountName") or spec.get("serviceAccount"))
    if not has_account and spec.get("automountServiceAccountToken") is None:
        spec["automountServiceAccountToken"] = False  # training code needs no API access
    environment = kind.environment(job, replica)
    _check_lengths(environment)
    port = job.port_name, job.port(replica.role)
    for container in spec["containers"]:
        _complete(container, environment, port, main=container["name"] == job.container)
    body = {
        "apiVersion": PODS.api_version,
        "kind": PODS.kind,
        "metadata": {
            "name": name,
            "namespace": job.namespace,
            "labels": {**meta["labels"], **labels.of_pod(job, replica, attempt)},
            "annotations": meta["annotations"],
            "ownerReferences": [owner_reference(kind.resource, job.resource)],
        },
        "spec": spec,
    }
    for addon in registry.requested(job.resource) if addons is None else addons:
        addon.mutate_pod(body, job, settings)
    return body


def _check_lengths(environment: Mapping[str, str]) -> None:
    """Check the size: a process with a longer variable cannot start, and the kubelet would not say why."""
    for name, value in environment.items():
        size = len(name) + len(value.encode()) + 2  # with "=" and the terminator
        if size > LONGEST_VARIABLE:
            raise TemplateError(
                f"variable {name} has the address of every replica and would have {size} bytes, but Linux allows "
                f"{LONGEST_VARIABLE}: use fewer replicas, or shorter names of the job and its namespace"
            )


def _restart_policy(policy: str, scope: RestartScope) -> str:
    if policy == "ExitCode" or (policy == "OnFailure" and scope == "Job"):
        return "Never"  # the engine decides about restarts
    return policy


def _complete(container: Body, environment: Mapping[str, str], port: tuple[str, int], *, main: bool) -> None:
    # Without a termination message, the last log lines say why a container failed.
    if not container.get("terminationMessagePolicy"):
        container["terminationMessagePolicy"] = "FallbackToLogsOnError"
    given = container.get("env") or []
    names = {variable.get("name") for variable in given}
    added = [{"name": name, "value": value} for name, value in environment.items() if name not in names]
    container["env"] = [*added, *given]  # first, so that the user's variables may refer to them as $(NAME)
    name, number = port
    ports = container.get("ports") or []
    if main and all(entry.get("name") != name and entry.get("containerPort") != number for entry in ports):
        container["ports"] = [*ports, {"name": name, "containerPort": number, "protocol": "TCP"}]
