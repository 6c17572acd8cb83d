"""How many fields of our definitions `kubectl explain` has nothing to say about."""

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

CRDS = Path(__file__).parents[2] / "deploy/chart/files/crds"
OF_THE_SERVER = ".metadata"  # described by the API server, which allows no other words


def unexplained(schema: dict[str, Any], path: str = "") -> Iterator[str]:
    """The path of every field below that has no description."""
    for name, field in schema.get("properties", {}).items():
        if not field.get("description"):
            yield f"{path}.{name}"
        for inner in (field, field.get("items", {}), field.get("additionalProperties", {})):
            yield from unexplained(inner, f"{path}.{name}")


def fields(schema: dict[str, Any]) -> int:
    """How many fields there are below."""
    own = schema.get("properties", {})
    inner = (one for field in own.values() for one in (field, field.get("items"), field.get("additionalProperties")))
    return len(own) + sum(fields(one) for one in inner if isinstance(one, dict))


def main() -> int:
    """Count them in the chart's definitions."""
    total, missing = 0, []
    for path in sorted(CRDS.glob("*.yaml")):
        definition = yaml.safe_load(path.read_text())
        for version in definition["spec"]["versions"]:
            schema = version["schema"]["openAPIV3Schema"]
            total += fields(schema)
            kind = definition["spec"]["names"]["kind"]
            missing += [f"{kind}{field}" for field in unexplained(schema) if field != OF_THE_SERVER]
    for field in missing:
        print(field, file=sys.stderr)
    print(json.dumps({"fields": total, "without a description": len(missing)}))
    return 0


if __name__ == "__main__":
    sys.exit(main())
