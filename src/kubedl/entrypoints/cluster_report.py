"""Start-up report: which integrations the operator detected, and why others are off; as a table and as a log event.

Read-only: no decision depends on it. A controller that needs an integration checks for it itself, when it matters,
since clusters change. A failed check becomes a row of the report and never stops the operator.
"""

import argparse
import asyncio
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Literal

import msgspec
import structlog

from kubedl.api.training import GROUP, VERSION
from kubedl.kube.client import Client
from kubedl.kube.errors import ApiError
from kubedl.kube.types.core import PODS
from kubedl.kube.types.meta import ObjectMeta, Record, Resource
from kubedl.podspec.security import RESTRICTED
from kubedl.training.gang.assignment import AUTO, NONE
from kubedl.training.gang.schedulers import all_gang_schedulers
from kubedl.training.kinds import all_kinds

log = structlog.get_logger()

State = Literal["on", "off", "?"]
SECONDS = 20.0  # seconds for all checks together
PAUSE = 30.0  # seconds before the next attempt after a failed one
OLDEST = (1, 31)  # as kubeVersion of the chart


@dataclass(frozen=True)
class ClusterReport:
    """One row of the report."""

    what: str
    state: State
    found: str
    why: str = ""  # reason why it is off, or the consequence


class _Discovery(Record, frozen=True):
    metadata: ObjectMeta = ObjectMeta()


# Used as a metric label only; discovery documents are not objects.
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


async def publish(client: Client, options: argparse.Namespace, namespace: str, write: Callable[[str], object]) -> None:
    """Check until every row has an answer; `namespace` is used for the dry-run of a pod."""
    while True:
        try:
            async with asyncio.timeout(SECONDS):
                findings = await collect(client, options, namespace)
        except Exception as error:  # noqa: BLE001 - an unexpected response must not stop the operator
            log.warning("cluster capability check failed", error=str(error) or "no response within the timeout")
            await asyncio.sleep(PAUSE)
        else:
            log.info("found", findings=[asdict(finding) for finding in findings])
            write(render(findings))
            return


async def collect(client: Client, options: argparse.Namespace, namespace: str) -> list[ClusterReport]:
    """Query the API server for its version and integrations."""
    version = msgspec.json.decode(await client.call("get", DISCOVERY, "/version"), type=_Version)
    listed = msgspec.json.decode(await client.call("get", DISCOVERY, "/apis"), type=_Groups)
    groups = {group.name: [group_version.version for group_version in group.versions] for group in listed.groups}
    return [
        _kubernetes(version),
        await _kinds(client, groups),
        _namespace(options),
        _gang(groups, options.gang_scheduler),
        _foreign("Kueue", "kueue.x-k8s.io", groups, missing="jobs that ask for a queue wait, with a condition"),
        _gateway(groups, options.gateway),
        await _image_volumes(client, namespace),
        _foreign(
            "pod metrics", "metrics.k8s.io", groups, missing="HorizontalPodAutoscalers on CPU or memory will not work"
        ),
        _foreign("KEDA", "keda.sh", groups, missing="predictors that use it get a condition"),
        _analysis(options),
        _foreign("Fluid", "data.fluid.io", groups, missing="CacheBackends that use it wait, with a condition"),
        _foreign("OpenKruise", "apps.kruise.io", groups, missing="model images are not pre-pulled to nodes"),
        ClusterReport("metrics", "on", f"http://{options.address}/metrics"),
    ]


def render(findings: Sequence[ClusterReport]) -> str:
    """Render the report as a text table."""
    head = ("what", "", "found", "reason or consequence")
    rows = [head, *((report.what, report.state, report.found, report.why) for report in findings)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(head))]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
    return "\n".join([lines[0], "  ".join("-" * width for width in widths), *lines[1:], ""])


def _kubernetes(version: _Version) -> ClusterReport:
    numbers = [int("".join(filter(str.isdigit, part)) or 0) for part in (version.major, version.minor)]
    old = tuple(numbers) < OLDEST
    return ClusterReport(
        "Kubernetes", "?" if old else "on", version.git_version, "older than the tested versions" if old else ""
    )


async def _kinds(client: Client, groups: Mapping[str, Sequence[str]]) -> ClusterReport:
    wanted = {kind.plural: kind.kind for kind in all_kinds()}
    served: set[str] = set()
    if VERSION in groups.get(GROUP, ()):
        answer = await client.call("get", DISCOVERY, f"/apis/{GROUP}/{VERSION}")
        served = {named.name for named in msgspec.json.decode(answer, type=_Resources).resources}
    there = [kind for plural, kind in wanted.items() if plural in served]
    missing = [kind for plural, kind in wanted.items() if plural not in served]
    why = f"not installed: {', '.join(missing)}" if missing else ""
    return ClusterReport("kinds", "on" if there else "off", ", ".join(there) or "none", why)


def _namespace(options: argparse.Namespace) -> ClusterReport:
    if options.without_cluster_role:
        lost = "Roles only: lost nodes are not detected, and AWS EFS is not available for models"
        return ClusterReport("namespaces", "on", options.namespace, lost)
    return ClusterReport("namespaces", "on", options.namespace or "all")


def _gang(groups: Mapping[str, Sequence[str]], chosen: str) -> ClusterReport:
    known = all_gang_schedulers()
    found = [
        f"{name} ({kind.version})"
        for name, scheduler in known.items()
        for kind in scheduler.kinds
        if kind.version in groups.get(kind.group, ())
    ]
    found += [f"{chosen} (cannot be looked for)"] if chosen in known and not known[chosen].kinds else []
    if not found:
        return ClusterReport("gang scheduling", "off", "none", "jobs that ask for it wait, with a condition")
    used = f"for {'jobs that ask for it' if chosen == AUTO else 'all jobs'} (--gang-scheduler={chosen})"
    off = chosen == NONE
    return ClusterReport(
        "gang scheduling", "off" if off else "on", ", ".join(found), "--gang-scheduler=none" if off else used
    )


def _foreign(
    name: str, group: str, groups: Mapping[str, Sequence[str]], *, missing: str = "", off: str = ""
) -> ClusterReport:
    if group not in groups:
        return ClusterReport(name, "off", "not installed", missing)
    return ClusterReport(name, "off" if off else "on", f"{group} {_newest(groups[group])}", off)


def _gateway(groups: Mapping[str, Sequence[str]], gateway: object) -> ClusterReport:
    if "gateway.networking.k8s.io" not in groups:
        return ClusterReport("Gateway API", "off", "not installed", "an Inference can have one predictor only")
    versions = _newest(groups["gateway.networking.k8s.io"])
    none = "" if gateway else "no default (--gateway): an Inference must name its Gateway"
    return ClusterReport("Gateway API", "on", f"gateway.networking.k8s.io {versions}", none)


async def _image_volumes(client: Client, namespace: str) -> ClusterReport:
    """Dry-run a pod with an image volume: the version of the API server does not tell which feature gates are on."""
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
        return ClusterReport("image volumes", "?", "unknown", f"{error.message}"[:200])
    volumes = msgspec.json.decode(answer)["spec"].get("volumes", [])
    if any("image" in one for one in volumes):
        return ClusterReport("image volumes", "on", "supported")
    return ClusterReport(
        "image volumes", "off", "stripped from pods", "each predictor pod downloads its model in an init container"
    )


def _analysis(options: argparse.Namespace) -> ClusterReport:
    if options.prometheus:
        return ClusterReport("rollout analysis", "on", options.prometheus)
    return ClusterReport("rollout analysis", "off", "none", "--prometheus is not set")


def _newest(versions: Iterable[str]) -> str:
    return next(iter(versions), "")
