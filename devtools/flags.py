"""The operator's flags as its parser declares them: for the chart's values, their schema, and the reference page."""

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from devtools.tables import table
from kubedl.entrypoints.operator import parser

# Not among the chart's values, each for its reason.
OF_THE_CHART = {
    "--kubeconfig": "is for operators outside a cluster",
    "--namespace": "is the value `namespace`",
    "--without-cluster-role": "follows from the value `namespace`",
    "--address": "is what probes and Service expect",
}

LABEL, SUBDOMAIN = "[a-z0-9]([-a-z0-9]*[a-z0-9])?", "[a-z0-9]([-.a-z0-9]*[a-z0-9])?"
FILE_SYSTEM = f"({LABEL}/)?fs-[0-9a-f]+"
NAME = rf"{LABEL}(\.{LABEL})*"
POSITIVE = {"exclusiveMinimum": 0}
ADDRESS = {"pattern": r"^(https?://\S+)?$"}
# What the operator would end at, or never work with; an empty word is a flag that is not given.
LIMITS: Mapping[str, Mapping[str, Any]] = {
    "--lease-namespace": {"pattern": f"^({LABEL})?$"},
    "--lease-seconds": POSITIVE,
    "--lease-renew-seconds": POSITIVE,
    "--lease-retry-seconds": POSITIVE,
    "--watch-silence-seconds": POSITIVE,
    "--workers": {"minimum": 1},
    "--calls-per-second": {"minimum": 0},
    "--calls-burst": {"minimum": 1},
    "--node-grace-seconds": {"minimum": 0},
    "--max-lost-nodes-percent": {"minimum": 0, "maximum": 100},
    "--settle-seconds": {"minimum": 0},
    "--hostnetwork-port-range": {"pattern": "^([0-9]{1,5}-[0-9]{1,5})?$"},
    "--gang-release-seconds": POSITIVE,
    "--cluster-domain": {"pattern": f"^({SUBDOMAIN})?$"},
    "--inference-domain": {"pattern": f"^({SUBDOMAIN})?$"},
    "--packer-pull-secrets": {"pattern": f"^({NAME}(, *{NAME})*)?$"},
    "--efs-file-systems": {"pattern": f"^({FILE_SYSTEM}(,{FILE_SYSTEM})*)?$"},
    "--cache-host-paths": {"pattern": r"^(/[^/,\s][^,\s]*(,/[^/,\s][^,\s]*)*)?$"},
    "--reclaim-notices": {"pattern": r"^(condition:)?[^,=:\s]+(=[0-9]{1,5})?(,(condition:)?[^,=:\s]+(=[0-9]{1,5})?)*$"},
    "--pools": {"pattern": r"^(\s*\[[\s\S]*\]\s*)?$"},
    "--prometheus": ADDRESS,
}
NEEDS = {"--analysis-queries": "--prometheus"}


@dataclass(frozen=True)
class Flag:
    """One of them."""

    name: str
    help: str
    default: Any
    type: str  # of JSON
    choices: tuple[str, ...]
    limits: Mapping[str, Any] = field(default_factory=dict)

    @property
    def key(self) -> str:
        """Its name among the chart's values."""
        first, *others = self.name.removeprefix("--").split("-")
        return first + "".join(word.capitalize() for word in others)

    def schema(self) -> dict[str, Any]:
        """Of its value."""
        limited = {"enum": list(self.choices)} if self.choices else {}
        return {"type": self.type, "description": self.help, **limited, **self.limits}


def flags() -> list[Flag]:
    """All of them, in the order of `--help`."""
    return [_flag(action) for action in parser()._actions if action.dest != "help"]  # noqa: SLF001  argparse has no list


def rules() -> list[dict[str, Any]]:
    """What the values of flags say about each other, as JSON Schema: some need another."""
    names = {flag.name: flag.key for flag in flags()}
    return [_if_set(names[one], {names[other]: {"minLength": 1}}) for one, other in NEEDS.items()]


def describe_flags(all_flags: Sequence[Flag] | None = None) -> str:
    """The reference page."""
    rows = [
        (f"`{flag.name}`", f"`{flag.default}`" if flag.default not in ("", None) else "", _value(flag), flag.help)
        for flag in all_flags or flags()
    ]
    return (
        "# Flags of the operator\n\n"
        "`kubedl operator --help` says the same. With the chart a flag is set by its value: "
        "`helm upgrade --set operator.workers=128 …`.\n\n"
        f"{table(('flag', 'default', 'value of the chart', 'what it does'), rows)}"
    )


def _if_set(key: str, then: Mapping[str, Any]) -> dict[str, Any]:
    return {"if": {"properties": {key: {"minLength": 1}}, "required": [key]}, "then": {"properties": dict(then)}}


def _value(flag: Flag) -> str:
    reason = OF_THE_CHART.get(flag.name)
    return f"`operator.{flag.key}`" if reason is None else f"none: it {reason}"


def _flag(action: argparse.Action) -> Flag:
    name = action.option_strings[0]
    if not action.help:
        raise SystemExit(f"the flag {name} has no help, from which the chart's values and a page are made")
    kinds = {int: "integer", float: "number"}
    if action.nargs == 0:
        kind, default = "boolean", False
    else:
        kind = "string" if action.type is None or isinstance(action.type, str) else kinds.get(action.type, "string")  # type: ignore[call-overload]
        default = _plain(action.default)
    return Flag(name, action.help, default, kind, tuple(action.choices or ()), LIMITS.get(name, {}))


def _plain(value: object) -> Any:  # noqa: ANN401  whatever argparse was given
    if value is None:
        return ""
    return int(value) if isinstance(value, float) and value.is_integer() else value
