"""exitCodes and oomPolicy: which endings of a container say that trying again may help. All others are permanent."""

from functools import lru_cache

from kubedl.training.job import JobRole
from kubedl.wire.core import Terminated
from kubedl.wire.pattern import Pattern

# 128 + SIGINT, SIGKILL, SIGUSR1 (left to users) and SIGTERM: the process did not decide to end.
RETRYABLE_EXITS = frozenset({130, 137, 138, 143})
OUT_OF_MEMORY = "OOMKilled"  # what a kubelet writes when the kernel killed for want of memory
HIGHEST = 255

_RANGE = Pattern(r"([1-9][0-9]{0,2})(?:-([1-9][0-9]{0,2}))?", longest=7)


def is_retryable(ended: Terminated, role: JobRole) -> bool:
    """Whether a role with the restart policy ExitCode tries again after such an ending."""
    if ended.reason == OUT_OF_MEMORY and role.oom_policy is not None:
        return role.oom_policy == "Retry"
    return ended.exit_code in (RETRYABLE_EXITS if role.exit_codes is None else read(role.exit_codes.retryable))


@lru_cache(maxsize=256)
def read(texts: tuple[str, ...]) -> frozenset[int]:
    """Exit codes from texts such as "137" and "200-255".

    The API server lets nothing else through; what cannot be read all the same counts as nothing.
    """
    found: set[int] = set()
    for text in texts:
        if match := _RANGE.fullmatch(text):
            first, last = int(match[1]), int(match[2] or match[1])
            found.update(range(first, last + 1) if last <= HIGHEST else ())
    return frozenset(found)
