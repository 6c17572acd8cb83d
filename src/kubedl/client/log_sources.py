"""Whose logs are read: the pods of a job, or the servers of a service."""

from collections.abc import Mapping
from typing import Any

from kubedl.client.job import Job
from kubedl.client.replicas import ATTEMPT, JOB_NAME, JOB_UID, REPLICA_INDEX, REPLICA_TYPE

INFERENCE, INFERENCE_UID = "serving.kubedl.io/inference", "serving.kubedl.io/inference-uid"  # labels of servers
PREDICTOR = "serving.kubedl.io/predictor"

RANKS = ("RANK", "JAX_PROCESS_ID")  # variables in which the operator tells a program its rank
LONGEST_NUMBER = 9  # digits

Object = Mapping[str, Any]


def pods_of(job: Job) -> tuple[str, dict[str, str]]:
    """Return the path and the selection of the pods of a job, or of a service."""
    name, uid = (INFERENCE, INFERENCE_UID) if job.kind == "Inference" else (JOB_NAME, JOB_UID)
    labels = f"{name}={job.name},{uid}={job.uid}"
    return f"/api/v1/namespaces/{job.namespace}/pods", {"labelSelector": labels}


def replica_name(pod: Object) -> str:
    """Return the name of a pod's replica: worker-0; of a server, its predictor and the end of the pod's name."""
    labels = pod["metadata"].get("labels") or {}
    if PREDICTOR in labels:
        return f"{labels[PREDICTOR]}-{pod['metadata']['name'].rpartition('-')[2]}"
    return f"{labels.get(REPLICA_TYPE, '')}-{labels.get(REPLICA_INDEX, '')}"


def rank_of(pod: Object, container: str) -> int | None:
    """Return the rank that the program of a container reads; None if it is told none."""
    for one in pod["spec"].get("containers") or ():
        if one.get("name") == container:
            given = {variable.get("name"): str(variable.get("value") or "") for variable in one.get("env") or ()}
            return rank_in(given)
    return None


def rank_in(variables: Mapping[Any, str]) -> int | None:
    """Return the rank that variables tell a program; None if they tell none."""
    return next((number for name in RANKS if (number := _number(variables.get(name, ""))) is not None), None)


def attempt_of(pod: Object) -> int:
    """Return the attempt of a pod, from 0; the first one if it does not say."""
    return _number(str((pod["metadata"].get("labels") or {}).get(ATTEMPT, ""))) or 0


def _number(text: str) -> int | None:
    return int(text) if text.isascii() and text.isdecimal() and len(text) <= LONGEST_NUMBER else None


def waits_for(job: Job) -> str:
    """Return why a job or a service has no pods yet."""
    ready = job.condition("Ready") or {}  # of services only
    return job.message or str(ready.get("message") or "") or "no operator has seen it yet"
