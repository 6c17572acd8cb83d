"""A real Prometheus that looks at some pages every second, and may know a past."""

import json
import subprocess
import tempfile
import urllib.parse
import urllib.request
from pathlib import Path
from typing import Any, Self

from harness.drivers.operator_process import free_port
from harness.drivers.process import Process
from testbed import tools
from testbed.http import answers
from testbed.waiting import until

_opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))


class RealPrometheus(Process):
    """Ready when the block begins."""

    def __init__(self, *targets: str, path: str = "/metrics", port: int | None = None, past: str = "") -> None:
        """With a past in the format of OpenMetrics, it has these samples when it starts."""
        place = Path(tempfile.mkdtemp(prefix="kubedl-prometheus-"))
        self.url = f"http://127.0.0.1:{port or free_port()}"
        scraped = {"job_name": "looked-at", "metrics_path": path, "static_configs": [{"targets": list(targets)}]}
        # JSON is YAML too.
        (place / "prometheus.yml").write_text(
            json.dumps({"global": {"scrape_interval": "1s", "scrape_timeout": "1s"}, "scrape_configs": [scraped]})
        )
        command = [
            str(tools.binary("prometheus")),
            f"--config.file={place / 'prometheus.yml'}",
            f"--storage.tsdb.path={place / 'data'}",
            "--storage.tsdb.retention.time=1y",
            f"--web.listen-address={self.url.removeprefix('http://')}",
        ]
        if past:
            (place / "past").write_text(past)
            blocks = [
                str(tools.binary("prometheus").with_name("promtool")),
                "tsdb",
                "create-blocks-from",
                "openmetrics",
            ]
            subprocess.run([*blocks, str(place / "past"), str(place / "data")], check=True, capture_output=True)
        super().__init__(command, place / "prometheus.log", {}, place)

    def __enter__(self) -> Self:
        super().__enter__()
        until("Prometheus", lambda: self.insist() and answers(f"{self.url}/-/ready"), deadline=180)
        return self

    def ask(self, query: str) -> list[Any]:
        """The samples that answer a question now."""
        words = urllib.parse.urlencode({"query": query})
        with _opener.open(f"{self.url}/api/v1/query?{words}", timeout=30) as response:
            samples: list[Any] = json.load(response)["data"]["result"]
        return samples
