"""Jobs drawn at random from the schema of their kind: most as a user could mean them, some spoilt.

No pod of theirs ever runs: all wait at a scheduling gate, and for a node that does not exist. Counts of replicas stay
small, since a large one only costs time. No kind is named here.
"""

import copy
import json
import random
from collections.abc import Callable
from functools import cache
from typing import Any

from harness.experiments.schema_fuzz import Drawing, Json, Schema, spoil
from kubedl.training.job import Role
from kubedl.training.kind import Kind
from testbed.api import Object

SPOILT = 0.35  # of the jobs
ANNOTATED = 0.1
MISNAMED = 0.03
NOWHERE = "harness.kubedl.io/nowhere"
# What a pod template may hold beside what our schema knows; something odd comes there.
UNKNOWN_TO_US = (
    "dnsConfig", "hostname", "subdomain", "containers", "initContainers", "volumes", "tolerations", "affinity",
    "serviceAccountName", "restartPolicy", "hostNetwork", "priorityClassName", "terminationGracePeriodSeconds",
    "securityContext", "nodeName", "env", "ports", "resources", "command", "image", "volumeMounts", "lifecycle", "new",
)  # fmt: skip
STORAGES: tuple[Object, ...] = (
    {"claim": {"claimName": "models", "subPath": "a/b", "mountPath": "/models"}},
    {"localStorage": {"path": "/models", "nodeName": "nowhere"}},
    {"nfs": {"server": "nas.example.org"}},
)
ANNOTATIONS = {
    "kubedl.io/git-sync-config": [
        json.dumps({"source": "https://git.example.org/model.git"}),
        json.dumps({"source": "-x", "branch": 5}),
        "{",
    ],
    "kubedl.io/tensorboard-config": [json.dumps({"logDir": "/logs"}), json.dumps({"logDir": None}), ""],
    "kubedl.io/network-mode": ["host"],
    "harness.kubedl.io/long": ["x" * 10_000],
}


def random_job(kind: Kind, name: str, dice: random.Random) -> Object:
    """A job, as it is sent to the API server."""
    spec = _right_spec(kind, dice)
    body: Object = {
        "apiVersion": kind.resource.api_version,
        "kind": kind.kind,
        "metadata": {"name": name},
        "spec": spec,
    }
    if dice.random() < ANNOTATED:
        key = dice.choice(sorted(ANNOTATIONS))
        body["metadata"]["annotations"] = {key: dice.choice(ANNOTATIONS[key])}
    if dice.random() < MISNAMED:
        body["metadata"]["name"] = dice.choice([f"{name}.b", f"{name}-{'x' * 60}", f"1{name}", f"{name}-"])
    if dice.random() < SPOILT:
        for _ in range(dice.randint(1, 2)):
            spoil(spec, dice, UNKNOWN_TO_US)
    _keep_from_running(spec.get(kind.replicas_field))
    return body


@cache
def spec_schema(kind: Kind) -> Schema:
    """What the API server is told about a kind's spec."""
    [version] = kind.custom_resource.definition()["spec"]["versions"]
    schema: Schema = version["schema"]["openAPIV3Schema"]["properties"]["spec"]
    return schema


def _right_spec(kind: Kind, dice: random.Random) -> Object:
    role_schema = spec_schema(kind)["properties"][kind.replicas_field]["additionalProperties"]
    roles = {role.name: role for role in kind.roles}

    def one(role: Role) -> Json:
        drawn = drawing.value(role_schema)
        if {"exitCodes", "oomPolicy"} & drawn.keys():
            drawn["restartPolicy"] = "ExitCode"
        if role.required:
            drawn["replicas"] = 1
        if role.at_most is not None:
            drawn["replicas"] = min(drawn.get("replicas", 1), role.at_most)
        return drawn

    def several() -> Json:
        chosen = [role for role in roles.values() if role.required or dice.random() < 0.4]
        return {role.name: one(role) for role in chosen or [dice.choice(kind.roles)]}

    def container() -> Json:
        drawn = drawing.value(_item(role_schema, "template", "spec", "containers"))
        return {**drawn, "name": kind.container, "image": "none"}

    def chosen_from(*values: Json) -> Callable[[], Json]:
        return lambda: dice.choice(values)

    hints: dict[str, Callable[[], Json]] = {
        kind.replicas_field: several,
        kind.container_field or "container": chosen_from(kind.container),
        "replicas": chosen_from(0, 1, 1, 2),
        "containers": lambda: [container()],
        "initContainers": lambda: [{"name": "before", "image": "none"}],
        "name": chosen_from("one", "another"),
        "env[]": lambda: {"name": dice.choice(["A", "RANK", "TF_CONFIG"]), "value": dice.choice(["", "1", "$(A)"])},
        "ports[]": lambda: {"name": dice.choice([kind.port_name, "web"]), "containerPort": dice.choice([1, 2222])},
        "volumes[]": lambda: {"name": f"volume-{dice.randrange(100)}", "emptyDir": {}},
        "volumeMounts[]": lambda: {"name": "volume-1", "mountPath": "/data"},
        "labels": chosen_from({"team": "a"}, {"training.kubedl.io/job-name": "somebody-else"}),
        "annotations": chosen_from({"note": "a"}, {}),
        "upstream": chosen_from(*roles),
        "retryable[]": chosen_from("1", "137", "200-255"),
        "repository": chosen_from("https://git.example.org/model.git", "git@git.example.org:model.git"),
        "branch": chosen_from("main", ""),
        "revision": chosen_from("v1", "0" * 40, ""),
        "destination": chosen_from("code", "a/b", ""),
        "rootPath": chosen_from("/code", "/a/b"),
        "resources": chosen_from({}, {"limits": {"cpu": "1", "memory": "1Gi"}}, {"requests": {"cpu": "x"}}),
        "modelVersion": lambda: {
            "modelName": dice.choice(["m", "m", "m", "M"]),
            "imageRepo": "hub/m",
            "storage": copy.deepcopy(dice.choice(STORAGES)),
        },
        "workerCacheSize": chosen_from("512Mi", 1024),
        # Not MultiKueue: about a job that the operator of another cluster runs, this one says nothing.
        "managedBy": chosen_from("training.kubedl.io/operator", "somebody"),
    }
    drawing = Drawing(dice, hints)
    spec: Object = drawing.value(spec_schema(kind))
    return spec


def _item(schema: Schema, *path: str) -> Schema:
    for step in path:
        schema = schema["properties"][step]
    items: Schema = schema["items"]
    return items


def _keep_from_running(roles: Any) -> None:  # noqa: ANN401 - it may have been spoilt
    for role in roles.values() if isinstance(roles, dict) else ():
        template = role.get("template") if isinstance(role, dict) else None
        spec = template.get("spec") if isinstance(template, dict) else None
        if isinstance(spec, dict):
            spec["schedulingGates"] = [{"name": NOWHERE}]
            spec["nodeSelector"] = {NOWHERE: ""}  # a TensorBoard's pod has no gate and goes where replicas go
