"""A case for every rule about jobs that wait: held, queued, refused, not placed, without volumes."""

from tests.unit.why.building import (
    Case,
    ago,
    condition,
    cron,
    event,
    failed,
    job,
    lease,
    node,
    pod,
    queued,
    unplaced,
    waits,
    workload,
)

GPUS = {"limits": {"nvidia.com/gpu": "8"}}
GPU_NODE = {"cpu": "96", "nvidia.com/gpu": "8"}
NO_GPU = "0/3 nodes are available: 3 Insufficient nvidia.com/gpu. preemption: 0/3 nodes are available."
SUSPENDED = {"manager": "kubectl-edit", "time": ago(hours=2), "writesSuspend": True}


def _refused(message: str, reason: str = "PodForbidden") -> dict[str, object]:
    return job(
        "Created", condition("Blocked", "True", reason, message), condition("PodsReady", "False", reason, message)
    )


def _unseen() -> dict[str, object]:
    return job("", status={"conditions": None, "state": None, "ready": None})


CASES: dict[str, Case] = {
    "held.by-person": Case(
        "Suspended 2h ago with kubectl-edit; no name is kept.",
        job("Suspended", spec={"suspend": True}, metadata={"managedFields": [SUSPENDED]}),
    ),
    "held.by-schedule": Case(
        "It has a schedule and never runs by itself: Cron bert starts its runs.",
        job("Created", status={"reason": "JobScheduled"}),
    ),
    "held.unsupported": Case(
        "Failed at once: spec.codeSource cannot be used: the repository has a password.",
        failed("CodeSourceInvalid", "the repository has a password"),
    ),
    "operator.absent": Case(
        "Nobody works on this PyTorchJob: the operator last gave a sign 3m ago.",
        _unseen(),
        {"lease": [lease(minutes=3)]},
    ),
    "operator.elsewhere": Case(
        "Perhaps: the operator does not serve namespace team.", _unseen(), {"lease": [lease(seconds=3)]}
    ),
    "code.failed": Case(
        "The code cannot be fetched: Repository not found.", failed("CodeSyncFailed", "Repository not found")
    ),
    "code.first-pod": Case(
        "Fetching the code for 38s; the other replicas start when its commit is known.",
        waits("WaitingForCode", "the first pod fetches the code"),
        {
            "pods": [
                pod(
                    "master",
                    initContainerStatuses=[
                        {"name": "git-sync-code", "state": {"running": {"startedAt": ago(seconds=38)}}}
                    ],
                )
            ]
        },
    ),
    "cache.waiting": Case(
        "Waiting for the dataset cache imagenet: Fluid prepares the Dataset.",
        job(
            "Created",
            condition("WaitingForCache", "True", "CacheCreating", "Fluid prepares the Dataset"),
            status={"cacheBackendName": "imagenet"},
        ),
    ),
    "queue.missing": Case(
        "Queue team-a does not exist in team.",
        queued("the job waits in queue team-a", "Inadmissible"),
        {"workload": workload("LocalQueue team-a doesn't exist", "Inadmissible"), "localqueues": []},
    ),
    "queue.none": Case(
        "The job asks for queue team-a, and Kueue is not installed.",
        queued("the job asks for queue team-a, and the cluster has no Kueue", "KueueNotAvailable"),
    ),
    "queue.stopped": Case(
        "Queue team-a is stopped: nothing in it starts.",
        queued("the job waits in queue team-a", "Inadmissible"),
        {"workload": workload("ClusterQueue team-a is inactive", "Inadmissible")},
    ),
    "queue.quota": Case(
        "Waiting 14m in queue team-a: 32 GPUs are wanted and 6 of its 48 are free; 3rd in line.",
        queued("position 3 in queue team-a; quota held by PyTorchJob clip (32 nvidia.com/gpu)"),
        {
            "workload": workload("insufficient unused quota for nvidia.com/gpu in flavor a100, 26 more needed"),
            "clusterqueue": {
                "spec": {
                    "resourceGroups": [
                        {"flavors": [{"name": "a100", "resources": [{"name": "nvidia.com/gpu", "nominalQuota": "48"}]}]}
                    ]
                },
                "status": {
                    "flavorsReservation": [{"name": "a100", "resources": [{"name": "nvidia.com/gpu", "total": "42"}]}]
                },
            },
        },
    ),
    "queue.too-large": Case(
        "Can never start: 32 GPUs are wanted, queue team-a can have 16 at most.",
        queued("the job waits in queue team-a"),
        {
            "workload": workload(
                "couldn't assign flavors to pod set worker: insufficient quota for nvidia.com/gpu in flavor a100, "
                "previously considered podsets requests (0) + current podset request (32) > maximum capacity (16)"
            )
        },
    ),
    "queue.flavor": Case(
        "Queue team-a has no example.com/fpga that this job may use.",
        queued("the job waits in queue team-a"),
        {"workload": workload("couldn't assign flavors: resource example.com/fpga unavailable in ClusterQueue")},
    ),
    "queue.topology": Case(
        "Quota is free, but not within one racks.",
        queued("the job waits in queue team-a"),
        {"workload": workload('topology "racks" allows to fit only 2 out of 4 pod(s)')},
    ),
    "queue.check": Case(
        "Quota is reserved; check nodes is still open: waiting for a ProvisioningRequest.",
        queued("the job has quota in queue team-a", "AdmissionChecks"),
        {
            "workload": workload(
                admissionChecks=[{"name": "nodes", "state": "Pending", "message": "waiting for a ProvisioningRequest"}]
            )
        },
    ),
    "queue.leaving": Case(
        "Quota in queue team-a is yours as soon as the pods of preempted jobs are gone.",
        queued("the job waits in queue team-a"),
        {"workload": workload("couldn't assign flavors. Pending the preemption of 1 workload(s)")},
    ),
    "queue.preempted": Case(
        "Preempted 6m ago by PyTorchJob urgent; 2nd in line to run again.",
        queued("position 2 in queue team-a; preempted by PyTorchJob urgent"),
        {"workload": workload("", conditions=[condition("Evicted", "True", "Preempted", "Preempted to…", minutes=6)])},
    ),
    "queue.deactivated": Case(
        "Taken out of its queue 1h ago: its Workload is not active.",
        queued("the job waits in queue team-a"),
        {
            "workload": workload(
                spec={"active": False}, conditions=[condition("Evicted", "True", "Deactivated", "by a person", hours=1)]
            )
        },
    ),
    "refused.quota": Case(
        "The namespace's quota team-quota is full: 30 of 32 GPUs are used, 8 more are wanted.",
        _refused(
            'pods "bert-worker-0" is forbidden: exceeded quota: team-quota, '
            "requested: pods=1,requests.nvidia.com/gpu=8, used: pods=4,requests.nvidia.com/gpu=30, "
            "limited: pods=10,requests.nvidia.com/gpu=32"
        ),
    ),
    "refused.quota-needs": Case(
        "Quota q wants limits.cpu to be said, and the job does not.",
        _refused('pods "bert-worker-0" is forbidden: failed quota: q: must specify limits.cpu for: pytorch'),
    ),
    "refused.limit-range": Case(
        "The maximum of one Container is 4 cpu in team, 16 is wanted.",
        _refused('pods "b" is forbidden: [maximum cpu usage per Container is 4, but limit is 16]'),
    ),
    "refused.pod-security": Case(
        "This namespace allows only restricted pods: allowPrivilegeEscalation != false.",
        _refused(
            'pods "b" is forbidden: violates PodSecurity "restricted:latest": allowPrivilegeEscalation != false '
            '(container "pytorch" must set …), runAsNonRoot != true (pod or container "pytorch" …)'
        ),
    ),
    "refused.policy": Case(
        "Policy no-latest refuses the pods: images need a tag.",
        _refused(
            "pods \"b\" is forbidden: ValidatingAdmissionPolicy 'no-latest' with binding 'b' denied request: images "
            "need a tag"
        ),
    ),
    "refused.webhook-down": Case(
        'Pods cannot be made: webhook mutate.example.com does not answer: no endpoints available for service "hook".',
        _refused(
            'Internal error occurred: failed calling webhook "mutate.example.com": failed to call webhook: Post '
            '"https://hook.tools.svc:443/mutate?timeout=10s": no endpoints available for service "hook"',
            "PodInternalError",
        ),
    ),
    "refused.name": Case(
        "pod bert-worker-0 belongs to somebody else, so its replica cannot be made.",
        _refused("bert-worker-0 belongs to another owner", "PodNameTaken"),
    ),
    "refused.reference": Case(
        "The job names ServiceAccount trainer, which does not exist.",
        _refused(
            'pods "b" is forbidden: error looking up service account team/trainer: serviceaccount "trainer" not found'
        ),
    ),
    "order.waits": Case(
        "Worker waits for Master to be Running (0 of 1 so far).",
        waits("WaitingForRole", "Worker waits for Master to be Running (dependsOn; 0 of 1 so far)"),
    ),
    "gang.partly": Case(
        "All 4 pods of the gang must fit at once, and 3 do.",
        waits("Unschedulable", "3 of 4 pods of the gang are placed (native), waiting over 40 s: …"),
    ),
    "gang.no-scheduler": Case(
        "No scheduler named volcano looks at these pods.",
        waits("NotScheduled", "no scheduler has handled the pod; check its schedulerName"),
        {"pods": [pod(spec={"schedulerName": "volcano"})]},
    ),
    "fit.too-large": Case(
        "Can never fit: 16 GPUs on one node, the largest has 8.",
        waits("Unschedulable", NO_GPU),
        {
            "pods": [unplaced(NO_GPU, wants={"limits": {"nvidia.com/gpu": "16"}})],
            "nodes": [node("gpu-01", allocatable=GPU_NODE), node("cpu-01")],
        },
    ),
    "fit.scaling-up": Case(
        "A node is being added since 3m: pod triggered scale-up: [{gpu-pool 1->2 (max: 4)}].",
        waits("Unschedulable", NO_GPU),
        {
            "pods": [unplaced(NO_GPU, wants=GPUS)],
            "events": [
                event("bert-worker-0", "TriggeredScaleUp", "pod triggered scale-up: [{gpu-pool 1->2 (max: 4)}]")
            ],
        },
    ),
    "fit.gpu-shortage": Case(
        "No node has 8 GPUs free: the largest free block is 6 (on gpu-02).",
        waits("Unschedulable", NO_GPU),
        {
            "pods": [unplaced(NO_GPU, wants=GPUS)],
            "nodes": [
                node("gpu-00", allocatable=GPU_NODE, cordoned=True),
                *(node(name, allocatable=GPU_NODE) for name in ("gpu-01", "gpu-02")),
            ],
            "node_pods": {
                "gpu-00": [],
                "gpu-01": [
                    {"name": "p", "namespace": "team", "owner": "clip", "spec": {"containers": [{"resources": GPUS}]}}
                ],
                "gpu-02": [
                    {
                        "name": "nb-0",
                        "namespace": "other",
                        "owner": "nb",
                        "spec": {"containers": [{"resources": {"limits": {"nvidia.com/gpu": "2"}}}]},
                    }
                ],
            },
        },
    ),
    "fit.cpu-memory": Case(
        "No node has 32 CPUs free.",
        waits("Unschedulable", "0/2 nodes are available: 2 Insufficient cpu."),
        {"pods": [unplaced("0/2 nodes are available: 2 Insufficient cpu.", wants={"requests": {"cpu": "32"}})]},
    ),
    "fit.selector": Case(
        "No node has the label gpu=h100.",
        waits("Unschedulable", "…"),
        {
            "pods": [
                unplaced(
                    "0/2 nodes are available: 1 node(s) didn't match Pod's node affinity/selector, 1 node(s) had "
                    "untolerated taint {node-role.kubernetes.io/control-plane: }.",
                    spec={"nodeSelector": {"gpu": "h100"}},
                )
            ],
            "nodes": [node("n1", labels={"gpu": "a100"}), node("cp")],
        },
    ),
    "fit.taint": Case(
        "1 node would do, but pool=infra:NoSchedule keeps the pods away.",
        waits("Unschedulable", "…"),
        {
            "pods": [unplaced("0/2 nodes are available: 2 node(s) had untolerated taint {pool: infra}.")],
            "nodes": [node("n1", taints=[{"key": "pool", "value": "infra", "effect": "NoSchedule"}])],
        },
    ),
    "fit.cordoned": Case(
        "2 nodes that would fit are cordoned or not ready.",
        waits("Unschedulable", "…"),
        {
            "pods": [unplaced("0/2 nodes are available: 2 node(s) were unschedulable.")],
            "nodes": [node("n1", cordoned=True), node("n2", cordoned=True)],
        },
    ),
    "fit.spread": Case(
        "The job's own rule keeps its pods apart: 3 nodes are left out by it.",
        waits("Unschedulable", "…"),
        {"pods": [unplaced("0/3 nodes are available: 3 node(s) didn't match pod anti-affinity rules.")]},
    ),
    "fit.ports-pods": Case(
        "Pod slots are used up on 2 nodes.",
        waits("Unschedulable", "…"),
        {"pods": [unplaced("0/2 nodes are available: 2 Too many pods.")]},
    ),
    "fit.other": Case(
        "Probably: No node takes 1 pod: 0/1 nodes: 1 has a strange plugin.",
        waits("Unschedulable", "…"),
        {"pods": [unplaced("0/1 nodes are available: 1 node(s) has a strange plugin.")]},
    ),
    "volume.missing": Case(
        "Claim corpus does not exist in team.",
        waits("Unschedulable", "…"),
        {
            "pods": [unplaced('0/1 nodes are available: persistentvolumeclaim "corpus" not found. not found')],
            "claims": [{"metadata": {"name": "corpora"}}],
        },
    ),
    "volume.unbound": Case(
        'Claim corpus has no volume: storageclass "fast" not found.',
        waits("Unschedulable", "…"),
        {
            "pods": [
                unplaced(
                    "0/1 nodes are available: pod has unbound immediate PersistentVolumeClaims.",
                    spec={"volumes": [{"persistentVolumeClaim": {"claimName": "corpus"}}]},
                )
            ],
            "claims": [{"metadata": {"name": "corpus"}, "status": {"phase": "Pending"}}],
            "claim_events": [event("corpus", "ProvisioningFailed", 'storageclass "fast" not found')],
        },
    ),
    "volume.zone": Case(
        "The volume of claim corpus is where no fitting node is.",
        waits("Unschedulable", "…"),
        {
            "pods": [
                unplaced(
                    "0/2 nodes are available: 2 node(s) had volume node affinity conflict.",
                    spec={"volumes": [{"persistentVolumeClaim": {"claimName": "corpus"}}]},
                )
            ]
        },
    ),
    "volume.multi-attach": Case(
        "Claim corpus can be on one node only: Volume is already used by pod(s) other-0.",
        waits("FailedAttachVolume", "…"),
        {
            "pods": [pod(spec={"volumes": [{"persistentVolumeClaim": {"claimName": "corpus"}}]})],
            "events": [
                event(
                    "bert-worker-0",
                    "FailedAttachVolume",
                    'Multi-Attach error for volume "pv-1" Volume is already used by pod(s) other-0',
                )
            ],
        },
    ),
    "volume.mount": Case(
        'bert-worker-0 cannot mount keys: secret "keys" not found.',
        waits("FailedMount", "…"),
        {
            "pods": [pod()],
            "events": [
                event(
                    "bert-worker-0",
                    "FailedMount",
                    'MountVolume.SetUp failed for volume "keys" : secret "keys" not found',
                )
            ],
        },
    ),
    "cron.suspended": Case("The schedule is suspended: no run starts.", cron("CronSuspended", "suspend is true")),
    "cron.schedule": Case(
        "The schedule cannot be used: hour 25 is out of range.", cron("InvalidSchedule", "hour 25 is out of range")
    ),
    "cron.template": Case(
        "The template of the runs cannot be used: there is no kind FooJob.",
        cron("UnknownKind", "there is no kind FooJob"),
    ),
    "cron.deadline": Case("The schedule is over: deadline has passed.", cron("DeadlineReached", "deadline has passed")),
    "cron.refused": Case(
        "The API server refuses the job of the run: quota exceeded.", cron("RunRefused", "quota exceeded")
    ),
    "cron.waiting": Case(
        "A run is due and waits for the one before it: nightly-1 is active.",
        cron("WaitingForRun", "nightly-1 is active"),
    ),
    "cron.missed": Case("The last run was not started: more than 60 s late.", cron("RunMissed", "more than 60 s late")),
}
