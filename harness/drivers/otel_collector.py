"""A real OpenTelemetry collector that receives logs by OTLP over HTTP and writes them to a file."""

import json
import shutil
import socket
import tempfile
from pathlib import Path
from typing import Any, Self

from harness.drivers.operator_process import free_port
from harness.drivers.process import Process
from testbed import tools
from testbed.api import Object
from testbed.waiting import until

DEADLINE = 60.0


class OtelCollector(Process):
    """Ready when the block begins; its files are removed at the end."""

    def __init__(self, host: str = "127.0.0.1") -> None:
        self.directory = Path(tempfile.mkdtemp(prefix="kubedl-otelcol-"))
        self._host, self._port = host, free_port()
        self.url = f"http://{host}:{self._port}"
        self._file = self.directory / "logs.json"
        settings = {
            "receivers": {"otlp": {"protocols": {"http": {"endpoint": f"{host}:{self._port}"}}}},
            "exporters": {"file": {"path": str(self._file), "flush_interval": "1s"}},
            "service": {
                "telemetry": {"metrics": {"level": "none"}},
                "pipelines": {"logs": {"receivers": ["otlp"], "exporters": ["file"]}},
            },
        }
        # JSON is YAML too.
        (self.directory / "config.yaml").write_text(json.dumps(settings))
        command = [str(tools.binary("otelcol")), "--config", f"file:{self.directory / 'config.yaml'}"]
        super().__init__(command, self.directory / "otelcol.log", {}, self.directory)

    def __enter__(self) -> Self:
        super().__enter__()
        self.wait_ready()
        return self

    def __exit__(self, *arguments: object) -> None:
        super().__exit__(*arguments)  # type: ignore[arg-type]
        shutil.rmtree(self.directory, ignore_errors=True)

    def wait_ready(self) -> None:
        """Wait until it listens."""
        until("the collector to listen", lambda: self.insist() and self._listens(), deadline=DEADLINE, interval=0.2)

    def records(self) -> list[Object]:
        """Every record that it has received, as plain objects: attributes and body by key."""
        if not self._file.exists():
            return []
        lines = [json.loads(line) for line in self._file.read_text().splitlines() if line.endswith("}")]
        parts = [
            (part["resource"], scope) for line in lines for part in line["resourceLogs"] for scope in part["scopeLogs"]
        ]
        return [
            {
                **record,
                "resource": plain({"kvlistValue": {"values": resource["attributes"]}}),
                "attributes": plain({"kvlistValue": {"values": record["attributes"]}}),
                "body": plain(record["body"]),
            }
            for resource, scope in parts
            for record in scope["logRecords"]
        ]

    def _listens(self) -> bool:
        try:
            with socket.create_connection((self._host, self._port), 5):
                return True
        except OSError:
            return False


def plain(value: Object) -> Any:  # noqa: ANN401 - any JSON
    """An AnyValue of OTLP as it would be in plain JSON."""
    if "kvlistValue" in value:
        return {pair["key"]: plain(pair.get("value") or {}) for pair in value["kvlistValue"].get("values", ())}
    if "arrayValue" in value:
        return [plain(part) for part in value["arrayValue"].get("values", ())]
    if "intValue" in value:
        return int(value["intValue"])
    return next(iter(value.values()), None)
