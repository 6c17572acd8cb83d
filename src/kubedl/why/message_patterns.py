"""Messages of other programs, from which rules read a cause: one table of patterns, each with program and version.

Programs change their words between versions. What is not recognised is quoted, never guessed.
"""

from collections.abc import Iterable

from kubedl.kube.bounded_regex import BoundedPattern

LONGEST_MESSAGE, LONGEST_LINE = 4096, 500  # characters that are looked at


def _message(expression: str) -> BoundedPattern:
    return BoundedPattern(expression, LONGEST_MESSAGE)


def _line(expression: str) -> BoundedPattern:
    return BoundedPattern(expression, LONGEST_LINE)


# kube-apiserver 1.31 to 1.36: admission
QUOTA = _message(
    r"exceeded quota: (?P<quota>[^,]+), requested: (?P<asked>.+?), used: (?P<used>.+?), limited: (?P<limited>.+)"
)
QUOTA_NEEDS = _message(
    r"failed quota: (?P<quota>[^:]+): must specify (?P<what>[\w./-]+)(?: for: (?P<container>[^;,]+))?"
)
LIMIT_RANGE = _message(
    r"(?P<bound>maximum|minimum) (?P<resource>[\w./-]+) usage per (?P<scope>\w+) is (?P<limit>[\w.]+)"
    r"(?:, but (?:limit|request) is (?P<asked>[\w.]+))?"
)
POD_SECURITY = _message(r'violates PodSecurity "(?P<level>[a-z]+):[^"]*": (?P<violations>.+)')
WEBHOOK_DENIED = _message(
    r'admission webhook "(?P<name>[^"]+)" denied the request(?: without explanation)?:? ?(?P<words>.*)'
)
POLICY_DENIED = _message(
    r"ValidatingAdmissionPolicy '(?P<name>[^']+)' with binding '[^']+' denied request: (?P<words>.+)"
)
WEBHOOK_DOWN = _message(
    r'failed calling webhook "(?P<name>[^"]+)": (?:failed to call webhook: )?'
    r'(?:Post "https://(?P<service>[^/:"?]+)[^"]*": )?(?P<words>.+)'
)
ACCOUNT_MISSING = _message(r'serviceaccount "(?P<name>[^"]+)" not found')
PRIORITY_MISSING = _message(r"no PriorityClass with name (?P<name>\S+) was found")

# Kueue 0.19
QUEUE_MISSING = _message(r"LocalQueue (?P<queue>\S+) doesn't exist")
QUEUE_STOPPED = _message(r"(?P<what>LocalQueue|ClusterQueue) (?P<queue>\S+) is (?:stopped|inactive)")
QUOTA_SHORT = _message(
    r"insufficient unused quota for (?P<resource>\S+) in flavor (?P<flavor>[^,]+), (?P<more>[\w.]+) more needed"
)
QUOTA_NEVER = _message(
    r"insufficient quota for (?P<resource>\S+) in flavor (?P<flavor>[^,]+), .*?"
    r"current podset request \((?P<asked>[\w.]+)\) > maximum capacity \((?P<most>[\w.]+)\)"
)
FLAVOR_NONE = _message(r"resource (?P<resource>\S+) unavailable in ClusterQueue")
TOPOLOGY = _message(r'topology "(?P<topology>[^"]+)" (?:allows to fit only (?P<fits>\d+) out of (?P<all>\d+)|.*)')

# KubeDL's own messages
POSITION = _message(r"position (?P<position>\d+) in queue (?P<queue>[^\s;:]+)")
HELD_BY = _message(r"quota held by (?P<holders>[^:]+)")
WAITS_FOR = _message(r"(?P<role>\w+) waits for (?P<other>\w+) to be (?P<phase>\w+) \(dependsOn; (?P<so_far>\d+ of \d+)")
GANG_PLACED = _message(r"(?P<placed>\d+) of (?P<wanted>\d+) pods of the gang are placed \((?P<scheduler>[^)]+)\)")

# kube-scheduler 1.31 to 1.36
CLAIM_MISSING = _message(r'persistentvolumeclaim "(?P<claim>[^"]+)" not found')
TAINT = _message(r"had untolerated taint \{(?P<key>[^:}]+): ?(?P<value>[^}]*)\}")

# kubelet 1.31 to 1.36, containerd 2, CRI-O
IMAGE_MISSING = _message(r"(?i)not found|manifest unknown|does not exist|name unknown|repository unknown")
IMAGE_DENIED = _message(
    r"(?i)\b401\b|\b403\b|unauthorized|denied|insufficient_scope|authentication required|no basic auth"
)
IMAGE_UNREACHABLE = _message(
    r"(?i)no such host|i/o timeout|connection refused|x509|connection reset|network is unreachable|EOF$|"
    r"context deadline exceeded|server gave HTTP response"
)
IMAGE_PLATFORM = _message(
    r"(?i)no match(?:ing manifest)? for (?:platform|.{0,40} in (?:the )?manifest)|exec format error"
)
IMAGE_RATE = _message(r"(?i)toomanyrequests|429 Too Many Requests|rate limit")
NO_COMMAND = _message(r'exec: "(?P<command>[^"]+)":|executable file not found|no such file or directory')
OBJECT_MISSING = _message(r'(?P<kind>secret|configmap) "(?P<name>[^"]+)" not found')
KEY_MISSING = _message(r"couldn't find key (?P<key>\S+) in (?P<kind>Secret|ConfigMap) (?P<name>\S+)")
MULTI_ATTACH = _message(r'Multi-Attach error for volume "(?P<volume>[^"]+)" (?P<words>.+)')
MOUNT = _message(r'MountVolume\.\w+ failed for volume "(?P<volume>[^"]+)" ?: (?P<words>.+)')

# glibc, Python 3, PyTorch 2, OpenSSH, Open MPI 5: lines of logs
DNS = _line(
    r"(?i)name or service not known|temporary failure in name resolution|could not resolve host|no address associated"
)
RENDEZVOUS = _line(
    r"(?i)client socket has timed out after .* while trying to connect to|"
    r"(?P<joined>\d+)/(?P<all>\d+) (?:clients|workers) joined|rendezvous.*timed? ?out"
)
SSH = _line(
    r"(?i)Permission denied \(publickey|not enough slots available|Could not resolve hostname (?P<host>\S+)|"
    r"ORTE was unable to reliably start|ssh: connect to host (?P<peer>\S+)"
)
NCCL_TIMEOUT = _line(r"Watchdog caught collective operation timeout: WorkNCCL\(SeqNum=(?P<seq>\d+), OpType=(?P<op>\w+)")
NCCL_NETWORK = _line(r"NCCL WARN|ncclSystemError|ncclRemoteError|ncclInternalError")
GLOO = _line(
    r"(?i)gloo.*Connection closed by peer|Connection closed by peer \[(?P<peer>[^\]]+)|"
    r"Timed out waiting \d+ms for (?:recv|send)"
)
CUDA_MEMORY = _line(
    r"CUDA out of memory\. Tried to allocate (?P<asked>[\d.]+ ?\w+)"
    r"(?:.*?total capacity of (?P<all>[\d.]+ ?\w+))?(?:.*?of which (?P<free>[\d.]+ ?\w+) is free)?"
)
CUDA_MISSING = _line(
    r"(?i)no CUDA-capable device|driver version is insufficient|Found no NVIDIA driver|libcuda\.so.*cannot open"
)
SHARED_MEMORY = _line(r"(?i)insufficient shared memory \(shm\)|unable to write to file </torch_|Bus error")
DISK_FULL = _line(r"No space left on device(?:: '?(?P<path>[^']+))?")


def search(pattern: BoundedPattern, text: str) -> dict[str, str] | None:
    """Return the named parts of the first match; None if there is none."""
    found = pattern.search(text[: pattern.longest])
    return {name: value or "" for name, value in found.groupdict().items()} if found is not None else None


def search_lines(pattern: BoundedPattern, lines: Iterable[tuple[str, str]]) -> tuple[str, str, dict[str, str]] | None:
    """Return who printed the first line that matches, the line, and its named parts."""
    for who, line in lines:
        parts = search(pattern, line)
        if parts is not None:
            return who, line.strip(), parts
    return None
