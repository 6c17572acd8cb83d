"""What the operator found at its start, and what is off and why: one table for people, one event for machines.

Only looks. Nothing is decided by it: whoever needs to know whether a cluster can do something asks for himself, when
it matters, since a cluster changes. A question that is not answered makes a row that says so, never an operator that
does not start.
"""

import argparse
import asyncio
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Literal

import msgspec
import structlog

from kubedl.api.pod_security import RESTRICTED
from kubedl.api.training import GROUP, VERSION
from kubedl.kube.client import Client
from kubedl.kube.errors import ApiError
from kubedl.training.kinds import all_kinds
from kubedl.wire.core import PODS
from kubedl.wire.meta import ObjectMeta, Record, Resource

log = structlog.get_logger()

State = Literal["on", "off", "?"]
SECONDS = 20.0  # for all questions together
PAUSE = 30.0  # seconds before looking again, where the answer was none
OLDEST = (1, 33)

NO_QUEUE = "this version hands no jobs to it"
GANG = {
    "scheduling.volcano.sh": "Volcano",
    "scheduling.x-k8s.io": "Coscheduling",
    "scheduling.koordinator.sh": "Koordinator",
}


@dataclass(frozen=True)
class Finding:
    """One row."""

    what: str
    state: State
    found: str
    why: str = ""  # it is off, or what that means


class _Discovery(Record, frozen=True):
    metadata: ObjectMeta = ObjectMeta()


# For the metrics only: pages of discovery are no objects.
DISCOVERY = Resource(_Discovery, "Discovery", "discovery")


class _Version(Record, frozen=True):
    major: str = ""
    minor: str = ""
    git_version: str = ""


class _GroupVersion(Record, frozen=True):
    version: str


class _Group(Record, frozen=True):
    name: str
    versions: tuple[_GroupVersion, ...] = ()


class _Groups(Record, frozen=True):
    groups: tuple[_Group, ...] = ()


class _Named(Record, frozen=True):
    name: str


class _Resources(Record, frozen=True):
    resources: tuple[_Named, ...] = ()


async def tell(client: Client, options: argparse.Namespace, namespace: str, write: Callable[[str], object]) -> None:
    """Look until it can be said what was found; `namespace` is one in which a pod may be asked about."""
    while True:
        try:
            async with asyncio.timeout(SECONDS):
                findings = await look(client, options, namespace)
        except Exception as error:  # noqa: BLE001 - an answer that nobody foresaw must not end the operator
            log.warning("could not look around", error=str(error) or "no answer in time")
            await asyncio.sleep(PAUSE)
        else:
            log.info("found", findings=[asdict(finding) for finding in findings])
            write(render(findings))
            return


async def look(client: Client, options: argparse.Namespace, namespace: str) -> list[Finding]:
    """Ask the API server what it is and has."""
    version = msgspec.json.decode(await client.call("get", DISCOVERY, "/version"), type=_Version)
    listed = msgspec.json.decode(await client.call("get", DISCOVERY, "/apis"), type=_Groups)
    groups = {group.name: [one.version for one in group.versions] for group in listed.groups}
    return [
        _kubernetes(version),
        await _kinds(client, groups),
        _namespace(options),
        _gang(groups),
        _foreign("Kueue", "kueue.x-k8s.io", groups, missing=NO_QUEUE, off=NO_QUEUE),
        _gateway(groups, options.gateway),
        await _image_volumes(client, namespace),
        _foreign(
            "pod metrics", "metrics.k8s.io", groups, missing="HorizontalPodAutoscalers on CPU or memory will not work"
        ),
        _foreign("KEDA", "keda.sh", groups, missing="predictors that ask for it get a condition"),
        _analysis(options),
        _foreign("Fluid", "data.fluid.io", groups, missing="caches that ask for it wait, and say so"),
        _foreign("OpenKruise", "apps.kruise.io", groups, missing="model images are not pulled to nodes in advance"),
        Finding("metrics", "on", f"http://{options.address}/metrics"),
    ]


def render(findings: Sequence[Finding]) -> str:
    """As a table of text."""
    head = ("what", "", "found", "off because, or what that means")
    rows = [head, *((one.what, one.state, one.found, one.why) for one in findings)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(head))]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
    return "\n".join([lines[0], "  ".join("-" * width for width in widths), *lines[1:], ""])


def _kubernetes(version: _Version) -> Finding:
    numbers = [int("".join(filter(str.isdigit, part)) or 0) for part in (version.major, version.minor)]
    old = tuple(numbers) < OLDEST
    return Finding("Kubernetes", "?" if old else "on", version.git_version, "older than what is tested" if old else "")


async def _kinds(client: Client, groups: Mapping[str, Sequence[str]]) -> Finding:
    wanted = {kind.plural: kind.kind for kind in all_kinds()}
    served: set[str] = set()
    if VERSION in groups.get(GROUP, ()):
        answer = await client.call("get", DISCOVERY, f"/apis/{GROUP}/{VERSION}")
        served = {one.name for one in msgspec.json.decode(answer, type=_Resources).resources}
    there = [kind for plural, kind in wanted.items() if plural in served]
    missing = [kind for plural, kind in wanted.items() if plural not in served]
    why = f"not installed: {', '.join(missing)}" if missing else ""
    return Finding("kinds", "on" if there else "off", ", ".join(there) or "none", why)


def _namespace(options: argparse.Namespace) -> Finding:
    if options.without_cluster_role:
        lost = "with Roles only: lost nodes are not noticed, and models cannot lie in AWS EFS"
        return Finding("namespaces", "on", options.namespace, lost)
    return Finding("namespaces", "on", options.namespace or "all")


def _gang(groups: Mapping[str, Sequence[str]]) -> Finding:
    native = [version for version in groups.get("scheduling.k8s.io", ()) if version != "v1"]
    found = [f"Kubernetes' own ({', '.join(native)})"] if native else []
    found += [name for group, name in GANG.items() if group in groups]
    return Finding("gang scheduling", "off", ", ".join(found) or "none", "this version starts pods one by one")


def _foreign(
    name: str, group: str, groups: Mapping[str, Sequence[str]], *, missing: str = "", off: str = ""
) -> Finding:
    if group not in groups:
        return Finding(name, "off", "not installed", missing)
    return Finding(name, "off" if off else "on", f"{group} {_newest(groups[group])}", off)


def _gateway(groups: Mapping[str, Sequence[str]], gateway: object) -> Finding:
    if "gateway.networking.k8s.io" not in groups:
        return Finding("Gateway API", "off", "not installed", "an Inference can have one predictor only")
    versions = _newest(groups["gateway.networking.k8s.io"])
    none = "" if gateway else "no default (--gateway): an Inference must name its Gateway"
    return Finding("Gateway API", "on", f"gateway.networking.k8s.io {versions}", none)


async def _image_volumes(client: Client, namespace: str) -> Finding:
    """By a pod that nobody makes: a version says nothing about what is switched on."""
    volume = {"name": "model", "image": {"reference": "model", "pullPolicy": "IfNotPresent"}}
    mount = {"name": "model", "mountPath": "/model"}
    container = {"name": "asked", "image": "asked", "securityContext": RESTRICTED, "volumeMounts": [mount]}
    body = {
        "metadata": {"generateName": "kubedl-question-"},
        "spec": {"automountServiceAccountToken": False, "containers": [container], "volumes": [volume]},
    }
    try:
        answer = await client.call("create", PODS, PODS.path(namespace), params={"dryRun": "All"}, body=body)
    except ApiError as error:
        return Finding("image volumes", "?", "not known", f"{error.message}"[:200])
    volumes = msgspec.json.decode(answer)["spec"].get("volumes", [])
    if any("image" in one for one in volumes):
        return Finding("image volumes", "on", "supported")
    return Finding("image volumes", "off", "removed from pods", "each predictor's pod fetches its model")


def _analysis(options: argparse.Namespace) -> Finding:
    if source := options.prometheus or options.gateway_metrics:
        return Finding("rollout analysis", "on", source)
    return Finding("rollout analysis", "off", "none", "neither --prometheus nor --gateway-metrics is set")


def _newest(versions: Iterable[str]) -> str:
    return next(iter(versions), "")
