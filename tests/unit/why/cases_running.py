"""A case for every rule about images, starts, runs, ends, models and services."""

from typing import Any

from tests.unit.why.building import (
    Case,
    ago,
    condition,
    ended,
    event,
    failed,
    inference,
    job,
    node,
    pod,
    restarting,
    running,
    version,
    waiting,
    waits,
)

Object = dict[str, Any]


def _pull(message: str) -> Case:
    return Case("", waits("ImagePullBackOff", message), {"pods": [waiting("ImagePullBackOff", message)], "events": []})


def _image(first: str, message: str) -> Case:
    made = _pull(message)
    return Case(first, made.manifest, made.parts)


def _printed(first: str, *lines: str, code: int = 1) -> Case:
    """A job that restarts because of what its worker 2 printed."""
    logs = {"bert-worker-2": list(lines)}
    return Case(first, restarting(exitCode=code, reason="Error"), {"pods": [ended(code)], "logs": logs})


def _rollout(**fields: object) -> Object:
    rollout = {
        "phase": "Stepping",
        "stable": "flowers-v1",
        "candidate": "flowers-v2",
        "stepSince": ago(hours=3),
        **fields,
    }
    return inference(trafficPercent=20, rollout=rollout)


def _succeeded(**parts: Any) -> Object:  # noqa: ANN401
    done = condition("Succeeded", "True", "JobSucceeded", parts.pop("message", "4 of 4 replicas succeeded"))
    return job("Succeeded", done, status=parts)


CASES: dict[str, Case] = {
    "image.not-found": _image("Image team/torch:2 does not exist.", "rpc error: code = NotFound desc = not found"),
    "image.unauthorized": _image(
        "The registry does not let the node pull team/torch:2.", "pull access denied, repository does not exist"
    ),
    "image.unreachable": _image(
        "gpu-04 cannot reach the registry of team/torch:2.", "dial tcp: lookup registry.example: no such host"
    ),
    "image.platform": _image(
        "team/torch:2 is not for the processor of gpu-04.", "no match for platform in manifest: not found"
    ),
    "image.rate": _image("The registry of team/torch:2 asks to slow down.", "toomanyrequests: pull rate limit reached"),
    "image.never": Case(
        "team/torch:2 is not on gpu-04 and may not be pulled (imagePullPolicy: Never).",
        waits("ErrImageNeverPull", "…"),
        {"pods": [waiting("ErrImageNeverPull", "Container image is not present with pull policy of Never")]},
    ),
    "image.name": Case(
        "team/torch:2 is no image name.",
        waits("InvalidImageName", "…"),
        {"pods": [waiting("InvalidImageName", "couldn't parse image name")]},
    ),
    "image.other": _image("team/torch:2 cannot be pulled on gpu-04.", "something strange happened"),
    "image.slow": Case(
        "Pulling team/torch:2 for 4m on 1 node.",
        waits("PullingImage", "…"),
        {
            "pods": [waiting("ContainerCreating")],
            "events": [event("bert-worker-0", "Pulling", 'Pulling image "team/torch:2"', minutes=4)],
        },
    ),
    "start.config": Case(
        'bert-worker-0 cannot start: secret "keys" not found.',
        waits("CreateContainerConfigError", "…"),
        {"pods": [waiting("CreateContainerConfigError", 'secret "keys" not found')]},
    ),
    "start.command": Case(
        "The image has no torchrum.",
        restarting(exitCode=128, reason="StartError", message='exec: "torchrum": executable file not found in $PATH'),
        {"pods": [ended(128, "StartError", 'exec: "torchrum": executable file not found in $PATH')]},
    ),
    "start.init": Case(
        "Init container prepare of bert-worker-0 fails: no such bucket.",
        waits("InitContainerFailed", "…"),
        {
            "pods": [
                pod(
                    initContainerStatuses=[
                        {
                            "name": "prepare",
                            "state": {"waiting": {"reason": "CrashLoopBackOff"}},
                            "lastState": {"terminated": {"exitCode": 1, "message": "trying\nno such bucket\n"}},
                        }
                    ]
                )
            ]
        },
    ),
    "meet.dns": _printed(
        "Probably: Restarting: worker 2 cannot find another replica: names of this job do not resolve.",
        "socket.gaierror: [Errno -2] Name or service not known",
    ),
    "meet.ssh": _printed(
        "Probably: Restarting: The launcher cannot reach its workers by ssh.", "Permission denied (publickey,password)."
    ),
    "meet.waiting": _printed(
        "Probably: Restarting: worker 2 waits for the others of 4 ranks, and not all have come.",
        "The client socket has timed out after 900000ms while trying to connect to (bert-master-0, 29500).",
    ),
    "run.nccl-timeout": _printed(
        "Probably: Restarting: Ranks stopped at ALLREDUCE #1204: one of them never came to it.",
        "[Rank 2] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=1204, OpType=ALLREDUCE, Timeout(ms)=6)",
        code=134,
    ),
    "run.nccl-network": _printed(
        "Probably: Restarting: worker 2 cannot talk to its peers by NCCL.",
        "gpu-04:1:9 [0] misc/socket.cc:50 NCCL WARN socketProgress: Connection closed by remote peer",
    ),
    "run.cuda-oom": _printed(
        "Probably: Restarting: The GPU of worker 2 is full: 2.50 GiB more were wanted.",
        "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.50 GiB. GPU 0 has a total capacity of "
        "79.10 GiB of which 1.10 GiB is free.",
    ),
    "run.cuda-missing": _printed(
        "Probably: Restarting: worker 2: sees no GPU.",
        "RuntimeError: No CUDA GPUs are available: no CUDA-capable device is detected",
    ),
    "run.shm": _printed(
        "Probably: Restarting: worker 2 ran out of shared memory.",
        "ERROR: Unexpected bus error. This might be caused by insufficient shared memory (shm).",
        code=135,
    ),
    "run.disk": Case(
        "Restarting: worker 2 filled its disk: Pod ephemeral local storage usage exceeds the total limit of 10Gi.",
        restarting(
            reason="Evicted", message="Pod ephemeral local storage usage exceeds the total limit of 10Gi", container=""
        ),
    ),
    "run.oom": Case(
        "Restarting: worker 2 ran out of memory (64Gi) 3m ago and was first; 3 others followed.",
        restarting(exitCode=137, reason="OOMKilled", signal="SIGKILL", followers=3),
    ),
    "run.gloo": _printed(
        "Probably: Restarting: worker 2 lost a peer.",
        "RuntimeError: [../third_party/gloo/transport/tcp/pair.cc:534] Connection closed by peer [10.0.0.7]:4242",
    ),
    "run.exit": Case(
        "Failed: worker 2 failed first with exit code 1 3m ago: ValueError: no such column.",
        failed(
            "ReplicaFailed",
            "bert-worker-2 failed with exit code 1",
            exitCode=1,
            reason="Error",
            message="x\nValueError: no such column\n",
        ),
    ),
    "run.signal": Case(
        "Restarting: worker 2 was killed by SIGSEGV 3m ago.", restarting(exitCode=139, reason="Error", signal="SIGSEGV")
    ),
    "run.silent": Case(
        "Perhaps: worker 1 hangs: 4 of 4 replicas are ready, and it has printed nothing for 12m.",
        job("Running", condition("Running", hours=1), ready="4/4"),
        {
            "pods": [running(0, "master"), *(running(index) for index in range(3))],
            "logs": {
                "bert-worker-1": ["step 10"],
                "_last": {"bert-worker-1": ago(minutes=12), "bert-worker-0": ago(seconds=2)},
            },
        },
    ),
    "node.lost": Case(
        "Worker 2 was lost with node gpu-04 3m ago.",
        restarting(reason="NodeLost", message="was lost with node gpu-04", container=""),
    ),
    "node.spot": Case(
        "Spot node gpu-04 was reclaimed; worker 2 restarts, which is not counted.",
        restarting(reason="DeletionByTaintManager", message="was disrupted", container=""),
        {"nodes": [node("gpu-04", labels={"cloud.google.com/gke-spot": "true"})]},
    ),
    "node.preempted": Case(
        "worker 2 had to make room for a pod of higher priority 3m ago.",
        restarting(
            reason="PreemptionByScheduler", message="was disrupted: default-scheduler: preempting", container=""
        ),
    ),
    "node.drained": Case(
        "worker 2 was evicted from gpu-04, which is being drained or is out of resources 3m ago.",
        restarting(reason="EvictionByEvictionAPI", message="was disrupted: Eviction API: evicting", container=""),
    ),
    "node.deleted": Case(
        "worker 2 was deleted 3m ago; it is made again, which is not counted.",
        restarting(reason="Deleted", message="was deleted", container=""),
    ),
    "end.reported": Case(
        "It waits: 1 of 4 pods is not ready; bert-worker-1: PodsNotReady: containers with unready status.",
        waits("PodsNotReady", "1 of 4 pods is not ready; bert-worker-1: PodsNotReady: containers with unready status"),
    ),
    "end.pause": Case(
        "It starts again soon: all 4 replicas are restarted.",
        job("Restarting", condition("Restarting", "True", "JobRestarting", "all 4 replicas are restarted")),
    ),
    "end.deadline": Case(
        "It ran out of time: 1h were allowed (activeDeadlineSeconds).",
        failed("DeadlineExceeded", "activeDeadlineSeconds (3600) exceeded at 2026; 3/4 pods were ready"),
    ),
    "end.retries": Case(
        "It failed 4 times, the last time because worker 2 failed with exit code 1: ValueError: x.",
        failed(
            "BackoffLimitExceeded",
            "backoffLimit (3) reached: bert-worker-2 failed with exit code 1",
            exitCode=1,
            reason="Error",
            message="ValueError: x",
        ),
    ),
    "end.gone": Case(
        "It was deleted 2h ago because its ttlSecondsAfterFinished had passed; it had succeeded.",
        job("Succeeded", condition("Succeeded"), ready="0/4"),
        {"pods": [], "history": {"deleted": ago(hours=2), "state": "Succeeded", "byTtl": True, "user": "ada"}},
    ),
    "model.not-made": Case(
        "It succeeded and left no model: nobody mounted the model's storage.",
        _succeeded(
            message="4 of 4 replicas succeeded; no ModelVersion was created: the replica that writes the model never "
            "mounted its storage"
        ),
    ),
    "model.tag": Case(
        "Tag v1 of registry.example/team/bert is another image already, and tags are never moved.",
        version("TagConflict", "tag v1 names sha256:1"),
    ),
    "model.login": Case(
        "The registry does not accept the push to registry.example/team/bert: 401 Unauthorized.",
        _succeeded(modelVersionName="bert-v1"),
        {"version": version("Unauthorized", "401 Unauthorized")},
    ),
    "model.registry": Case(
        "The registry of registry.example/team/bert does not take the image: connection refused.",
        version("RegistryUnreachable", "connection refused"),
    ),
    "model.files": Case("The model cannot be packed: /model has no files.", version("BadModel", "/model has no files")),
    "model.pod": Case(
        "The build pod does not do its work: 0/3 nodes are available.",
        version("Unschedulable", "0/3 nodes are available"),
    ),
    "serve.version": Case(
        "main waits for ModelVersion flowers-v2: its image is not built yet.",
        inference(reason="ModelNotBuilt", message="its image is not built yet"),
        {"version": {"status": {"message": "uploading", "progress": {"bytesDone": 4, "bytesTotal": 10}}}},
    ),
    "serve.load": Case(
        "main starts without its whole model: Unauthorized: 401.",
        inference(reason="ModelNotLoaded", message="Unauthorized: 401"),
    ),
    "serve.refused": Case(
        "Pods of main are refused: exceeded quota.", inference(reason="PodsRefused", message="exceeded quota")
    ),
    "serve.unready": Case(
        "None of 2 servers of main is ready: readiness probe failed: 404.",
        inference(reason="PodsNotReady", message="readiness probe failed: 404"),
    ),
    "serve.scaler": Case(
        "The autoscaler of main cannot work: KEDA is not installed.",
        inference(reason="KedaNotInstalled", message="KEDA is not installed"),
    ),
    "serve.zero": Case("main is scaled to zero: no server is wanted.", inference(replicas=0)),
    "serve.gateway": Case(
        "Requests cannot be shared: no Gateway is set.",
        inference(condition("Routed", "False", "NoGateway", "no Gateway is set")),
    ),
    "serve.rolled-back": Case(
        "flowers-v2 was rolled back: 7 % of 400 requests failed.",
        _rollout(phase="RolledBack", reason="ErrorRate", rejected="flowers-v2", message="7 % of 400 requests failed"),
    ),
    "serve.paused": Case(
        "flowers-v2 waits at 20 % for a person, since 3h.", _rollout(reason="Paused", message="waits for next")
    ),
    "serve.measuring": Case(
        "flowers-v2 stays at 20 %: 12 of 100 requests.", _rollout(reason="TooFewRequests", message="12 of 100 requests")
    ),
}
