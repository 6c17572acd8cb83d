"""Replicas that ended by themselves, and one that hangs."""

from kubedl.why.evidence import Evidence, part_of, precise, text_of
from kubedl.why.facts import is_ready, name_of, node_of, replica_of
from kubedl.why.failures import KILLED, OUT_OF_MEMORY, Death, first_death
from kubedl.why.rule import Gate, Match, Rule, Sure, Try

SILENT = 600.0  # seconds without a line


def _dead(evidence: Evidence) -> Death | None:
    """Return the first death, if the replica failed by itself."""
    death = first_death(evidence)
    return death if death is not None and not death.is_disruption else None


def out_of_memory(evidence: Evidence) -> Match | None:
    death = _dead(evidence)
    return Match(death.values(evidence)) if death is not None and death.reason == OUT_OF_MEMORY else None


def exited(evidence: Evidence) -> Match | None:
    death = _dead(evidence)
    if death is None or not death.exit_code or death.reason in (OUT_OF_MEMORY, "Evicted") or death.exit_code > KILLED:
        return None
    lines = [line for line in death.message.splitlines() if line.strip()]
    values = death.values(evidence)
    values |= {"said_": f": {death.last_line}" if death.last_line else "", "before": " | ".join(lines[-4:-1])}
    return Match(values)


def signalled(evidence: Evidence) -> Match | None:
    death = _dead(evidence)
    if death is None or (death.exit_code or 0) <= KILLED or death.reason in (OUT_OF_MEMORY, "Evicted"):
        return None
    values = death.values(evidence)
    return Match(values | {"signal": values["signal"] or f"signal {(death.exit_code or 0) - KILLED}"})


def silent(evidence: Evidence) -> Match | None:
    """A replica that is ready has printed nothing for ten minutes; a program may just be quiet, so it is a guess."""
    if evidence.state != "Running" or not evidence.pods:
        return None
    times = evidence.get("logs")
    last = part_of(times, "_last") if isinstance(times, dict) else {}
    quiet = [
        (passed, pod)
        for pod in evidence.pods
        if is_ready(pod) and (passed := evidence.passed(last.get(name_of(pod)))) is not None and passed >= SILENT
    ]
    if not quiet:
        return None
    passed, pod = max(quiet, key=lambda one: one[0])
    return Match(
        {
            "replica": replica_of(pod),
            "ago": precise(passed),
            "node": node_of(pod),
            "ready": text_of(evidence.status, "ready").replace("/", " of "),
            "index": replica_of(pod).replace(" ", "-"),
        }
    )


_LOGS = Try("kubedl logs {name} -i {index}", "what it printed")
_PREVIOUS = Try("kubectl logs {pod} -n {ns} --previous", "what it printed before its restart")
_MEMORY = Try(
    "kubedl get {name} -o yaml > {name}.yaml", "raise resources.limits.memory, kubedl delete {name}, kubectl apply"
)
_WHERE = ("where", "{pod} on {where}")
RULES = (
    Rule(
        "run.oom",
        Gate.RUN,
        out_of_memory,
        "{state_}{replica} ran out of memory{in_limit_}{ago_}{was_first_}.",
        shows=(("how", "{reason}, exit code {code}, {container} of {pod} on {node}"), ("next try", "{next_try}")),
        tries=(_MEMORY, _PREVIOUS),
        over=None,
        explains=("run.exit", "run.signal", "run.gloo", "end.pause"),
    ),
    Rule(
        "run.exit",
        Gate.RUN,
        exited,
        "{state_}{replica} failed first with exit code {code}{ago_}{said_}.",
        shows=(_WHERE, ("before", "{before}"), ("others", "{others}"), ("next try", "{next_try}")),
        tries=(_LOGS,),
        over=None,
        explains=("end.pause",),
    ),
    Rule(
        "run.signal",
        Gate.RUN,
        signalled,
        "{state_}{replica} was killed by {signal}{ago_}{was_first_}.",
        shows=(_WHERE, ("says", "{words}"), ("next try", "{next_try}")),
        tries=(_LOGS,),
        over=None,
        explains=("end.pause",),
    ),
    Rule(
        "run.silent",
        Gate.RUN,
        silent,
        "{replica} hangs: {ready} replicas are ready, and it has printed nothing for {ago}.",
        shows=(("node", "{node}"),),
        sure=Sure.GUESS,
    ),
)
