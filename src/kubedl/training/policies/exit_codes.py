"""exitCodes and oomPolicy: which endings of a container are retryable. All others are permanent."""

from functools import lru_cache

from kubedl.kube.bounded_regex import BoundedPattern
from kubedl.kube.types.core import Terminated
from kubedl.training.job import JobRole

# 128 + SIGINT, SIGKILL, SIGUSR1 (for users) and SIGTERM: the process was killed.
RETRYABLE_EXITS = frozenset({130, 137, 138, 143})
OUT_OF_MEMORY = "OOMKilled"  # the kubelet's reason after an OOM kill
HIGHEST = 255

_RANGE = BoundedPattern(r"([1-9][0-9]{0,2})(?:-([1-9][0-9]{0,2}))?", longest=7)


def is_retryable(ended: Terminated, role: JobRole) -> bool:
    """Return whether a role with restart policy ExitCode retries after this ending."""
    if ended.reason == OUT_OF_MEMORY and role.oom_policy is not None:
        return role.oom_policy == "Retry"
    return ended.exit_code in (RETRYABLE_EXITS if role.exit_codes is None else read(role.exit_codes.retryable))


@lru_cache(maxsize=256)
def read(texts: tuple[str, ...]) -> frozenset[int]:
    """Parse exit codes such as "137" and "200-255".

    The API server rejects other values; any that remain are ignored.
    """
    found: set[int] = set()
    for text in texts:
        if match := _RANGE.fullmatch(text):
            first, last = int(match[1]), int(match[2] or match[1])
            found.update(range(first, last + 1) if last <= HIGHEST else ())
    return frozenset(found)
