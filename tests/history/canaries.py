"""Objects with a canary in every text: `canary:` and the path of the field. Jobs are generated from their schemas."""

import re
from typing import Any

from kubedl.training.kind import Kind
from tests.history.builders import NOW, moment, uid

Json = Any
Schema = dict[str, Any]

_CANARY = re.compile(r"canary:([A-Za-z0-9_.]+)")


def found_in(text: str) -> set[str]:
    """The paths of all canaries in a text."""
    return set(_CANARY.findall(text))


def canary(path: str) -> str:
    """The text of a field."""
    return f"canary:{path}"


def of_schema(schema: Schema, path: str) -> Json:
    """A value with a canary in every text that may be any text; a list or a map has one item."""
    if "enum" in schema:
        return schema["enum"][0]
    kind = schema.get("type", "object")
    if kind == "object":
        known = {name: of_schema(part, f"{path}.{name}") for name, part in schema.get("properties", {}).items()}
        if isinstance(schema.get("additionalProperties"), dict):
            known[canary(f"{path}.KEY")] = of_schema(schema["additionalProperties"], f"{path}.VALUE")
        if schema.get("x-kubernetes-preserve-unknown-fields"):
            known["unknownField"] = canary(f"{path}.unknownField")
        return known
    if kind == "array":
        return [of_schema(schema["items"], path)]
    if kind == "string":
        return moment(NOW) if schema.get("format") == "date-time" else canary(path)
    return {"integer": 1, "number": 1.0, "boolean": True}[kind]


def metadata(path: str) -> Json:
    """Metadata as an API server sends them."""
    owner = {"apiVersion": "v1", "kind": canary(f"{path}.owner.kind"), "name": canary(f"{path}.owner.name")}
    return {
        "name": canary(f"{path}.name"),
        "generateName": canary(f"{path}.generateName"),
        "namespace": canary(f"{path}.namespace"),
        "uid": uid(),
        "resourceVersion": "7",
        "selfLink": canary(f"{path}.selfLink"),
        "creationTimestamp": moment(NOW),
        "labels": {canary(f"{path}.labels.KEY"): canary(f"{path}.labels.VALUE")},
        "annotations": {
            "kubectl.kubernetes.io/last-applied-configuration": canary(f"{path}.annotations.lastApplied"),
            "kubedl.io/git-sync-config": canary(f"{path}.annotations.gitSync"),
            canary(f"{path}.annotations.KEY"): canary(f"{path}.annotations.VALUE"),
        },
        "finalizers": [canary(f"{path}.finalizers")],
        "ownerReferences": [{**owner, "uid": uid(), "controller": True}],
        "managedFields": [
            {
                "manager": canary(f"{path}.manager"),
                "time": moment(NOW),
                "fieldsV1": {canary(f"{path}.fieldsV1"): canary(f"{path}.fieldsV1")},
            }
        ],
    }


def job(kind: Kind) -> Json:
    """A job of a kind, with every field of its schema."""
    [version] = kind.custom_resource.definition()["spec"]["versions"]
    properties = version["schema"]["openAPIV3Schema"]["properties"]
    spec, status = of_schema(properties["spec"], "spec"), of_schema(properties["status"], "status")
    [role] = spec[kind.replicas_field].values()
    role["template"] = {"metadata": metadata("template"), "spec": pod_spec("template")}
    # All kinds name this map differently; the paths in it are the same.
    spec[kind.replicas_field] = {canary("spec.roles.KEY"): _moved(role, f"spec.{kind.replicas_field}.VALUE", "role")}
    return {"metadata": metadata("metadata"), "spec": spec, "status": status}


def of_kind(definition: Schema) -> Json:
    """An object of another kind, with every field of its schema."""
    [version] = definition["spec"]["versions"]
    properties = version["schema"]["openAPIV3Schema"]["properties"]
    parts = {name: of_schema(properties[name], name) for name in ("spec", "status")}
    return {"metadata": metadata("metadata"), **parts}


def pod() -> Json:
    """A pod that has failed."""
    ended = {name: canary(f"terminated.{name}") for name in ("reason", "message", "containerID")}
    state = {"terminated": {"exitCode": 1, "startedAt": moment(NOW), "finishedAt": moment(NOW), **ended}}
    container = {name: canary(f"containerStatus.{name}") for name in ("name", "image", "imageID", "containerID")}
    waiting = {"waiting": {"reason": canary("waiting.reason"), "message": canary("waiting.message")}}
    condition = {"type": canary("condition.type"), "status": "True", "message": canary("condition.message")}
    return {
        "metadata": metadata("metadata"),
        "spec": {**pod_spec("pod"), "nodeName": canary("pod.nodeName")},
        "status": {
            "phase": "Failed",
            **{
                name: canary(f"status.{name}") for name in ("reason", "message", "hostIP", "podIP", "nominatedNodeName")
            },
            "conditions": [{**condition, "reason": canary("condition.reason"), "lastTransitionTime": moment(NOW)}],
            "containerStatuses": [{**container, "state": state, "lastState": state}],
            "initContainerStatuses": [{**container, "state": waiting}],
        },
    }


def pod_spec(path: str) -> Json:
    """What users write into pods, as far as it has texts."""
    names = ("schedulerName", "priorityClassName", "runtimeClassName", "hostname", "subdomain", "serviceAccountName")
    affinity = {"key": canary(f"{path}.affinity.key"), "values": [canary(f"{path}.affinity.value")]}
    secret = {"name": canary(f"{path}.secret.name"), "secret": {"secretName": canary(f"{path}.secretName")}}
    return {
        **{name: canary(f"{path}.{name}") for name in names},
        "containers": [_container(f"{path}.container")],
        "initContainers": [_container(f"{path}.initContainer")],
        "nodeSelector": {canary(f"{path}.nodeSelector.KEY"): canary(f"{path}.nodeSelector.VALUE")},
        "imagePullSecrets": [{"name": canary(f"{path}.imagePullSecrets")}],
        "hostAliases": [{"ip": "192.0.2.1", "hostnames": [canary(f"{path}.hostAliases")]}],
        "dnsConfig": {"searches": [canary(f"{path}.dnsConfig")]},
        "tolerations": [{"key": canary(f"{path}.toleration.key"), "value": canary(f"{path}.toleration.value")}],
        "affinity": {"nodeAffinity": {"required": {"nodeSelectorTerms": [{"matchExpressions": [affinity]}]}}},
        "volumes": [
            secret,
            {"name": "nfs", "nfs": {"server": canary(f"{path}.nfs"), "path": canary(f"{path}.nfs.path")}},
        ],
    }


def _container(path: str) -> Json:
    probe = {"httpGet": {"path": canary(f"{path}.probe"), "httpHeaders": [{"value": canary(f"{path}.header")}]}}
    return {
        "name": canary(f"{path}.name"),
        "image": canary(f"{path}.image"),
        "command": [canary(f"{path}.command")],
        "args": [canary(f"{path}.args")],
        "workingDir": canary(f"{path}.workingDir"),
        "env": [
            {"name": canary(f"{path}.env.name"), "value": canary(f"{path}.env.value")},
            {
                "name": "A",
                "valueFrom": {"secretKeyRef": {"name": canary(f"{path}.keyRef"), "key": canary(f"{path}.key")}},
            },
        ],
        "envFrom": [{"secretRef": {"name": canary(f"{path}.envFrom")}}],
        "livenessProbe": probe,
        "lifecycle": {"preStop": {"exec": {"command": [canary(f"{path}.preStop")]}}},
        "volumeMounts": [{"name": canary(f"{path}.mount"), "mountPath": canary(f"{path}.mountPath")}],
        "resources": {"limits": {canary(f"{path}.limits.KEY"): "1"}},
        "restartPolicy": canary(f"{path}.restartPolicy"),
        "terminationMessagePath": canary(f"{path}.terminationMessagePath"),
    }


def _moved(value: Json, old: str, new: str) -> Json:
    if isinstance(value, dict):
        return {_moved(key, old, new): _moved(item, old, new) for key, item in value.items()}
    if isinstance(value, list):
        return [_moved(item, old, new) for item in value]
    return value.replace(canary(old), canary(new)) if isinstance(value, str) else value
