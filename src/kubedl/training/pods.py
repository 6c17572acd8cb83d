"""The pod of one replica: the user's template, and what the engine adds to it.

What the user wrote wins wherever both say something, except for names, labels of ours, and the restart policy. A
variable must stand in `env` for that: Kubernetes ranks what comes by `envFrom` below every `env`, ours among them.
"""

from collections.abc import Mapping
from typing import Any

from kubedl.api.pod_template import TemplateError
from kubedl.api.training import RestartScope
from kubedl.api.training_rules import LONGEST_VARIABLE
from kubedl.training import labels, template
from kubedl.training.addons import ADDONS
from kubedl.training.job import Job, Replica
from kubedl.training.kind import Kind
from kubedl.training.snapshot import Settings
from kubedl.wire.core import PODS

Body = dict[str, Any]


def owner_reference(kind: Kind, job: Job) -> Body:
    """Who takes an object along when deleted."""
    return {
        "apiVersion": kind.resource.api_version,
        "kind": kind.kind,
        "name": job.name,
        "uid": job.uid,
        "controller": True,
        "blockOwnerDeletion": True,
    }


def render(kind: Kind, job: Job, replica: Replica, attempt: int, *, scope: RestartScope, settings: Settings) -> Body:
    """The pod as it is sent to the API server. Raises TemplateError if the template is none."""
    role = job.roles[replica.role]
    given = template.read(role.name, role.template)
    meta = given.get("metadata") or {}
    given["metadata"] = {name: meta.get(name) or {} for name in ("labels", "annotations")}
    kind.adapt(job, replica, given)
    meta, spec, name = given["metadata"], given["spec"], job.pod_name(replica)
    spec |= {"hostname": name, "subdomain": job.name, "restartPolicy": _restart_policy(role.restart_policy, scope)}
    # So that the bare name of a pod resolves as well as the full one.
    dns = spec.get("dnsConfig") or {}
    searches = [*(dns.get("searches") or ()), f"{job.name}.{job.namespace}.svc.{settings.cluster_domain}"]
    spec["dnsConfig"] = {**dns, "searches": searches}
    policy = job.spec.scheduling_policy
    if policy is not None and policy.priority_class_name:
        spec.setdefault("priorityClassName", policy.priority_class_name)
    if not spec.get("serviceAccountName") and not spec.get("serviceAccount"):
        spec.setdefault("automountServiceAccountToken", False)  # training code has no business with the API
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
            "ownerReferences": [owner_reference(kind, job)],
        },
        "spec": spec,
    }
    for addon in ADDONS:
        addon.complete(body, job, settings)
    return body


def _check_lengths(environment: Mapping[str, str]) -> None:
    """A process with a longer variable cannot be started, and its kubelet would not say why."""
    for name, value in environment.items():
        size = len(name) + len(value.encode()) + 2  # with "=", and the end
        if size > LONGEST_VARIABLE:
            raise TemplateError(
                f"variable {name} names every replica and would have {size} bytes, and Linux takes {LONGEST_VARIABLE}: "
                "take fewer replicas, or shorter names of the job and its namespace"
            )


def _restart_policy(policy: str, scope: RestartScope) -> str:
    if policy == "ExitCode" or (policy == "OnFailure" and scope == "Job"):
        return "Never"  # the engine decides
    return policy


def _complete(container: Body, environment: Mapping[str, str], port: tuple[str, int], *, main: bool) -> None:
    # Without a message of its own, the last lines of its log say why a container failed.
    container.setdefault("terminationMessagePolicy", "FallbackToLogsOnError")
    given = container.get("env") or []
    names = {variable.get("name") for variable in given}
    added = [{"name": name, "value": value} for name, value in environment.items() if name not in names]
    container["env"] = [*added, *given]  # ours first: the user's may refer to them as $(NAME)
    name, number = port
    ports = container.get("ports") or []
    if main and all(entry.get("name") != name and entry.get("containerPort") != number for entry in ports):
        container["ports"] = [*ports, {"name": name, "containerPort": number, "protocol": "TCP"}]
