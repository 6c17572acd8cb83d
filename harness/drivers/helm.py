"""Helm as an administrator runs it, with the chart of this repository or another one."""

import json
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from testbed import tools
from testbed.api import Object
from testbed.cluster import Cluster
from testbed.http import NO_PROXIES
from testbed.shell import run

CHART = Path(__file__).parents[2] / "deploy" / "chart"
KUBERNETES = "1.36.4"  # as which Helm renders where no cluster is asked
TIMEOUT = 300.0
IMAGE = {"repository": "registry.example/kubedl"}  # where nothing is started the chart must be given one too

Values = Mapping[str, Any]


class Helm:
    """Without a cluster it renders; with one it installs."""

    def __init__(self, cluster: Cluster | None = None) -> None:
        self._program = str(tools.binary("helm"))
        self._cluster = cluster
        self._home = Path(tempfile.mkdtemp(prefix="kubedl-helm-"))

    def lint(self, values: Values | None = None, chart: Path = CHART) -> str:
        """What Helm complains about is an error."""
        return self._run("lint", "--strict", str(chart), *self._values({"image": IMAGE, **(values or {})}))

    def template(
        self, values: Values | None = None, *, release: str = "kubedl", namespace: str = "kubedl-system"
    ) -> list[Object]:
        """Every object that the chart would make, tests among them."""
        text = self._run(
            "template",
            release,
            str(CHART),
            f"--namespace={namespace}",
            f"--kube-version={KUBERNETES}",
            *self._values({"image": IMAGE, **(values or {})}),
        )
        # Definitions are long, and the loader in C reads them ten times as fast.
        return [document for document in yaml.load_all(text, yaml.CSafeLoader) if document]

    def install(self, release: str, namespace: str, values: Values | None = None, chart: Path = CHART) -> str:
        """Install as the docs say, and wait until everything is ready."""
        return self._changed("install", release, str(chart), namespace, "--create-namespace", *self._values(values))

    def upgrade(self, release: str, namespace: str, values: Values | None = None, chart: Path = CHART) -> str:
        """To another chart as the docs say: what was set stays set, but for these values."""
        values_kept = "--reset-then-reuse-values"
        return self._changed("upgrade", release, str(chart), namespace, values_kept, *self._values(values))

    def rollback(self, release: str, namespace: str) -> str:
        """To what was there before the last upgrade."""
        return self._run("rollback", release, f"--namespace={namespace}", "--wait", f"--timeout={TIMEOUT:g}s")

    def releases(self, namespace: str) -> list[str]:
        """Those that there are, whole or not."""
        return self._run("list", "--short", f"--namespace={namespace}").split()

    def test(self, release: str, namespace: str) -> str:
        """What `helm test` says, with the words of its pods."""
        return self._run("test", release, f"--namespace={namespace}", f"--timeout={TIMEOUT:g}s", "--logs")

    def uninstall(self, release: str, namespace: str) -> str:
        """Take it away; the definitions stay."""
        return self._run("uninstall", release, f"--namespace={namespace}", "--wait", f"--timeout={TIMEOUT:g}s")

    def _changed(self, verb: str, release: str, chart: str, namespace: str, *options: str) -> str:
        waiting = "--wait", f"--timeout={TIMEOUT:g}s"
        return self._run(verb, release, chart, f"--namespace={namespace}", *options, *waiting)

    def _values(self, values: Values | None) -> list[str]:
        if not values:
            return []
        file = self._home / "values.json"  # JSON is YAML too
        file.write_text(json.dumps(values))
        return [f"--values={file}"]

    def _run(self, *arguments: str) -> str:
        places = {f"HELM_{name}_HOME": str(self._home) for name in ("CACHE", "CONFIG", "DATA")}
        known = [f"--kubeconfig={self._cluster.kubeconfig}"] if self._cluster is not None else []
        return run(self._program, *arguments, *known, timeout=TIMEOUT + 60, environment={**NO_PROXIES, **places})
