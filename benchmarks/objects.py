"""What the contenders create: jobs of one role whose pods are admitted and never scheduled.

A pod that ran would cost what is not measured, so each carries a scheduling gate that nobody lifts.
The script that makes the least writes makes exactly the Services and pods that the operator makes: fewer
requests are its advantage, not smaller ones.
"""

import json
from typing import Any

Object = dict[str, Any]

GROUP, VERSION, KIND, PLURAL = "training.kubedl.io", "v1alpha1", "TFJob", "tfjobs"
ROLE, CONTAINER, PORT_NAME, PORT = "Worker", "tensorflow", "tfjob-port", 2222
POD_GROUP = "scheduling.k8s.io/v1alpha2"
GATES = [{"name": "benchmark.kubedl.io/never"}]


def name(number: int) -> str:
    return f"job-{number}"


def pod_name(job_name: str, index: int) -> str:
    return f"{job_name}-{ROLE.lower()}-{index}"


def jobs_path(namespace: str) -> str:
    return f"/apis/{GROUP}/{VERSION}/namespaces/{namespace}/{PLURAL}"


def pods_path(namespace: str) -> str:
    return f"/api/v1/namespaces/{namespace}/pods"


def services_path(namespace: str) -> str:
    return f"/api/v1/namespaces/{namespace}/services"


def pod_groups_path(namespace: str) -> str:
    return f"/apis/{POD_GROUP}/namespaces/{namespace}/podgroups"


def gang_job(number: int, pods: int) -> Object:
    """A TFJob whose pods start together."""
    made = job(number, pods)
    made["spec"]["schedulingPolicy"] = {"gangScheduler": "native"}
    return made


def job(number: int, pods: int) -> Object:
    """A TFJob with nothing but workers, which depend on no other role."""
    return {
        "apiVersion": f"{GROUP}/{VERSION}",
        "kind": KIND,
        "metadata": {"name": name(number)},
        "spec": {"tfReplicaSpecs": {ROLE: {"replicas": pods, "template": {"spec": pod_spec()}}}},
    }


def pod_spec() -> Object:
    """The template that a user writes."""
    return {
        "automountServiceAccountToken": False,
        "containers": [{"name": CONTAINER, "image": "none", "command": ["true"]}],
        "schedulingGates": GATES,
    }


def bare_pod(pod_name: str) -> Object:
    """A pod without a job."""
    return {"metadata": {"name": pod_name, "labels": {"benchmark": "pods-alone"}}, "spec": pod_spec()}


def service(owner: Object) -> Object:
    """The headless Service of a job."""
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": _metadata(owner, owner["metadata"]["name"]) | {"labels": _labels(owner)},
        "spec": {
            "clusterIP": "None",
            "publishNotReadyAddresses": True,
            "selector": {f"{GROUP}/job-uid": owner["metadata"]["uid"]},
            "ports": [{"name": PORT_NAME, "port": PORT}],
        },
    }


def pod_group(owner: Object, pods: int) -> Object:
    """The group of a job's pods, as the operator declares it."""
    return {
        "apiVersion": POD_GROUP,
        "kind": "PodGroup",
        "metadata": _metadata(owner, owner["metadata"]["name"]) | {"labels": _labels(owner)},
        "spec": {"schedulingPolicy": {"gang": {"minCount": pods}}},
    }


def gang_pod(owner: Object, index: int, pods: int) -> Object:
    """One member of the group."""
    made = pod(owner, index, pods)
    made["spec"]["schedulingGroup"] = {"podGroupName": owner["metadata"]["name"]}
    return made


def pod(owner: Object, index: int, pods: int) -> Object:
    """One replica of a job, as the operator makes it."""
    job_name, namespace, role = owner["metadata"]["name"], owner["metadata"]["namespace"], ROLE.lower()
    addresses = [f"{pod_name(job_name, n)}.{job_name}.{namespace}.svc:{PORT}" for n in range(pods)]
    environment = {"cluster": {role: addresses}, "task": {"type": role, "index": index}, "environment": "cloud"}
    spec = pod_spec()
    spec["containers"][0] |= {
        "terminationMessagePolicy": "FallbackToLogsOnError",
        "ports": [{"name": PORT_NAME, "containerPort": PORT, "protocol": "TCP"}],
        "env": [{"name": "TF_CONFIG", "value": json.dumps(environment, separators=(",", ":"))}],
    }
    replica = {"replica-type": role, "replica-index": str(index)}
    labels = {f"{GROUP}/{key}": value for key, value in {**replica, "attempt": "0"}.items()}
    labels |= replica | {"group-name": GROUP, "job-name": job_name}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": _metadata(owner, pod_name(job_name, index))
        | {"labels": _labels(owner) | labels, "annotations": {}},
        "spec": {
            **spec,
            "restartPolicy": "Never",
            "hostname": pod_name(job_name, index),
            "subdomain": job_name,
            "dnsConfig": {"searches": [f"{job_name}.{namespace}.svc.cluster.local"]},
        },
    }


def status(pods: int, now: str) -> Object:
    """The one status patch: all pods are there, none is ready."""
    condition = {"type": "Created", "status": "True", "reason": "JobCreated", "message": "the job was accepted"}
    counts = {"ready": 0, "succeeded": 0, "failed": 0, "evicted": 0, "restarts": 0, "succeededIndexes": ""}
    return {
        "status": {
            "conditions": [{**condition, "lastTransitionTime": now, "observedGeneration": 1}],
            "state": "Created",
            "reason": "WaitingForPods",
            "ready": f"0/{pods}",
            "startTime": now,
            "observedGeneration": 1,
            "replicaStatuses": {ROLE: {"active": pods, **counts}},
        }
    }


def settled(seen: Object, pods: int) -> bool:
    """Whether a job's status says that all its pods exist."""
    replicas = (seen.get("replicaStatuses") or {}).get(ROLE) or {}
    return bool(replicas.get("active") == pods)


def _labels(owner: Object) -> dict[str, str]:
    metadata = owner["metadata"]
    return {f"{GROUP}/job-name": metadata["name"], f"{GROUP}/job-uid": metadata["uid"]}


def _metadata(owner: Object, own_name: str) -> Object:
    reference = {
        "apiVersion": f"{GROUP}/{VERSION}",
        "kind": KIND,
        "name": owner["metadata"]["name"],
        "uid": owner["metadata"]["uid"],
        "controller": True,
        "blockOwnerDeletion": True,
    }
    return {"name": own_name, "namespace": owner["metadata"]["namespace"], "ownerReferences": [reference]}
