"""What the pages say to the twelve questions, and what is true: by kubectl, and by those who made the past."""

import json
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from math import ceil
from typing import Any, TypedDict

from harness.drivers.console_objects import GPU
from proofs.console.figures import described_node, names, takes_pods
from proofs.console.question_metrics import FAILED, IDLE, MEASURED, P99
from proofs.console.question_world import PRICE, Prepared, last_month
from testbed.api import Object

Texts = Mapping[str, Sequence[str]]
Compared = tuple[object, object]  # what was read, and what is true
NOT_THERE = "the page does not say it"
MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]


class Seen(TypedDict):
    """What the script prints about one look."""

    id: int
    clicks: int
    seconds: float
    texts: dict[str, list[str]]
    errors: list[str]


def attention(ready: Prepared, texts: Texts) -> Compared:
    """The jobs of this person that failed today or wait."""
    found = re.findall(r" / (\S+) yours", _text(texts, "list"))
    own = [job for job in _jobs(ready) if job["metadata"].get("annotations", {}).get("kubedl.io/user") == ready.user]
    return sorted(found), sorted(
        _name(job) for job in own if job["status"]["state"] in ("Failed", "Queuing", "Created")
    )


def holders(ready: Prepared, texts: Texts) -> Compared:
    """GPUs by job, with its user."""
    rows = re.findall(r" / (\S+)\s+(\S+)\s+(\d+)\s", _text(texts, "table"))
    users = {_name(job): job["metadata"].get("annotations", {}).get("kubedl.io/user") for job in _jobs(ready)}
    true: Counter[str] = Counter()
    for pod in _holding(ready):
        true[pod["metadata"]["ownerReferences"][0]["name"]] += _gpus(pod)
    return (
        sorted((name, user, int(gpus)) for name, user, gpus in rows),
        sorted((name, users[name], gpus) for name, gpus in true.items()),
    )


def teams(ready: Prepared, texts: Texts) -> Compared:
    """GPUs by namespace."""
    rows = dict(re.findall(r"^(\S+)\s+(\d+)\s", _text(texts, "table").partition("GPUs\n")[2], re.MULTILINE))
    true: Counter[str] = Counter()
    for pod in _holding(ready):
        true[pod["metadata"]["namespace"]] += _gpus(pod)
    return {name: int(gpus) for name, gpus in rows.items()}, dict(true)


def free(ready: Prepared, texts: Texts) -> Compared:
    """Free of total, and the largest block with its node."""
    text = " ".join(_text(texts, "card").split())
    block = re.search(r"largest free block: (\d+) on (\S+)", text)
    amount = re.search(r"(\d+) free of (\d+)", text)
    by_node, total = _free(ready)
    node = max(by_node, key=lambda name: by_node[name])
    read = (block.groups() if block else NOT_THERE, amount.groups() if amount else NOT_THERE)
    return read, ((str(by_node[node]), node), (str(sum(by_node.values())), str(total)))


def waiting(ready: Prepared, texts: Texts) -> Compared:
    """What the job wants, and the most that a node has free."""
    found = re.search(
        r"No node has (\d+) \S+ free: the largest free block is (\d+)\D*\(on (\S+)\)", _text(texts, "why")
    )
    wanted = next(_gpus(pod) for pod in _get(ready, "pods") if _name(pod) == "lora-worker-0")
    by_node, _ = _free(ready)
    node = max(by_node, key=lambda name: by_node[name])
    return found.groups() if found else NOT_THERE, (str(wanted), str(by_node[node]), node)


def start(ready: Prepared, texts: Texts) -> Compared:
    """Half and nine of ten of the waits in its queue."""
    text = _text(texts, "facts")
    found = re.search(
        r"Expected start\s+(.+)\s+likely by (.+): half of (\d+) similar jobs waited (.+), nine of ten (.+)", text
    )
    waits = sorted(job.waited for job in ready.past if job.queue == "gpus")
    half, most = (waits[ceil(share * len(waits)) - 1] for share in (0.5, 0.9))
    born = _moment(next(job for job in _jobs(ready) if _name(job) == "lora")["metadata"]["creationTimestamp"])
    true = (_clock(born + half), _clock(born + most), str(len(waits)), _duration(half), _duration(most))
    return tuple(one.strip() for one in found.groups()) if found else NOT_THERE, true


def progress(ready: Prepared, texts: Texts) -> Compared:
    """The part that its program reported, and the end that follows."""
    found = re.search(r"\bfar\b[\s\S]*?(\d+) % done, ends (.+)", _text(texts, "table"))
    job = next(job for job in _jobs(ready) if _name(job) == "far")
    said = job["status"]["spot"]
    done = 100 * said["progress"]["seconds"] // job["spec"]["spot"]["work"]["seconds"]
    return found.groups() if found else NOT_THERE, (str(done), _clock(_moment(said["projectedEnd"])))


def idle(ready: Prepared, texts: Texts) -> Compared:
    """For how many minutes it has printed nothing; and no figure of progress, since it reports none."""
    found = re.search(r"(\S+ \d+) hangs: .*printed nothing for (\d+) ?m", _text(texts, "why"))
    reported = "not reported" in _text(texts, "facts")
    minutes = (datetime.now(UTC) - _logged(ready, "hangs-worker-0")[0]) // timedelta(minutes=1)
    near = found is not None and abs(int(found[2]) - minutes) <= 1
    return (found[1] if found else NOT_THERE, near, reported), ("worker 0", True, True)


def first_failure(ready: Prepared, texts: Texts) -> Compared:
    """The pod whose container ended first, in words and as the log that is open, at its last line."""
    why = re.search(r"(\S+ \d+) failed first with exit code (\d+)", _text(texts, "why"))
    dead = [pod for pod in _get(ready, "pods") if _name(pod).startswith("train-9-")]
    first = min(dead, key=lambda pod: str(_ended(pod)["finishedAt"]))
    replica = _name(first).removeprefix("train-9-")
    last = _logged(ready, _name(first))[1]
    open_pod, log = _text(texts, "pod").split()[0], _text(texts, "log").strip()
    read = (why.groups() if why else NOT_THERE, open_pod, log[-len(last) :])
    return read, ((replica.replace("-", " "), str(_ended(first)["exitCode"])), replica, last)


def changes(ready: Prepared, texts: Texts) -> Compared:
    """The last good run, and the fields of its replicas that differ."""
    text = _text(texts, "panel")
    rows = {tuple(line.split("\t")) for line in text.splitlines() if line.startswith("Worker.")}
    since = re.search(r"Since (\S+) succeeded", text)
    good, now = (_leaves(next(job for job in _jobs(ready) if _name(job) == name)) for name in ("train-8", "train-9"))
    differ = {
        (key, good.get(key, ""), now.get(key, "")) for key in good.keys() | now.keys() if good.get(key) != now.get(key)
    }
    return (since[1] if since else NOT_THERE, {tuple(one.strip() for one in row) for row in rows}), ("train-8", differ)


def lineage(ready: Prepared, texts: Texts) -> Compared:
    """Service, version, job, code and data, of those that are lit; what serves nobody is not."""
    lit, sentence = "\n".join(texts["parts"]), _text(texts, "answer")
    service = json.loads(ready.cluster.kubectl("get", "inference", "summary", "-n", ready.namespace, "-o", "json"))
    name = service["status"]["predictorStatuses"][0]["modelVersion"]
    versions = {_name(one): one["spec"]["origin"] for one in _get(ready, "modelversions")}
    origin = versions.pop(name)
    job = next(job for job in ready.past if job.name == origin["jobName"])
    wanted = {
        "service": (f"{_name(service)} answers with", sentence),
        "version": (f"with {name.removeprefix('summary-')} (100 %)", sentence),
        "user": (job.user, sentence),
        "job": (origin["jobName"], lit),
        "code": (origin["codeRevision"][:8], lit),
        "data": (job.data.removeprefix("s3://data/"), lit),
    }
    read = {what: text in place for what, (text, place) in wanted.items()}
    others = [one["codeRevision"][:8] for one in versions.values() if one["codeRevision"][:8] in lit]
    return (read, others), (dict.fromkeys(wanted, True), [])


def rollout(ready: Prepared, texts: Texts) -> Compared:
    """Bound and measured value of both bounds, and the verdict."""
    text = " ".join(_text(texts, "card").split())
    failed = re.search(r"Failed requests ([\d.]+) % of ([\d.]+) %", text)
    slow = re.search(r"p99 ([\d,]+) ms of ([\d,]+) ms", text)
    bounds = json.loads(ready.cluster.kubectl("get", "inference", "support", "-n", ready.namespace, "-o", "json"))
    analysis = bounds["spec"]["rollout"]["analysis"]
    good = analysis["errorRate"] >= FAILED * 100 and analysis["p99"] >= P99 * 1000
    true = ((f"{FAILED * 100:g}", f"{analysis['errorRate']:g}"), (f"{P99 * 1000:g}", f"{analysis['p99']:g}"), good)
    return (failed.groups() if failed else NOT_THERE, slow.groups() if slow else NOT_THERE, "Good so far" in text), true


def spending(ready: Prepared, texts: Texts) -> Compared:
    """What a namespace spent in the calendar month before this one, and what of its measured GPU time was idle."""
    text = _text(texts, "table")
    found = re.search(rf"{ready.namespace}\s+([\d,.]+) EUR", text)
    idle_part = re.search(r"(\d+) % of ([\d.]+) h", text)
    # The console looks at each GPU every 23 minutes of a month.
    near = idle_part is not None and abs(float(idle_part[2]) - MEASURED / timedelta(hours=1)) < 2
    began, end = last_month(datetime.now(UTC))
    hours = 0.0
    for job in ready.past:
        bound = job.created + job.waited
        inside = min(bound + job.ran, end) - max(bound, began)
        hours += job.gpus * max(0.0, inside.total_seconds()) / 3600
    read = (found[1] if found else NOT_THERE, idle_part[1] if idle_part else NOT_THERE, near)
    return read, (f"{hours * PRICE:,.2f}", f"{100 * IDLE / MEASURED:.0f}", True)


def deleted(ready: Prepared, texts: Texts) -> Compared:
    """Name, state and user of all jobs that were deleted, those of last month among them."""
    rows = re.findall(r" / (\S+)\s+PyTorchJob\s+(\w+)\s+(\S+)", _text(texts, "table"))
    return sorted(rows), sorted((job.name, job.state, job.user) for job in ready.past)


def _text(texts: Texts, place: str) -> str:
    return texts[place][0]


def _get(ready: Prepared, kind: str, *scope: str) -> list[Object]:
    found: list[Object] = json.loads(
        ready.cluster.kubectl("get", kind, *(scope or ("-n", ready.namespace)), "-o", "json")
    )["items"]
    return found


def _jobs(ready: Prepared) -> list[Object]:
    return _get(ready, "pytorchjobs")


def _name(one: Object) -> str:
    return str(one["metadata"]["name"])


def _holding(ready: Prepared) -> list[Object]:
    pods = _get(ready, "pods", "--all-namespaces")
    ended = ("Succeeded", "Failed")
    return [pod for pod in pods if pod["spec"].get("nodeName") and pod["status"]["phase"] not in ended and _gpus(pod)]


def _gpus(pod: Object) -> int:
    return sum(int(one.get("resources", {}).get("requests", {}).get(GPU, 0)) for one in pod["spec"]["containers"])


def _free(ready: Prepared) -> tuple[dict[str, int], int]:
    """Free GPUs of nodes that take pods, and all that there are, as `kubectl describe` says."""
    described = {name: described_node(ready.cluster, name) for name in names(ready.cluster)}
    open_ones = {
        _name(one)
        for one in json.loads(ready.cluster.kubectl("get", "nodes", "-o", "json"))["items"]
        if takes_pods(one)
    }
    total = sum(int(offered.get(GPU, 0)) for offered, _ in described.values())
    return {
        name: int(offered.get(GPU, 0) - requested.get(GPU, 0))
        for name, (offered, requested) in described.items()
        if name in open_ones
    }, total


def _logged(ready: Prepared, pod: str) -> tuple[datetime, str]:
    """When a pod has printed its last line, and the line."""
    line = ready.cluster.kubectl("logs", pod, "-n", ready.namespace, "--timestamps").splitlines()[-1]
    when, _, words = line.partition(" ")
    return _moment(when), words


def _ended(pod: Object) -> Object:
    ended: Object = pod["status"]["containerStatuses"][0]["state"]["terminated"]
    return ended


def _leaves(job: Object) -> dict[str, str]:
    """Image, replicas and resources of each role, by the words that people have for them."""
    found: dict[str, Any] = {}
    for role, spec in job["spec"]["pytorchReplicaSpecs"].items():
        found[f"{role}.replicas"] = spec["replicas"]
        for one in spec["template"]["spec"]["containers"]:
            found[f"{role}.{one['name']}.image"] = one["image"]
            for kind, amounts in one["resources"].items():
                found |= {f"{role}.{one['name']}.resources.{kind}.{key}": value for key, value in amounts.items()}
    return {key: str(value) for key, value in found.items()}


def _moment(text: str) -> datetime:
    return datetime.fromisoformat(text)


def _clock(when: datetime) -> str:
    """As the console writes times: of today, or with the day."""
    clock = f"{when:%H:%M}"
    return clock if when.date() == datetime.now(UTC).date() else f"{when.day} {MONTHS[when.month - 1]} {clock}"


def _duration(length: timedelta) -> str:
    hours, minutes = divmod(length // timedelta(minutes=1), 60)
    return f"{hours} h {minutes:02}" if hours else f"{minutes} min"
