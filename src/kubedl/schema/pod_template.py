"""The schema of the pod template fields that KubeDL relies on; other fields pass through.

Only types, and what the engine uses: container names, and lists that it appends to. The API server validates the rest
when the pod is created, so fields newer than this code work.
"""

from kubedl.schema.structural import KEEP_UNKNOWN, Schema, list_map

MOST_CONTAINERS = 32  # bounds the cost of CEL rules; more than any pod has


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
            "description": "The name of the container, by which the operator finds the main container.",
            "type": "string",
            "minLength": 1,
            "maxLength": 63,
        },
        "env": _objects("Environment variables (EnvVar). The operator appends its own."),
        "ports": _objects("Ports of the container (ContainerPort)."),
        "volumeMounts": _objects("Volume mounts of the container (VolumeMount)."),
    },
}
_CONTAINERS: Schema = {"type": "array", "maxItems": MOST_CONTAINERS, "items": _CONTAINER, **list_map("name")}

# For Meta(extra_json_schema=POD_TEMPLATE) on a field of type RawObject.
POD_TEMPLATE: Schema = {
    "required": ["spec"],
    "properties": {
        "metadata": {
            "description": "Labels and annotations of each pod (ObjectMeta).",
            "type": "object",
            **KEEP_UNKNOWN,
            "properties": {
                "labels": _strings("Labels of each pod. The operator adds its own."),
                "annotations": _strings("Annotations of each pod."),
            },
        },
        "spec": {
            "description": "The spec of each pod (PodSpec). The API server validates it when the pod is created.",
            "type": "object",
            **KEEP_UNKNOWN,
            "required": ["containers"],
            "properties": {
                "containers": {"description": "Containers of each pod (Container).", **_CONTAINERS, "minItems": 1},
                "initContainers": {"description": "Init containers of each pod (Container).", **_CONTAINERS},
                "volumes": _objects("Volumes of each pod (Volume)."),
            },
        },
    },
}
