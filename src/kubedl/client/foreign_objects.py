"""Objects as other packages have them, such as those of the `kubernetes` package, as JSON. Nothing is imported."""

from collections.abc import Mapping, Sequence
from typing import Any

from kubedl.client.errors import Invalid

GPU = "nvidia.com/gpu"
_WORDS: Mapping[str, str] = {"gpu": GPU}
DEEPEST = 40


def plain(value: object, depth: int = 0) -> Any:  # noqa: ANN401 - JSON
    """Return an object as JSON: a model of the `kubernetes` package knows the names of its fields."""
    if depth > DEEPEST:
        raise Invalid("an object is nested too deep")
    names = getattr(type(value), "attribute_map", None)
    if isinstance(names, Mapping):
        found = {key: getattr(value, name, None) for name, key in names.items()}
        return {key: plain(one, depth + 1) for key, one in found.items() if one is not None}
    if isinstance(value, Mapping):
        return {str(key): plain(one, depth + 1) for key, one in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, str | bytes):
        return [plain(one, depth + 1) for one in value]
    if value is None or isinstance(value, str | int | float | bool):
        return value
    raise Invalid(
        f"a {type(value).__name__} is no object of Kubernetes", "", ("a mapping, or the class of kubernetes",)
    )


def resources_of(given: object) -> dict[str, dict[str, str]]:
    """Return limits and requests of a container: from a mapping such as {"gpu": 1}, or from V1ResourceRequirements."""
    if given is None:
        return {}
    found = plain(given)
    if not isinstance(found, dict):
        raise Invalid("resources_per_worker is no mapping", "", ('{"cpu": 4, "memory": "8Gi", "gpu": 1}',))
    if found.keys() <= {"limits", "requests", "claims"} and found:
        return {part: {key: str(value) for key, value in amounts.items()} for part, amounts in found.items()}
    limits: dict[str, str] = {_WORDS.get(key.lower(), key): str(value) for key, value in found.items()}
    return {"limits": limits, "requests": {key: value for key, value in limits.items() if "/" not in key}}


def env_of(given: object) -> list[dict[str, Any]]:
    """Return variables of a container: from a mapping, or from a list of V1EnvVar."""
    found = plain(given)
    if not found:
        return []
    if isinstance(found, dict):
        return [{"name": key, "value": str(value)} for key, value in found.items()]
    for one in found:
        if not isinstance(one, dict) or "name" not in one:
            raise Invalid("env has something that is no variable", str(one)[:200], ('{"NAME": "value"}',))
    return list(found)
