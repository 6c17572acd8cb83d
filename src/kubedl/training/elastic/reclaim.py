"""Lets replicas leave a node that will be taken, after a checkpoint, while the others go on. Pure.

Everything that must outlive the operator is in the status before it is done: the number of a request before it is sent,
and the new attempt of a replica before its pod is deleted, so its end is never taken for a failure (`resizing`).
"""

from datetime import datetime, timedelta

import msgspec

from kubedl.api.elastic import MOST_RECLAIMS, ElasticStatus, Reclaim
from kubedl.training import replica_status, restarts
from kubedl.training.elastic import reclaim_records as records
from kubedl.training.elastic.leaving import (
    RESIZE,
    Key,
    Subject,
    checkpoint_timeout,
    due,
    is_asked_for,
    key_of,
    subjects,
)
from kubedl.training.elastic.resizing import leaving_pods
from kubedl.training.job import Job
from kubedl.training.observed import Observed, ObservedReplica
from kubedl.training.plan import CheckpointRequest, PlanBuilder
from kubedl.training.policies import index_ranges
from kubedl.training.policies.failure_policy import DISRUPTED
from kubedl.training.policies.restart_backoff import pause
from kubedl.training.policies.safe_time import LONG_AGO, later
from kubedl.training.spot import losses
from kubedl.training.spot.moving import is_move

CONDITION = "Reclaiming"
NOTICED, UNSAVED, SETTLED = "NodeReclaimNoticed", "ReclaimUnsaved", "ReclaimSettled"
RESTARTED, LEFT = "LeaderReclaimed", "NodeReclaimed"  # why all replicas restart
POLL = timedelta(seconds=1)

Replicas = list[ObservedReplica]
Step = tuple[Reclaim | None, Reclaim]  # a record before, None if it is new, and after


def advance(builder: PlanBuilder, replicas: Replicas) -> tuple[Replicas, bool]:
    """Take the next step of every reclaim; returns the replicas, and whether all of them start over."""
    observed = builder.observed
    if not replicas or not is_asked_for(observed.job) or not observed.kind.elastic_role:
        return replicas, False
    if any(seen.succeeded for seen in replicas):
        return replicas, False  # the job ends: a replica that came back would find nobody
    known = builder.status.elastic or ElasticStatus()
    found = subjects(observed, known, replicas)
    for notice in observed.notices.values():
        if (at := due(observed, notice)) > observed.now:
            builder.wake(at)
    new = _new_records(builder, known, found)
    if not known.reclaims and not new:
        return replicas, False
    steps: list[Step] = [(record, _step(builder, known, record, found, replicas)) for record in known.reclaims]
    steps += [(None, _step(builder, known, record, found, replicas)) for record in new]
    _record(builder, known, steps)
    _tell(builder, steps)
    _wait(builder, [after for _, after in steps], replicas[0])
    leaving = [
        seen
        for before, after in steps
        if after.phase == "Left" and (before is None or before.phase != "Left") and key_of(after) in found
        for seen in found[key_of(after)].pods_leave
    ]
    return _leave(builder, replicas, leaving)


def stop(builder: PlanBuilder, reason: str) -> None:
    """Nobody trains any more: the job is suspended, or has ended."""
    builder.condition(CONDITION, False, reason)
    known = builder.status.elastic
    if known is not None and any(record.phase not in records.OVER for record in known.reclaims):
        ended = (
            record if record.phase in records.OVER else msgspec.structs.replace(record, phase="Settled")
            for record in known.reclaims
        )
        builder.set(elastic=msgspec.structs.replace(known, reclaims=tuple(ended)))


def _new_records(builder: PlanBuilder, known: ElasticStatus, found: dict[Key, Subject]) -> list[Reclaim]:
    """Return records of notices that have none; whoever has to leave meanwhile does so with those that are there."""
    observed = builder.observed
    recorded = {key_of(record) for record in known.reclaims if record.phase in records.BEFORE_LEAVING}
    room = MOST_RECLAIMS - sum(record.phase not in records.OVER for record in known.reclaims)
    new: list[Reclaim] = []
    for key, subject in found.items():
        if key in recorded or not subject.replicas or len(new) >= room or _is_evicted_too_often(builder, subject):
            continue
        record = Reclaim(
            source=subject.notice.source,
            phase="Noticed",
            seen_at=observed.now,
            node=subject.node,
            taken_at=subject.notice.taken_at(observed.now),
        )
        new.append(_with_replicas(observed, record, subject))
    return new


def _with_replicas(observed: Observed, record: Reclaim, subject: Subject) -> Reclaim:
    """Return a record that says who leaves."""
    indexes = [seen.replica.index for seen in subject.replicas if seen.replica.role == observed.kind.elastic_role]
    goes = bool(subject.pods_leave)
    leader = goes and any(seen.replica == observed.job.leader for seen in subject.replicas)
    return msgspec.structs.replace(record, replicas=index_ranges.write(indexes), leader=leader)


def _is_evicted_too_often(builder: PlanBuilder, subject: Subject) -> bool:
    """Return whether pods are evicted as soon as they are made, again and again: restarts have a backoff for that."""
    job, now = builder.observed.job, builder.observed.now
    for seen in subject.replicas if subject.notice.source == DISRUPTED else ():
        before = losses.counted(job, builder.status, seen.attempt)
        born = seen.current.metadata.creation_timestamp if seen.current is not None else None
        if now < later(born or LONG_AGO, pause(before, disrupted=True)):
            return True
    return False


def _step(
    builder: PlanBuilder, known: ElasticStatus, record: Reclaim, found: dict[Key, Subject], replicas: Replicas
) -> Reclaim:
    observed = builder.observed
    subject = found.get(key_of(record)) if not _is_resized(record) else None
    asked = [one.request for one in known.reclaims if one.phase == "Requested"]
    scene = records.Scene(
        now=observed.now,
        timeout=checkpoint_timeout(observed),
        is_noticed=subject is not None,
        is_there=subject is not None and bool(subject.replicas),
        is_going=subject is not None and subject.is_going,
        is_emptied=_is_emptied(observed, record, replicas),
        leader_runs=replica_status.is_running(replicas[0].current),
        request=max(asked, default=known.requests + 1),  # several nodes that are taken together are one checkpoint
        confirmed=_confirmed(observed, known.requests),
        may_stay=is_move(record),
    )
    if subject is not None:
        record = records.renewed(record, subject.notice.source, _taken_at(observed, record, subject))
        if key_of(record) == (RESIZE, "") and subject.replicas:
            record = _with_replicas(observed, record, subject)  # the user may ask for yet another size meanwhile
    after = records.step(record, scene)
    if after.phase == "Left" != record.phase and subject is not None and subject.pods_leave:
        return _with_replicas(observed, after, subject)  # others may have come to the node since the notice was seen
    return after


def _taken_at(observed: Observed, record: Reclaim, subject: Subject) -> datetime | None:
    """Return when the node will be taken by the notice that stands now; the window of a source begins once."""
    notice = subject.notice
    return notice.at if notice.source == record.source else notice.taken_at(observed.now)


def _is_resized(record: Reclaim) -> bool:
    """Return whether a removal is over: the new size is in the status, so what stands now is another removal."""
    return not record.node and record.phase not in records.BEFORE_LEAVING


def _is_emptied(observed: Observed, record: Reclaim, replicas: Replicas) -> bool:
    """Return whether nobody is left of those that were told to go."""
    if not record.node and not is_move(record):
        return not leaving_pods(observed, observed.kind.elastic_role)
    current = {seen.current.metadata.uid for seen in replicas if seen.current is not None}
    if is_move(record):
        return all(pod.metadata.uid in current for pod in observed.pods)
    return all(pod.metadata.uid in current for pod in observed.pods if pod.spec.node_name == record.node)


def request_id(job: Job, number: int) -> str:
    """Return the id of a request for a checkpoint, as the program is told it."""
    return f"{job.uid[:8]}-{number}"


def _confirmed(observed: Observed, requests: int) -> int:
    """Return the number of the last request that the program has confirmed; it may say anything."""
    number = observed.confirmed.rpartition("-")[2]
    is_number = number.isascii() and number.isdecimal() and len(number) < 10
    if not is_number or observed.confirmed != request_id(observed.job, int(number)) or int(number) > requests:
        return 0
    return int(number)


def _record(builder: PlanBuilder, known: ElasticStatus, steps: list[Step]) -> None:
    counts = known.reclaim_counts
    for before, after in steps:
        counts = records.counted(counts, before, after)
    new = [after for _, after in steps]
    requests = max([known.requests, *(record.request for record in new)])
    builder.set(
        elastic=msgspec.structs.replace(known, reclaims=records.bounded(new), requests=requests, reclaim_counts=counts)
    )


def _tell(builder: PlanBuilder, steps: list[Step]) -> None:
    for before, after in steps:
        if before is None:
            builder.condition(CONDITION, False, NOTICED)  # so that its time is that of the latest one
            builder.condition(CONDITION, True, NOTICED, _notice_message(builder, after))
            builder.event("Normal", NOTICED, _notice_message(builder, after))
        if records.is_unsaved(before, after):
            builder.event("Warning", UNSAVED, f"no checkpoint was confirmed before {_consequence(builder, after)}")
    if all(after.phase in records.OVER for _, after in steps):
        builder.condition(CONDITION, False, SETTLED)


def _notice_message(builder: PlanBuilder, record: Reclaim) -> str:
    """Return what is said of a new record: how far it came in its first step, too."""
    who, restarts_all = _who(builder, record), builder.observed.kind.restarts_to_resize(builder.observed.job)
    if is_move(record):
        return (
            f"{who} {'leaves' if record.leader else 'leave'} for another pool of nodes: a checkpoint is asked for first"
        )
    if not record.node:
        return f"a checkpoint is asked for before {'all replicas restart' if restarts_all else f'{who} are removed'}"
    when = f" at {record.taken_at:%Y-%m-%dT%H:%M:%SZ}" if record.taken_at is not None else ""
    if record.source == DISRUPTED:
        verb, all_leave = "is" if record.leader else "are", record.leader or restarts_all
        if record.phase == "Left":
            return f"{who} {verb} evicted from node {record.node}" + (": all replicas restart" if all_leave else "")
        asked = "a checkpoint is asked for first" + (", then all replicas restart" if all_leave else "")
        return f"{who} {verb} to be evicted from node {record.node}{when}: {asked}"
    what = "all replicas restart, since the first one runs there" if record.leader else f"{who} leave it"
    if restarts_all and not record.leader:
        what = f"all replicas restart, since {who} leave it"
    return f"node {record.node} will be taken{when} ({record.source}): after a checkpoint {what}"


def _consequence(builder: PlanBuilder, record: Reclaim) -> str:
    """Return what happened to the replicas of a record."""
    if not record.node and builder.observed.kind.restarts_to_resize(builder.observed.job):
        return "all replicas were restarted with another size"
    return f"{_who(builder, record)} had to leave {f'node {record.node}' if record.node else 'the job'}"


def _who(builder: PlanBuilder, record: Reclaim) -> str:
    role = builder.observed.kind.elastic_role
    return "the first replica" if record.leader else f"replicas {record.replicas} of {role}"


def _wait(builder: PlanBuilder, new: list[Reclaim], leader: ObservedReplica) -> None:
    """Ask the program, if the status has the request already, and look again."""
    observed = builder.observed
    written = observed.job.resource.status.elastic or ElasticStatus()
    for record in new:
        if record.phase in ("Noticed", "Requested"):
            builder.wake(records.deadline(record, checkpoint_timeout(observed)))
        if record.phase == "Requested":
            builder.wake(later(observed.now, POLL))
            if record.request <= written.requests and leader.current is not None:
                port = observed.job.spec.elastic.checkpoint.port
                builder.ask = CheckpointRequest(leader.current, port, request_id(observed.job, record.request))


def _leave(builder: PlanBuilder, replicas: Replicas, leaving: Replicas) -> tuple[Replicas, bool]:
    """Let the pods of these replicas be of past attempts; all of them, if the first one keeps the rendezvous."""
    if not leaving:
        return replicas, False
    again = "all replicas are restarted (not counted as a retry)"
    if any(seen.replica == builder.observed.job.leader for seen in leaving):
        message = f"the first replica, which keeps the rendezvous, has to leave its node; {again}"
        return restarts.start_over(builder, replicas, RESTARTED, message), True
    if builder.observed.kind.restarts_to_resize(builder.observed.job):
        message = f"replicas have to leave their node, and the others cannot continue without them; {again}"
        return restarts.start_over(builder, replicas, LEFT, message), True
    restarts.next_attempt(builder, leaving)
    elastic = builder.status.elastic or ElasticStatus()
    builder.set(elastic=msgspec.structs.replace(elastic, shrunk_in_attempt=builder.status.attempt))
    return replica_status.observe_replicas(builder.observed, builder.status), False
