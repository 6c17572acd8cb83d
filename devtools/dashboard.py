"""The Grafana board of the chart, from a list of questions; each has an answer as soon as an operator runs."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

WIDTH, HEIGHT = 8, 7  # of a panel, where the board is 24 wide
RATE = "$__rate_interval"  # Grafana's own: four scrapes at least
# Leader and standby of a release, which is told by `namespace` and `job`, count the same objects; releases add up.
RELEASE, POD = "namespace, job", "namespace, pod, instance, job"
LEADING = f"and on ({POD}) (kubedl_leader == 1)"
OURS = f"and on ({POD}) kubedl_leader"


@dataclass(frozen=True)
class Panel:
    """A question and how its answer is drawn."""

    title: str
    query: str
    legend: str = "__auto"
    unit: str = "short"
    text: str = ""
    stacked: bool = False


BOARD: dict[str, Sequence[Panel]] = {
    "Work": (
        Panel(
            "Jobs by state",
            f"sum by (state) (max by ({RELEASE}, kind, state) (kubedl_jobs))",
            "{{state}}",
            text="Leader and standby count the same jobs; those of several releases add up.",
            stacked=True,
        ),
        Panel(
            "Running jobs by kind",
            f'sum by (kind) (max by ({RELEASE}, kind) (kubedl_jobs{{state="Running"}}))',
            "{{kind}}",
            stacked=True,
        ),
        Panel(
            "Replicas and other pods",
            f'sum by (resource) (kubedl_cache_objects{{resource="pods"}} {LEADING})',
            "{{resource}}",
        ),
        Panel(
            "Jobs that failed within an hour, by reason",
            "sum by (reason) (increase(kubedl_jobs_failed_total[1h]))",
            "{{reason}}",
            text="Beside them, kubedl_jobs_succeeded_total counts those that did not.",
            stacked=True,
        ),
        Panel(
            "Launch delay",
            "histogram_quantile(0.9, sum by (pods, le) (rate(kubedl_jobs_launch_seconds_bucket[1h])))",
            "{{pods}}",
            unit="s",
            text="Nine of ten jobs had their first pod, and all of them, ready so long after they were made.",
        ),
        Panel(
            "Model versions",
            f"sum by (phase) (max by ({RELEASE}, phase) (kubedl_model_versions))",
            "{{phase}}",
            stacked=True,
        ),
        Panel(
            "Inferences",
            f"sum by (ready) (max by ({RELEASE}, ready) (kubedl_inferences))",
            "ready: {{ready}}",
            stacked=True,
        ),
        Panel(
            "Failed jobs",
            f'sum(max by ({RELEASE}, kind) (kubedl_jobs{{state="Failed"}}))',
            "failed",
            text="As long as they are there: with ttlSecondsAfterFinished they go.",
        ),
    ),
    "Operator": (
        Panel(
            "Leaders",
            f"sum by ({RELEASE}) (kubedl_leader)",
            "{{namespace}} {{job}}",
            text="One of each release. None for a moment when another takes over.",
        ),
        Panel(
            "Reconciles",
            f"sum by (controller) (rate(kubedl_reconcile_seconds_count[{RATE}]))",
            "{{controller}}",
            unit="ops",
            stacked=True,
        ),
        Panel(
            "Slowest hundredth of reconciles",
            f"histogram_quantile(0.99, sum by (le) (rate(kubedl_reconcile_seconds_bucket[{RATE}])))",
            "p99",
            unit="s",
        ),
        Panel(
            "Waiting for a reconcile",
            f"sum by (controller) (kubedl_queue_depth {LEADING})",
            "{{controller}}",
            text="Of those that lead: nobody works on a standby's queue.",
            stacked=True,
        ),
        Panel(
            "Reconciles that failed",
            f"sum(rate(kubedl_reconcile_errors_total[{RATE}])) or vector(0)",
            "failed",
            unit="ops",
            text="Each is tried again, later each time; the log says why.",
        ),
        Panel(
            "The loop stood still for",
            "max by (pod, instance) (kubedl_loop_lag_max_seconds)",
            "{{pod}} {{instance}}",
            unit="s",
            text="At 10 s a leader loses its Lease.",
        ),
    ),
    "Calls to the API server": (
        Panel(
            "Calls",
            f"sum by (verb) (rate(kubedl_api_calls_total[{RATE}]))",
            "{{verb}}",
            unit="reqps",
            stacked=True,
        ),
        Panel(
            "Calls by outcome",
            f"sum by (outcome) (rate(kubedl_api_calls_total[{RATE}]))",
            "{{outcome}}",
            unit="reqps",
            text="409 is a race that was noticed; 403 is a right that the operator lacks, denied an object that "
            "a policy or a quota refuses; unsure is a call without an answer.",
            stacked=True,
        ),
        Panel(
            "Slowest hundredth of calls",
            f"histogram_quantile(0.99, sum by (verb, le) (rate(kubedl_api_call_seconds_bucket[{RATE}])))",
            "{{verb}}",
            unit="s",
        ),
        Panel(
            "Seconds since a watch gave a sign of life",
            "max by (resource) (kubedl_cache_age_seconds < Inf)",
            "{{resource}}",
            unit="s",
            text="Kinds that the cluster does not have are left out.",
        ),
        Panel("Objects in caches", f"sum by (resource) (kubedl_cache_objects {LEADING})", "{{resource}}", stacked=True),
        Panel("Events for users that were dropped", "sum(kubedl_events_dropped_total)", "dropped"),
    ),
    "Process": (
        Panel(
            "Processor",
            f"rate(process_cpu_seconds_total[{RATE}]) {OURS}",
            "{{pod}} {{instance}}",
            unit="short",
            text="Cores.",
        ),
        Panel(
            "Memory",
            f"process_resident_memory_bytes {OURS}",
            "{{pod}} {{instance}}",
            unit="bytes",
        ),
        Panel(
            "Open files",
            f"process_open_fds {OURS}",
            "{{pod}} {{instance}}",
        ),
    ),
}


def panels() -> list[Panel]:
    """All of them."""
    return [panel for row in BOARD.values() for panel in row]


def dashboard() -> str:
    """The board as Grafana imports it."""
    drawn: list[dict[str, Any]] = []
    y = 0
    for name, row in BOARD.items():
        drawn.append({"type": "row", "title": name, "id": len(drawn) + 1, "gridPos": _place(0, y, 24, 1), "panels": []})
        y += 1
        for number, panel in enumerate(row):
            place = _place(number % 3 * WIDTH, y + number // 3 * HEIGHT, WIDTH, HEIGHT)
            drawn.append(_panel(panel, len(drawn) + 1, place))
        y += (len(row) + 2) // 3 * HEIGHT
    source = {"name": "source", "type": "datasource", "query": "prometheus", "label": "Prometheus"}
    board = {
        "uid": "kubedl",
        "title": "KubeDL",
        "tags": ["kubedl"],
        "schemaVersion": 39,
        "refresh": "30s",
        "time": {"from": "now-3h", "to": "now"},
        "templating": {"list": [source]},
        "panels": drawn,
    }
    return json.dumps(board, indent=1, ensure_ascii=False) + "\n"


def _panel(panel: Panel, number: int, place: dict[str, int]) -> dict[str, Any]:
    custom = {"fillOpacity": 25 if panel.stacked else 0, "stacking": {"mode": "normal" if panel.stacked else "none"}}
    source = {"type": "prometheus", "uid": "${source}"}
    return {
        "id": number,
        "type": "timeseries",
        "title": panel.title,
        **({"description": panel.text} if panel.text else {}),
        "gridPos": place,
        "datasource": source,
        "fieldConfig": {"defaults": {"unit": panel.unit, "min": 0, "custom": custom}, "overrides": []},
        "options": {"legend": {"displayMode": "list", "placement": "bottom"}, "tooltip": {"mode": "multi"}},
        "targets": [{"refId": "A", "datasource": source, "expr": panel.query, "legendFormat": panel.legend}],
    }


def _place(x: int, y: int, width: int, height: int) -> dict[str, int]:
    return {"x": x, "y": y, "w": width, "h": height}
