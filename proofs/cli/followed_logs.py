"""`kubedl logs -f` of four replicas while things break, on two real nodes: `python -m proofs.cli.followed_logs`.

Each replica prints a thousand numbered lines a second. Meanwhile the API server is restarted twice, and the pod of one
replica is deleted, so that the operator replaces it. A process marks its lines, so that those of a replica's first and
second run are told apart. Of each run every line must come once and in order; of those that ended by themselves, all of
them. The last line is JSON: runs, and how many of them were without a defect.
"""

import json
import os
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from itertools import product
from pathlib import Path

from devtools.lint_repo import ROOT
from harness.drivers import command_line
from harness.drivers.operator_process import Operator, install_custom_resources
from testbed import cluster_lock, namespaces, processes
from testbed.api import ApiError
from testbed.cluster import Cluster
from testbed.faults import Faults
from testbed.instance import chosen_index
from testbed.waiting import until

FULL = os.environ.get("PROOF_SIZE", "full") == "full"
RUNS = 20 if FULL else 2
REPLICAS, LINES, RATE = 4, 60_000, 1000  # a minute at least, and until a process is told that all has been broken
NAMES = ("master-0", *(f"worker-{index}" for index in range(REPLICAS - 1)))
REPLACED = "worker-1"
LONGEST = 900.0  # seconds of one run
LATER = 10  # priority of processes that others go before
# A mark of its own, then numbers at a steady rate, at least so many, until SIGUSR1 has come; then how many they were.
SCRIPT = f"""
import os, signal, time
told = []
signal.signal(signal.SIGUSR1, lambda *_: told.append(True))
mark, began, number = os.urandom(4).hex(), time.monotonic(), 0
while number < {LINES} or not told:
    number += 1
    print(mark, number, flush=True)
    time.sleep(max(0.0, began + number / {RATE} - time.monotonic()))
print(mark, "end", number, flush=True)
"""
STOP = "import os, signal; os.kill(1, signal.SIGUSR1)"


def main() -> int:
    """Run, and count the runs without a defect."""
    good = lines = 0
    with (
        cluster_lock.borrowed(Cluster(chosen_index()), nodes=2) as cluster,
        tempfile.TemporaryDirectory(prefix="kubedl-followed-") as directory,
    ):
        install_custom_resources(cluster)
        image = cluster.image("base")
        _prefer_the_control_plane(cluster)
        with Operator(cluster) as operator:
            for number in range(1, RUNS + 1):
                operator.insist()
                with namespaces.fresh(cluster.api, "logs") as namespace:
                    text, code, said = _followed(cluster, namespace, image, Path(directory))
                found = defects(text) + ([] if code == 0 else [f"exit code {code}: {said[-500:]}"])
                good, lines = good + (not found), lines + len(text.splitlines())
                print(f"{number:3} {'ok' if not found else '; '.join(found[:5])}", flush=True, file=sys.stderr)
    print(json.dumps({"runs": RUNS, "good": good, "bad": RUNS - good, "lines": lines}))
    return 0


def _prefer_the_control_plane(cluster: Cluster) -> None:
    """Let nodes come second: they share two processors with the API server, which elsewhere has a machine of its own.

    Four thousand lines a second keep both busy, and an API server that has to wait for them starts in minutes.
    Where the kernel shares processors among sessions (autogroup), a priority counts within its session only, and the
    session, of which each of these processes is the leader, has one of its own.
    """
    for node, daemon in product(("node1", "node2"), ("containerd", "kubelet")):
        process = processes.one(cluster.instance.index, f"{node}/{daemon}")
        for thread in Path(f"/proc/{process.pid}/task").iterdir():
            os.setpriority(os.PRIO_PROCESS, int(thread.name), LATER)
        session = Path(f"/proc/{process.pid}/autogroup")
        if session.exists():
            session.write_text(str(LATER))


def _followed(cluster: Cluster, namespace: str, image: str, place: Path) -> tuple[str, int, str]:
    """Submit a job, and follow it while things break; returns the lines, the exit code, and the words beside them."""
    flags = ("--name", "talk", "--image", image, "--workers", str(REPLICAS), "--retry", "3")
    words = ("submit", "pytorch", *flags, "--", "python3", "-u", "-c", SCRIPT)
    made = command_line.kubedl(cluster, namespace, place, *words)
    if made.returncode != 0:
        raise RuntimeError(made.stderr)
    where = ("-n", namespace, "--kubeconfig", str(cluster.kubeconfig))
    command = [sys.executable, "-m", "kubedl.entrypoints.command", *where, "logs", "-f", "talk"]
    environment = {"PYTHONPATH": str(ROOT / "src"), "XDG_CACHE_HOME": str(place), "PATH": "/usr/bin:/bin"}
    out, err = place / "out", place / "err"
    with out.open("wb") as lines, err.open("wb") as notes:
        process = subprocess.Popen(command, env=environment, stdout=lines, stderr=notes)
        try:
            _break(cluster, namespace, out)
            code = process.wait(LONGEST)
        finally:
            if process.poll() is None:
                process.kill()
                process.wait()
    return out.read_text(errors="replace"), code, err.read_text(errors="replace")


def _break(cluster: Cluster, namespace: str, out: Path) -> None:
    """Restart the server, replace a replica, restart the server: each while all replicas print."""
    faults, pod = Faults(cluster), f"/api/v1/namespaces/{namespace}/pods/talk-{REPLACED}"
    until("every replica to print", lambda: len(_runs(out.read_text(errors="replace"))) >= REPLICAS, deadline=180)
    time.sleep(2)
    faults.restart("kube-apiserver")
    time.sleep(3)
    old = cluster.api.get(pod)["metadata"]["uid"]
    # Python as the first process of a container ignores SIGTERM, and would print to its end in the usual half minute.
    flags = (f"--namespace={namespace}", "--grace-period=1", "--wait=false")
    cluster.kubectl("delete", "pod", f"talk-{REPLACED}", *flags)
    until(f"{REPLACED} to be replaced", lambda: _uid(cluster, pod) not in ("", old), deadline=180)
    until(f"{REPLACED} to print again", lambda: _replaced(out), deadline=180)
    time.sleep(3)
    faults.restart("kube-apiserver")
    for replica in NAMES:
        cluster.kubectl("exec", f"talk-{replica}", f"--namespace={namespace}", "--", "python3", "-c", STOP)


def _replaced(out: Path) -> bool:
    """Tell whether the second process of the replaced replica has printed."""
    return len([one for one in _runs(out.read_text(errors="replace")) if one[0] == REPLACED]) > 1


def _uid(cluster: Cluster, pod: str) -> str:
    """Return the uid of a pod; empty while there is none."""
    try:
        return str(cluster.api.get(pod)["metadata"]["uid"])
    except ApiError:
        return ""


def defects(text: str) -> list[str]:
    """Return what is wrong with the lines of one run."""
    runs = _runs(text)
    found = []
    for (replica, mark), numbers in sorted(runs.items()):
        ends, written = [one for one in numbers if one.startswith("end")], [one for one in numbers if one.isdigit()]
        if written != [str(number) for number in range(1, len(written) + 1)]:
            found.append(f"{replica} {mark}: {_first_gap(written)}")
        if ends and (ends != [f"end {len(written)}"] or not numbers[-1].startswith("end")):
            found.append(f"{replica} {mark}: {', '.join(ends)} after {len(written)} lines")
    ended = {replica for (replica, _), numbers in runs.items() if numbers[-1].startswith("end")}
    found += [f"{replica} never ended" for replica in NAMES if replica not in ended]
    if len([one for one in runs if one[0] == REPLACED]) < 2:
        found.append(f"{REPLACED} was not replaced")
    return found


def _runs(text: str) -> dict[tuple[str, str], list[str]]:
    """Return the numbers of each process, by replica and mark; the last line may not be written to its end yet."""
    found: dict[tuple[str, str], list[str]] = defaultdict(list)
    for line in text.splitlines():
        replica, _, rest = line.partition("] ")
        mark, _, number = rest.partition(" ")
        found[replica.lstrip("["), mark].append(number)
    return dict(found)


def _first_gap(written: list[str]) -> str:
    for place, number in enumerate(written, 1):
        if number != str(place):
            return f"{number} in place of {place}"
    return ""


if __name__ == "__main__":
    sys.exit(main())
