"""Grafana dashboards, generated from lists of panels, and that of the operator; each has data as soon as it runs."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

WIDTH, HEIGHT = 8, 7  # of a panel; the dashboard is 24 wide
RATE = "$__rate_interval"  # Grafana's variable: at least four scrapes
# Leader and standby of a release, identified by `namespace` and `job`, export the same counts; releases are summed.
RELEASE, POD = "namespace, job", "namespace, pod, instance, job"
LEADING = f"and on ({POD}) (kubedl_leader == 1)"
OURS = f"and on ({POD}) kubedl_leader"


@dataclass(frozen=True)
class Panel:
    """A panel: its title, query and unit."""

    title: str
    query: str
    legend: str = "__auto"
    unit: str = "short"
    text: str = ""
    stacked: bool = False


Board = Mapping[str, Sequence[Panel]]  # rows of panels

BOARD: Board = {
    "Work": (
        Panel(
            "Jobs by state",
            f"sum by (state) (max by ({RELEASE}, kind, state) (kubedl_jobs))",
            "{{state}}",
            text="Leader and standby export the same counts; several releases are summed.",
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
            text="kubedl_jobs_succeeded_total counts the jobs that succeeded.",
            stacked=True,
        ),
        Panel(
            "Launch delay",
            "histogram_quantile(0.9, sum by (pods, le) (rate(kubedl_jobs_launch_seconds_bucket[1h])))",
            "{{pods}}",
            unit="s",
            text="p90 from the creation of a job until its first pod was ready, and until all pods were.",
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
            text="While they exist: ttlSecondsAfterFinished deletes them.",
        ),
    ),
    "Operator": (
        Panel(
            "Leaders",
            f"sum by ({RELEASE}) (kubedl_leader)",
            "{{namespace}} {{job}}",
            text="One per release. None for a moment during a failover.",
        ),
        Panel(
            "Reconciles",
            f"sum by (controller) (rate(kubedl_reconcile_seconds_count[{RATE}]))",
            "{{controller}}",
            unit="ops",
            stacked=True,
        ),
        Panel(
            "p99 of reconciles",
            f"histogram_quantile(0.99, sum by (le) (rate(kubedl_reconcile_seconds_bucket[{RATE}])))",
            "p99",
            unit="s",
        ),
        Panel(
            "Waiting for a reconcile",
            f"sum by (controller) (kubedl_queue_depth {LEADING})",
            "{{controller}}",
            text="Of leaders: the queue of a standby is not processed.",
            stacked=True,
        ),
        Panel(
            "Failed reconciles",
            f"sum(rate(kubedl_reconcile_errors_total[{RATE}])) or vector(0)",
            "failed",
            unit="ops",
            text="Each is retried with backoff; the log has the error.",
        ),
        Panel(
            "Maximum event loop lag",
            "max by (pod, instance) (kubedl_loop_lag_max_seconds)",
            "{{pod}} {{instance}}",
            unit="s",
            text="At 10 s a leader loses its Lease.",
        ),
    ),
    "Requests to the API server": (
        Panel(
            "Calls",
            f"sum by (verb) (rate(kubedl_api_calls_total[{RATE}]))",
            "{{verb}}",
            unit="reqps",
            stacked=True,
        ),
        Panel(
            "Requests by outcome",
            f"sum by (outcome) (rate(kubedl_api_calls_total[{RATE}]))",
            "{{outcome}}",
            unit="reqps",
            text="409 is a conflict, which is retried; 403 is a missing permission of the operator; denied is a "
            "rejection by a policy or quota; unsure is a request without a response.",
            stacked=True,
        ),
        Panel(
            "p99 of requests",
            f"histogram_quantile(0.99, sum by (verb, le) (rate(kubedl_api_call_seconds_bucket[{RATE}])))",
            "{{verb}}",
            unit="s",
        ),
        Panel(
            "Seconds since a watch received data",
            "max by (resource) (kubedl_cache_age_seconds < Inf)",
            "{{resource}}",
            unit="s",
            text="Kinds that the cluster does not serve are left out.",
        ),
        Panel(
            "Objects in informer caches",
            f"sum by (resource) (kubedl_cache_objects {LEADING})",
            "{{resource}}",
            stacked=True,
        ),
        Panel("Events that were dropped", "sum(kubedl_events_dropped_total)", "dropped"),
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


def panels(board: Board = BOARD) -> list[Panel]:
    """Return all panels."""
    return [panel for row in board.values() for panel in row]


def dashboard(rows: Board = BOARD, uid: str = "kubedl", title: str = "KubeDL") -> str:
    """Return a dashboard as JSON for Grafana."""
    drawn: list[dict[str, Any]] = []
    y = 0
    for name, row in rows.items():
        drawn.append({"type": "row", "title": name, "id": len(drawn) + 1, "gridPos": _place(0, y, 24, 1), "panels": []})
        y += 1
        for number, panel in enumerate(row):
            place = _place(number % 3 * WIDTH, y + number // 3 * HEIGHT, WIDTH, HEIGHT)
            drawn.append(_panel(panel, len(drawn) + 1, place))
        y += (len(row) + 2) // 3 * HEIGHT
    source = {"name": "source", "type": "datasource", "query": "prometheus", "label": "Prometheus"}
    board = {
        "uid": uid,
        "title": title,
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
