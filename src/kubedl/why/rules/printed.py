"""Causes that pods printed: ranks that do not meet, and errors of NCCL, CUDA, shared memory and disks."""

from collections.abc import Callable

from kubedl.kube.bounded_regex import BoundedPattern
from kubedl.why import message_patterns as patterns
from kubedl.why.evidence import Evidence, part_of
from kubedl.why.facts import log_lines, phase_of, roles_of, size_of
from kubedl.why.failures import OUT_OF_MEMORY, first_death
from kubedl.why.rule import Gate, Match, Rule, Sure, Try

LAST_LINES = 5
BUSY_STATES = ("Running", "Restarting", "Failed", "Created")


def _speaks(evidence: Evidence) -> bool:
    """Return whether the logs of the job are worth reading: it failed, restarts, or runs without being ready."""
    if evidence.state not in BUSY_STATES or not (evidence.pods or part_of(evidence.status, "lastFailure")):
        return False
    return first_death(evidence) is not None or any(phase_of(pod) == "Running" for pod in evidence.pods)


def saying(pattern: BoundedPattern, *, alive: bool, by_first: bool = False) -> Callable[[Evidence], Match | None]:
    """Return the check of a rule about a line of a log: of a job that failed or restarts.

    If `alive`, also of one that runs: then only its last lines count, as what it waited for earlier has come. If
    `by_first`, only what the replica that failed first has printed: the others say the same because of it.
    """

    def when(evidence: Evidence) -> Match | None:
        if not _speaks(evidence):
            return None
        death = first_death(evidence)
        if death is not None and (death.is_disruption or death.reason == OUT_OF_MEMORY):
            return None
        if death is None and not alive:
            return None
        lines = log_lines(evidence) if death is not None else log_lines(evidence, LAST_LINES)
        if by_first and death is not None:
            lines = [one for one in lines if one[0] == death.replica]
        found = patterns.search_lines(pattern, lines)
        if found is None:
            return None
        who, line, parts = found
        known = death.values(evidence) if death is not None else {"state_": "", "index": who.replace(" ", "-")}
        size = str(size_of(evidence))
        return Match({**known, "who": who, "line": line, "size": size} | {k: v for k, v in parts.items() if v})

    return when


def evicted_for_disk(evidence: Evidence) -> Match | None:
    """A full disk: the kubelet says it, or a line of the log."""
    death = first_death(evidence)
    if death is not None and death.reason == "Evicted":
        return Match(death.values(evidence) | {"what": death.message or "it exceeded its storage limit"})
    found = saying(patterns.DISK_FULL, alive=False)(evidence)
    if found is None:
        return None
    path = found.values.get("path", "")
    what = f"no space left on device{f' ({path})' if path else ''}"
    return Match({**found.values, "replica": found.values.get("who", ""), "what": what}, sure=Sure.LIKELY)


def no_cuda(evidence: Evidence) -> Match | None:
    found = saying(patterns.CUDA_MISSING, alive=False)(evidence)
    if found is None:
        return None
    old = "insufficient" in found.values.get("line", "")
    text = "the node's driver is older than the image wants" if old else "sees no GPU"
    asks = any("gpu" in str(part_of(role, "template", "spec")) for role in roles_of(evidence).values())
    return Match({**found.values, "what": text, "asks": "" if asks else "the job asks for no GPU"})


_LOGS = Try("kubedl logs {name} -i {index}", "what it printed")
_WHERE = ("where", "{pod} on {where}")
_LINE = ("line", "{line}")
RULES = (
    Rule(
        "meet.dns",
        Gate.MEET,
        saying(patterns.DNS, alive=True),
        "{state_}{who} cannot find another replica: names of this job do not resolve.",
        shows=(_LINE,),
        tries=(Try("kubectl get service {name} -n {ns}", "the Service that gives the names"),),
        sure=Sure.LIKELY,
        over=None,
        explains=("run.exit", "run.signal", "run.gloo", "end."),
    ),
    Rule(
        "meet.ssh",
        Gate.MEET,
        saying(patterns.SSH, alive=True),
        "{state_}The launcher cannot reach its workers by ssh.",
        shows=(_LINE,),
        tries=(Try("kubedl logs {name}", "docs/how-to/run-an-mpi-job.md has what images need"),),
        sure=Sure.LIKELY,
        over=None,
        explains=("run.exit", "meet.dns", "end."),
    ),
    Rule(
        "meet.waiting",
        Gate.MEET,
        saying(patterns.RENDEZVOUS, alive=True),
        "{state_}{who} waits for the others of {size} ranks, and not all have come.",
        shows=(_LINE,),
        tries=(Try("kubedl logs {name}", "which rank is missing"),),
        sure=Sure.LIKELY,
        over=None,
        explains=("run.exit", "run.signal", "end."),
    ),
    Rule(
        "run.nccl-timeout",
        Gate.RUN,
        saying(patterns.NCCL_TIMEOUT, alive=True),
        "{state_}Ranks stopped at {op} #{seq}: one of them never came to it.",
        shows=(("first", "{who}"), _LINE),
        tries=(Try("kubedl logs {name}", "the rank whose lines end first is the one"),),
        sure=Sure.LIKELY,
        over=None,
        explains=("run.exit", "run.signal", "run.nccl-network", "end."),
    ),
    Rule(
        "run.nccl-network",
        Gate.RUN,
        saying(patterns.NCCL_NETWORK, alive=False),
        "{state_}{who} cannot talk to its peers by NCCL.",
        shows=(_LINE,),
        tries=(_LOGS,),
        sure=Sure.LIKELY,
        over=None,
        explains=("run.exit", "run.signal", "end."),
    ),
    Rule(
        "run.cuda-oom",
        Gate.RUN,
        saying(patterns.CUDA_MEMORY, alive=False),
        "{state_}The GPU of {who} is full: {asked} more were wanted.",
        shows=(("free", "{free} of {all}"), _LINE),
        tries=(Try("kubedl logs {name} -i {index}", "a smaller batch needs less; it is not the pod's memory"),),
        sure=Sure.LIKELY,
        over=None,
        explains=("run.exit", "run.signal", "run.gloo", "end."),
    ),
    Rule(
        "run.cuda-missing",
        Gate.RUN,
        no_cuda,
        "{state_}{who}: {what}.",
        shows=(("asks", "{asks}"), _LINE),
        tries=(_LOGS,),
        sure=Sure.LIKELY,
        over=None,
        explains=("run.exit", "run.signal", "end."),
    ),
    Rule(
        "run.shm",
        Gate.RUN,
        saying(patterns.SHARED_MEMORY, alive=False),
        "{state_}{who} ran out of shared memory.",
        shows=(_LINE,),
        tries=(
            Try(
                "kubedl get {name} -o yaml > {name}.yaml", "mount an emptyDir of medium Memory at /dev/shm, apply again"
            ),
        ),
        sure=Sure.LIKELY,
        over=None,
        explains=("run.exit", "run.signal", "end."),
    ),
    Rule(
        "run.disk",
        Gate.RUN,
        evicted_for_disk,
        "{state_}{replica} filled its disk: {what}.",
        shows=(_WHERE, _LINE),
        tries=(_LOGS,),
        over=None,
        explains=("run.exit", "run.signal", "end."),
    ),
    Rule(
        "run.gloo",
        Gate.RUN,
        saying(patterns.GLOO, alive=False, by_first=True),
        "{state_}{who} lost a peer.",
        shows=(_LINE,),
        tries=(Try("kubedl logs {name}", "the rank whose lines end first is the one"),),
        sure=Sure.LIKELY,
        over=None,
        explains=("run.exit", "end."),
    ),
)
