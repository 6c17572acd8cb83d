"""The Grafana dashboard of the recorder. Each panel has data as soon as one runs; those about logs, if it archives."""

from devtools.dashboard import POD, RATE, RELEASE, Board, Panel

OURS = f"and on ({POD}) kubedl_recorder_leader"

HISTORY_BOARD: Board = {
    "History": (
        Panel(
            "Leading recorders",
            f"sum by ({RELEASE}) (kubedl_recorder_leader)",
            "{{namespace}} {{job}}",
            text="One per release. None for a moment during a failover.",
        ),
        Panel(
            "Rows written",
            f"sum by (sink, table) (rate(kubedl_recorder_rows_total[{RATE}]))",
            "{{sink}} {{table}}",
            unit="ops",
            stacked=True,
        ),
        Panel(
            "p99 from observation to commit",
            f"histogram_quantile(0.99, sum by (sink, le) (rate(kubedl_recorder_lag_seconds_bucket[{RATE}])))",
            "{{sink}}",
            unit="s",
        ),
        Panel(
            "Age of the oldest state that waits",
            "max by (sink) (kubedl_recorder_oldest_seconds)",
            "{{sink}}",
            unit="s",
            text="Above 120 s there is an alert: the sink cannot be written to.",
        ),
        Panel("States that wait", "sum by (sink) (kubedl_recorder_pending)", "{{sink}}"),
        Panel(
            "Failed attempts to write",
            f"sum by (sink) (rate(kubedl_recorder_failures_total[{RATE}]))",
            "{{sink}}",
            unit="ops",
            text="Each is repeated; the recorder's log has the reason.",
        ),
        Panel(
            "States lost or rejected",
            "sum by (sink) (kubedl_recorder_lost_total) + sum by (sink) (kubedl_recorder_rejected_total)",
            "{{sink}}",
        ),
    ),
    "Logs": (
        Panel(
            "Logs archived within an hour",
            "sum by (outcome) (increase(kubedl_recorder_logs_total[1h]))",
            "{{outcome}}",
            text="gone: deleted before it was read; failed: could not be read; dropped: too many waited.",
            stacked=True,
        ),
        Panel("Age of the oldest log that waits", "max(kubedl_recorder_logs_oldest_seconds)", "oldest", unit="s"),
        Panel("Logs that wait", "sum(kubedl_recorder_logs_pending)", "waiting"),
        Panel(
            "Failed attempts to store",
            f"sum(rate(kubedl_recorder_logs_failures_total[{RATE}]))",
            "failed",
            unit="ops",
        ),
        Panel("Compressed bytes stored", f"sum(rate(kubedl_recorder_logs_bytes_total[{RATE}]))", "stored", unit="Bps"),
    ),
    "Process": (
        Panel(
            "Requests by outcome",
            f"sum by (verb, outcome) (rate(kubedl_api_calls_total[{RATE}]) {OURS})",
            "{{verb}} {{outcome}}",
            unit="reqps",
            stacked=True,
        ),
        Panel(
            "Processor",
            f"rate(process_cpu_seconds_total[{RATE}]) {OURS}",
            "{{pod}} {{instance}}",
            text="Cores.",
        ),
        Panel("Memory", f"process_resident_memory_bytes {OURS}", "{{pod}} {{instance}}", unit="bytes"),
    ),
}
