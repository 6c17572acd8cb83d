"""The part of a pod template that we rely on, to be declared beside what passes through unseen.

Only types and what the engine touches: names of containers, lists that it appends to. The rest is the API server's to
judge when the pod is created, so a field newer than this code works.
"""

from kubedl.schema.structural import KEEP_UNKNOWN, Schema, list_map

MOST_CONTAINERS = 32  # a bound for the cost of rules; more than anybody runs in one pod


def _strings(description: str) -> Schema:
    return {"description": description, "type": "object", "additionalProperties": {"type": "string"}}


def _objects(description: str) -> Schema:
    return {"description": description, "type": "array", "items": {"type": "object", **KEEP_UNKNOWN}}


_CONTAINER: Schema = {
    "type": "object",
    **KEEP_UNKNOWN,
    "required": ["name"],
    "properties": {
        "name": {
            "description": "The container's name, by which the operator finds the one that does the work.",
            "type": "string",
            "minLength": 1,
            "maxLength": 63,
        },
        "env": _objects("Environment variables (EnvVar); the operator adds its own after these."),
        "ports": _objects("Ports that the container listens on (ContainerPort)."),
        "volumeMounts": _objects("Where volumes of the pod are mounted (VolumeMount)."),
    },
}
_CONTAINERS: Schema = {"type": "array", "maxItems": MOST_CONTAINERS, "items": _CONTAINER, **list_map("name")}

# For Meta(extra_json_schema=POD_TEMPLATE) on a field of type Opaque.
POD_TEMPLATE: Schema = {
    "required": ["spec"],
    "properties": {
        "metadata": {
            "description": "Labels and annotations of each pod (ObjectMeta).",
            "type": "object",
            **KEEP_UNKNOWN,
            "properties": {
                "labels": _strings("Labels of each pod; the operator adds its own."),
                "annotations": _strings("Annotations of each pod."),
            },
        },
        "spec": {
            "description": "What each pod runs (PodSpec). The API server checks it when the pod is created.",
            "type": "object",
            **KEEP_UNKNOWN,
            "required": ["containers"],
            "properties": {
                "containers": {"description": "Containers of each pod (Container).", **_CONTAINERS, "minItems": 1},
                "initContainers": {"description": "Containers that run before the others (Container).", **_CONTAINERS},
                "volumes": _objects("Volumes that containers of the pod can mount (Volume)."),
            },
        },
    },
}
