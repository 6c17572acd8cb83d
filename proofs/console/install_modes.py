"""From the start of a console to an Overview of somebody who has signed in: `python -m proofs.console.install_modes`.

In each of the modes, with neither database nor Prometheus nor Kueue, in Chromium on a real control plane: `kubedl open`
for the owner of a kubeconfig, the pasted token, and a proxy in front. What the console lacks, it says. The pods of the
chart are not part of it. The last line is JSON.
"""

import json
import re
import sys
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path

from harness.drivers.api_connection import Connection
from harness.drivers.console_process import ROOT, ConsoleProcess
from harness.drivers.process import Process
from proofs.console.states_scene import Scene, new_scene
from proofs.console.windows import Shown, Windows
from testbed import cluster_lock, namespaces
from testbed.cluster import Cluster
from testbed.instance import chosen_index
from testbed.waiting import until

ADDRESS = re.compile(r"(http://127\.0\.0\.1:\d+)(/#code=\S+)")
LACKS = {
    "/cost": ("The history is not installed.", "console.history.databaseSecret"),
    "/jobs?view=deleted": ("The history is not installed.",),
    "/queues": ("Kueue is not installed.",),
    "/services": ("There are no services that you may see.",),
}
WITHIN = 180.0


def main() -> int:
    """Print the seconds, and what was not said."""
    with (
        cluster_lock.borrowed(Cluster(chosen_index())) as cluster,
        cluster_lock.turn(cluster, alone=True),
        Connection(cluster) as connection,
        namespaces.fresh(cluster.api, "modes") as namespace,
        tempfile.TemporaryDirectory(prefix="kubedl-console-modes-") as directory,
    ):
        scene = new_scene(cluster, connection, namespace)
        scene.uninstall_kueue()
        with scene.person("ada") as (token, _):
            figures: dict[str, float] = {}
            unsaid: list[str] = []
            for mode in ("proxy", "token", "local"):
                place = Path(directory) / mode
                seconds, missing = _local(scene, place) if mode == "local" else _shared(scene, place, mode, token)
                figures[f"seconds with {mode}"] = round(seconds, 1)
                unsaid += [f"{mode}: {one}" for one in missing]
    for one in unsaid:
        print(one, file=sys.stderr)
    print(json.dumps({"modes": len(figures), **figures, "unsaid": len(unsaid)}))
    return 0


def _shared(scene: Scene, directory: Path, mode: str, token: str) -> tuple[float, list[str]]:
    began = time.monotonic()
    with ConsoleProcess(scene.cluster, directory, mode=mode) as console, Windows(console.url) as windows:
        windows.open("ada", token if mode == "proxy" else "")
        if mode == "token":
            windows.sign_in("ada", token)
        return _looked(windows, began)


def _local(scene: Scene, directory: Path) -> tuple[float, list[str]]:
    began = time.monotonic()
    command = [sys.executable, "-m", "kubedl.entrypoints.command", "open", "--no-browser"]
    command += ["--kubeconfig", str(scene.cluster.kubeconfig)]
    process = Process(command, directory / "open.log", {"PYTHONPATH": str(ROOT / "src")}, ROOT)

    def printed() -> list[str]:
        process.insist()
        return [part for found in ADDRESS.finditer(process.log()) for part in found.groups()]

    with ExitStack() as ends:
        process.start()
        ends.callback(process.kill)
        address = until("the address", printed, deadline=60)
        windows = ends.enter_context(Windows(address[0]))
        windows.open("ada", "", address[1])
        return _looked(windows, began)


def _looked(windows: Windows, began: float) -> tuple[float, list[str]]:
    overview: Shown = windows.look("ada", ("Live", "no node has any", "Nothing waits"), within=WITHIN)
    seconds = time.monotonic() - began
    missing = [f"/: {word}" for word in overview.missing]
    for path, words in LACKS.items():
        shown = windows.visit("ada", path, words)
        missing += [f"{path}: {word}" for word in shown.missing]
    return seconds, missing


if __name__ == "__main__":
    sys.exit(main())
