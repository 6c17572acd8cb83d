"""Labels of a job's pods: with the prefix of KubeDL, and those of KubeDL 0.5 for users' selectors and dashboards."""

from kubedl.api.training import GROUP
from kubedl.kube.types.core import Pod
from kubedl.training.job import Job, Replica

JOB_NAME = f"{GROUP}/job-name"
JOB_UID = f"{GROUP}/job-uid"
REPLICA_TYPE = f"{GROUP}/replica-type"
REPLICA_INDEX = f"{GROUP}/replica-index"
ATTEMPT = f"{GROUP}/attempt"
LONGEST_NUMBER = 18  # digits, so that the next number still fits into a status


def of_job(job: Job) -> dict[str, str]:
    """Return the labels of all objects of a job; pods of an earlier job with the same name have another uid."""
    return {JOB_NAME: job.name, JOB_UID: job.uid}


def of_replica(job: Job, replica: Replica) -> dict[str, str]:
    """Return the labels of a replica's objects, which every attempt has."""
    return of_job(job) | {REPLICA_TYPE: replica.role.lower(), REPLICA_INDEX: str(replica.index)}


def of_pod(job: Job, replica: Replica, attempt: int) -> dict[str, str]:
    """Return the labels of a replica's pod."""
    kind, index = replica.role.lower(), str(replica.index)
    labels = of_replica(job, replica) | {ATTEMPT: str(attempt)}
    labels |= {"group-name": GROUP, "job-name": job.name, "replica-type": kind, "replica-index": index}
    if kind in ("master", "chief"):
        labels["job-role"] = "master"
    return labels


def attempt(pod: Pod) -> int:
    """Return the attempt of a pod; the first one if its label is invalid."""
    text = pod.metadata.labels.get(ATTEMPT, "")
    return int(text) if text.isdecimal() and len(text) <= LONGEST_NUMBER else 0
