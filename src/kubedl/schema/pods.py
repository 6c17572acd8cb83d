"""The part of a pod template that we rely on, to be declared beside what passes through unseen.

Only types and what the engine touches: names of containers, lists that it appends to. The rest is the API server's to
judge when the pod is created, so a field newer than this code works.
"""

from kubedl.schema.structural import KEEP_UNKNOWN, Schema, list_map

MOST_CONTAINERS = 32  # a bound for the cost of rules; more than anybody runs in one pod

_STRINGS: Schema = {"type": "object", "additionalProperties": {"type": "string"}}
_OBJECTS: Schema = {"type": "array", "items": {"type": "object", **KEEP_UNKNOWN}}
_CONTAINER: Schema = {
    "type": "object",
    **KEEP_UNKNOWN,
    "required": ["name"],
    "properties": {
        "name": {"type": "string", "minLength": 1, "maxLength": 63},
        "env": _OBJECTS,
        "ports": _OBJECTS,
        "volumeMounts": _OBJECTS,
    },
}
_CONTAINERS: Schema = {"type": "array", "maxItems": MOST_CONTAINERS, "items": _CONTAINER, **list_map("name")}

# For Meta(extra_json_schema=POD_TEMPLATE) on a field of type Opaque.
POD_TEMPLATE: Schema = {
    "required": ["spec"],
    "properties": {
        "metadata": {
            "type": "object",
            **KEEP_UNKNOWN,
            "properties": {"labels": _STRINGS, "annotations": _STRINGS},
        },
        "spec": {
            "type": "object",
            **KEEP_UNKNOWN,
            "required": ["containers"],
            "properties": {
                "containers": {**_CONTAINERS, "minItems": 1},
                "initContainers": _CONTAINERS,
                "volumes": _OBJECTS,
            },
        },
    },
}
