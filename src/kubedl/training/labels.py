"""Labels of a job's pods: ours, prefixed, and those of the first KubeDL for people's selectors and dashboards."""

from kubedl.api.training import GROUP
from kubedl.training.job import Job, Replica
from kubedl.wire.core import Pod

JOB_NAME = f"{GROUP}/job-name"
JOB_UID = f"{GROUP}/job-uid"
REPLICA_TYPE = f"{GROUP}/replica-type"
REPLICA_INDEX = f"{GROUP}/replica-index"
ATTEMPT = f"{GROUP}/attempt"
LONGEST_NUMBER = 18  # digits, so that the next one can still be written to a status


def of_job(job: Job) -> dict[str, str]:
    """What everything of a job has; pods of an earlier job of that name have another uid."""
    return {JOB_NAME: job.name, JOB_UID: job.uid}


def of_pod(job: Job, replica: Replica, attempt: int) -> dict[str, str]:
    """What a replica's pod has."""
    kind, index = replica.role.lower(), str(replica.index)
    labels = of_job(job) | {REPLICA_TYPE: kind, REPLICA_INDEX: index, ATTEMPT: str(attempt)}
    labels |= {"group-name": GROUP, "job-name": job.name, "replica-type": kind, "replica-index": index}
    if kind in ("master", "chief"):
        labels["job-role"] = "master"
    return labels


def attempt(pod: Pod) -> int:
    """Which attempt a pod belongs to; one whose label somebody spoiled belongs to the first."""
    text = pod.metadata.labels.get(ATTEMPT, "")
    return int(text) if text.isdecimal() and len(text) <= LONGEST_NUMBER else 0
