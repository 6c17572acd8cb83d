"""TFJobs that are wrong in one way each, and what kubectl prints about them."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import yaml

Object = dict[str, Any]
Change = Callable[[Object], object]

MANIFEST = Path(__file__).parents[1] / "manifests" / "tfjob-with-model.yaml"
ROLES = ("PS", "Chief", "Master", "Worker", "Evaluator")
NAMES = ", ".join(ROLES)
POOL = {"name": "spot", "nodeSelector": {"tier": "spot"}}
EXITS = (
    "spec.tfReplicaSpecs[Worker].exitCodes.retryable: Invalid value: exit codes of failures are 1 to 255, single or "
    'as an ascending range, as in "137" or "200-255"'
)


def manifest() -> Object:
    """A job that is right: the manifest of the first KubeDL."""
    job: Object = yaml.safe_load(MANIFEST.read_text())
    return job


def worker(job: Object) -> Object:
    """Its only role."""
    role: Object = job["spec"]["tfReplicaSpecs"]["Worker"]
    return role


def with_role(name: str, *upstream: str) -> Change:
    """Adds a role that waits for others, made like the worker."""

    def change(job: Object) -> None:
        waiting = {"dependsOn": [{"upstream": role} for role in upstream]} if upstream else {}
        role = {key: value for key, value in worker(job).items() if key != "dependsOn"}
        job["spec"]["tfReplicaSpecs"][name] = role | waiting

    return change


def both(*changes: Change) -> Change:
    """One change after the other."""
    return lambda job: [change(job) for change in changes]


def retrying(*codes: str) -> Change:
    """Has the worker tried again after these exit codes."""
    return lambda job: worker(job).update(restartPolicy="ExitCode", exitCodes={"retryable": list(codes)})


class Refusal(NamedTuple):
    """What is done to a good job, and the sentence that it leads to."""

    change: Change
    text: str


REFUSALS = {
    "no role": Refusal(
        lambda job: job["spec"]["tfReplicaSpecs"].clear(),
        f"spec.tfReplicaSpecs: Required value: a job has at least one role: {NAMES}",
    ),
    "unknown role": Refusal(
        with_role("Wrker"),
        f"spec.tfReplicaSpecs: Invalid value: Wrker is not a role of this kind; valid roles are {NAMES}",
    ),
    "role twice": Refusal(
        with_role("WORKER"),
        "spec.tfReplicaSpecs: Invalid value: role worker appears twice, in upper and lower case",
    ),
    "container": Refusal(
        lambda job: worker(job)["template"]["spec"]["containers"][0].update(name="main"),
        "spec.tfReplicaSpecs[Worker].template.spec.containers: Required value: a container named tensorflow "
        "is required",
    ),
    "no container": Refusal(
        lambda job: worker(job)["template"]["spec"].update(containers=[]),
        "spec.tfReplicaSpecs.Worker.template.spec.containers in body should have at least 1 items",
    ),
    "container twice": Refusal(
        lambda job: worker(job)["template"]["spec"].update(containers=[{"name": "tensorflow"}] * 2),
        'spec.tfReplicaSpecs[Worker].template.spec.containers[1]: Duplicate value: {"name":"tensorflow"}',
    ),
    "no template": Refusal(
        lambda job: worker(job).pop("template"),
        "spec.tfReplicaSpecs.Worker.template: Required value",
    ),
    "labels of the wrong type": Refusal(
        lambda job: worker(job)["template"].update(metadata={"labels": ["a"]}),
        'spec.tfReplicaSpecs.Worker.template.metadata.labels in body must be of type object: "array"',
    ),
    "name that no Service may have": Refusal(
        lambda job: job["metadata"].update(name="1-job"),
        "metadata.name: Invalid value: the name of a job is also the name of its Service: lower-case letters, "
        "digits and '-', beginning with a letter and ending with a letter or digit",
    ),
    "name of several labels": Refusal(
        lambda job: job["metadata"].update(name="a.b"),
        "metadata.name: Invalid value: the name of a job is also the name of its Service",
    ),
    "long name": Refusal(
        lambda job: job["metadata"].update(name="j" * 55),
        "metadata.name: Invalid value: pods are named {job}-{role}-{index}, which may have at most 63 characters: "
        "the name of this job may have 54, but has 55",
    ),
    "long index": Refusal(
        both(lambda job: job["metadata"].update(name="j" * 54), lambda job: worker(job).update(replicas=11)),
        "the name of this job may have 53, but has 54",
    ),
    "unknown upstream": Refusal(
        with_role("PS", "Worker", "Chef"),
        "spec.tfReplicaSpecs: Invalid value: PS depends on Chef, a role that this job does not have; "
        f"roles are {NAMES}",
    ),
    "upstream that the job has not": Refusal(
        with_role("PS", "Chief"),
        "spec.tfReplicaSpecs: Invalid value: PS depends on Chief, a role that this job does not have",
    ),
    "upstream itself": Refusal(
        with_role("PS", "ps"),
        "spec.tfReplicaSpecs: Invalid value: PS depends on itself",
    ),
    "circle": Refusal(
        both(with_role("PS", "Chief"), with_role("Chief", "ps")),
        "spec.tfReplicaSpecs: Invalid value: dependsOn has a cycle: PS, Chief, Worker, which would wait forever "
        "(a role without dependsOn follows the order of its kind)",
    ),
    "circle with the order of the kind": Refusal(
        with_role("PS", "Worker"),
        "spec.tfReplicaSpecs: Invalid value: dependsOn has a cycle: PS, Worker, which would wait forever "
        "(a role without dependsOn follows the order of its kind)",
    ),
    "circle behind others": Refusal(
        both(
            with_role("PS", "Master"),
            with_role("Chief", "Master"),
            with_role("Master", "Evaluator"),
            with_role("evaluator", "chief"),
        ),
        "spec.tfReplicaSpecs: Invalid value: dependsOn has a cycle: PS, Chief, Master, Worker, Evaluator, "
        "which would wait forever",
    ),
    "exit code of success": Refusal(
        retrying("137", "0"),
        f'{EXITS}; "0" is invalid',
    ),
    "exit code that cannot be": Refusal(retrying("200-256"), f'{EXITS}; "200-256" is invalid'),
    "range downwards": Refusal(retrying("143-137"), f'{EXITS}; "143-137" is invalid'),
    "exit code in words": Refusal(retrying("SIGKILL"), f'{EXITS}; "SIGKILL" is invalid'),
    "exit codes nobody looks at": Refusal(
        both(retrying("137"), lambda job: worker(job).update(restartPolicy="OnFailure")),
        "spec.tfReplicaSpecs[Worker].exitCodes: Invalid value: exitCodes requires restartPolicy ExitCode; set both",
    ),
    "want of memory under the default policy": Refusal(
        both(lambda job: worker(job).update(oomPolicy="Fail"), lambda job: worker(job).pop("restartPolicy")),
        "spec.tfReplicaSpecs[Worker].oomPolicy: Invalid value: oomPolicy requires restartPolicy ExitCode; set both",
    ),
    "failure policy of others": Refusal(
        lambda job: worker(job).update(failurePolicy="Ignore"),
        'spec.tfReplicaSpecs.Worker.failurePolicy: Unsupported value: "Ignore": '
        'supported values: "FailJob", "FailReplica"',
    ),
    "any of no workers": Refusal(
        both(
            with_role("Chief"),
            lambda job: job["spec"]["tfReplicaSpecs"].pop("Worker"),
            lambda job: job["spec"].update(successPolicy="AnyWorker"),
        ),
        "spec.successPolicy: Invalid value: AnyWorker requires a role Worker, which this job does not have",
    ),
    "gang": Refusal(
        lambda job: job["spec"].update(schedulingPolicy={"minAvailable": 99}),
        "spec.schedulingPolicy.minAvailable: Invalid value: the job has fewer pods than minAvailable and would never "
        "start",
    ),
    "empty placement": Refusal(
        lambda job: job["spec"].update(placement={}),
        "spec.placement: Required value: set strategy, nodePools or both",
    ),
    "place without strategy": Refusal(
        lambda job: worker(job).update(placement={"topologyKey": "rack", "nodePools": [POOL]}),
        "spec.tfReplicaSpecs[Worker].placement.strategy: Required value: topologyKey and whenUnsatisfiable need a "
        "strategy: Spread or Pack",
    ),
    "place that is no label": Refusal(
        lambda job: job["spec"].update(placement={"strategy": "Spread", "topologyKey": "a rack"}),
        "spec.placement.topologyKey: Invalid value: the key of a node label, for example kubernetes.io/hostname or "
        "topology.kubernetes.io/zone",
    ),
    "pool twice": Refusal(
        lambda job: job["spec"].update(placement={"nodePools": [POOL, POOL]}),
        'spec.placement.nodePools[1]: Duplicate value: {"name":"spot"}',
    ),
    "name of a pool": Refusal(
        lambda job: job["spec"].update(placement={"nodePools": [{**POOL, "name": "Spot nodes"}]}),
        "spec.placement.nodePools[0].name: Invalid value: lower-case letters, digits and '-'",
    ),
    "pool without labels": Refusal(
        lambda job: job["spec"].update(placement={"nodePools": [{"name": "all", "nodeSelector": {}}]}),
        "spec.placement.nodePools[0].nodeSelector: Invalid value: 0: spec.placement.nodePools[0].nodeSelector in body "
        "should have at least 1 properties",
    ),
    "placement for no role": Refusal(
        both(
            lambda job: job["spec"].update(placement={"strategy": "Spread"}),
            lambda job: worker(job).update(placement={"strategy": "Pack"}),
        ),
        "spec.placement: Forbidden: every role has a placement of its own, so this one is never used; remove it",
    ),
    "network mode of others": Refusal(
        lambda job: job["spec"].update(networkMode="host"),
        'spec.networkMode: Unsupported value: "host": supported values: "Host", "HostDirect", "Pod"',
    ),
    "priority by number": Refusal(
        lambda job: job["spec"].update(schedulingPolicy={"priority": 0}),
        "spec.schedulingPolicy.priority: Forbidden: priority is not supported yet (numeric priority; "
        "use priorityClassName); remove the field",
    ),
    "schedule of four fields": Refusal(
        lambda job: job["spec"].update(cronPolicy={"schedule": "* * * *"}),
        "spec.cronPolicy.schedule: Invalid value: five fields (minute, hour, day of month, month, day of week), or one",
    ),
    "schedule without fixed times": Refusal(
        lambda job: job["spec"].update(cronPolicy={"schedule": "@every 5m"}),
        "spec.cronPolicy.schedule: Invalid value: @every has no fixed times",
    ),
    "schedule with a zone": Refusal(
        lambda job: job["spec"].update(cronPolicy={"schedule": "CRON_TZ=Asia/Tokyo 0 5 * * *"}),
        "spec.cronPolicy.schedule: Invalid value: set the time zone in timeZone, not in the schedule",
    ),
    "spot": Refusal(
        lambda job: worker(job).update(spotReplicaSpec={"spotReplicaNumber": -1}),
        "spec.tfReplicaSpecs.Worker.spotReplicaSpec.spotReplicaNumber: Invalid value: -1: "
        "spec.tfReplicaSpecs.Worker.spotReplicaSpec.spotReplicaNumber in body should be greater than or equal to 0",
    ),
    "code with a password": Refusal(
        lambda job: job["spec"].update(codeSource={"repository": "https://me:x@git.example.org/a"}),
        "spec.codeSource.repository: Forbidden: credentials in the URL are visible to every reader of the job",
    ),
    "more addresses than a variable holds": Refusal(
        lambda job: worker(job).update(replicas=9000),
        "spec.tfReplicaSpecs: Invalid value: TF_CONFIG has the address of every replica, and an environment variable "
        "may have 131072 bytes: this job needs at least ",
    ),
    "code with a password in clear text": Refusal(
        lambda job: job["spec"].update(codeSource={"repository": "http://host/a", "secretName": "deploy"}),
        "spec.codeSource.secretName: Forbidden: http:// would send the password of secretName in clear text",
    ),
    "code from a command": Refusal(
        lambda job: job["spec"].update(codeSource={"repository": "ext::sh -c reboot"}),
        "spec.codeSource.repository: Invalid value: must be https://…",
    ),
    "code of an option": Refusal(
        lambda job: job["spec"].update(codeSource={"repository": "https://host/a", "branch": "--upload-pack=x"}),
        "spec.codeSource.branch: Invalid value: a branch, tag or commit",
    ),
    "code outside": Refusal(
        lambda job: job["spec"].update(codeSource={"repository": "https://host/a", "destination": "../etc"}),
        "spec.codeSource.destination: Invalid value: a directory below rootPath",
    ),
    "a TensorBoard without a name": Refusal(
        lambda job: (job["spec"].update(tensorBoard={"logDir": "/x"}), job["metadata"].update(name="a" * 50)),
        "metadata.name: Invalid value: the name of a job with a TensorBoard may have at most 49 characters",
    ),
    "two storages": Refusal(
        lambda job: job["spec"]["modelVersion"]["storage"].update(nfs={"server": "nfs.example"}),
        "spec.modelVersion.storage: Invalid value: set exactly one of localStorage, nfs, AWSEfs and claim",
    ),
    "no storage": Refusal(
        lambda job: job["spec"]["modelVersion"].update(storage={}),
        "spec.modelVersion.storage: Invalid value: set exactly one of localStorage, nfs, AWSEfs and claim",
    ),
    "model without a name": Refusal(
        lambda job: job["spec"]["modelVersion"].pop("modelName"),
        "spec.modelVersion.modelName: Invalid value: the name of the Model",
    ),
    "model without a repository": Refusal(
        lambda job: job["spec"]["modelVersion"].pop("imageRepo"),
        "spec.modelVersion.imageRepo: Invalid value: the repository to push the image to",
    ),
    "model in a repository with a tag": Refusal(
        lambda job: job["spec"]["modelVersion"].update(imageRepo="hub/a:v1"),
        "spec.modelVersion.imageRepo: Invalid value: the repository to push the image to",
    ),
    "model without storage": Refusal(
        lambda job: job["spec"]["modelVersion"].pop("storage"),
        "spec.modelVersion.storage: Required value: the storage of the model files",
    ),
    "model on no node": Refusal(
        lambda job: job["spec"]["modelVersion"]["storage"]["localStorage"].pop("nodeName"),
        "spec.modelVersion.storage.localStorage.nodeName: Required value: the node of the directory",
    ),
    "model outside": Refusal(
        lambda job: job["spec"]["modelVersion"]["storage"]["localStorage"].update(path="/models/../etc"),
        "spec.modelVersion.storage.localStorage.path: Invalid value: an absolute path without '..'",
    ),
    "word that does not exist": Refusal(
        lambda job: job["spec"].update(cleanPodPolicy="Some"),
        'spec.cleanPodPolicy: Unsupported value: "Some": supported values: "All", "None", "Running"',
    ),
    "job of a stranger": Refusal(
        lambda job: job["spec"].update(managedBy="example.com/controller"),
        'spec.managedBy: Unsupported value: "example.com/controller": supported values: '
        '"kueue.x-k8s.io/multikueue", "training.kubedl.io/operator"',
    ),
    "number out of bounds": Refusal(
        lambda job: job["spec"].update(ttlSecondsAfterFinished=2**31),
        "spec.ttlSecondsAfterFinished in body should be less than or equal to 2147483647",
    ),
    "field that does not exist": Refusal(
        lambda job: job["spec"].update(suspnd=True),
        'strict decoding error: unknown field "spec.suspnd"',
    ),
}
