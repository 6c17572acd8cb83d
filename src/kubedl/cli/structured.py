"""Output for programs: JSON and YAML. The fields of a list are those of the client's JobSummary."""

import sys
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from kubedl.client import JobSummary

API_VERSION = "cli.kubedl.io/v1alpha1"


def print_list(jobs: "Sequence[JobSummary]", form: str) -> None:
    """Print summaries of jobs."""
    from kubedl.kube import codec  # noqa: PLC0415

    items = codec.plain(list(jobs))
    print_object({"apiVersion": API_VERSION, "kind": "JobSummaryList", "items": items}, form)


def print_line(kind: str, **fields: object) -> None:
    """Print an object on one line, for a stream of them."""
    from kubedl.kube import codec  # noqa: PLC0415

    sys.stdout.write(codec.encode({"apiVersion": API_VERSION, "kind": kind, **fields}).decode() + "\n")


def print_object(value: Mapping[str, Any], form: str) -> None:
    """Print an object."""
    if form == "yaml":
        import yaml  # noqa: PLC0415

        dumper = getattr(yaml, "CSafeDumper", yaml.SafeDumper)
        sys.stdout.write(yaml.dump(dict(value), Dumper=dumper, sort_keys=False, allow_unicode=True, width=1000))
    else:
        import json  # noqa: PLC0415

        sys.stdout.write(json.dumps(value, indent=2, ensure_ascii=False) + "\n")


def applicable(manifest: Mapping[str, Any]) -> dict[str, Any]:
    """Return an object as it can be applied again: without what the server keeps for itself."""
    metadata = {name: value for name, value in manifest["metadata"].items() if name not in _OF_SERVER}
    return {**manifest, "metadata": metadata}


_OF_SERVER = ("managedFields", "resourceVersion", "uid", "selfLink", "generation", "creationTimestamp")
