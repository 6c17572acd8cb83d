"""Reads the termination message of the init container that fetches the code: a commit, or an error.

Before the first success, a failure is permanent: the address or the credentials are wrong. After it, the same address
has worked, so a failure is temporary and is retried.
"""

from collections.abc import Iterable

from kubedl.kube.types.core import Pod, Terminated
from kubedl.training.addons.code_source import WHOLE
from kubedl.training.policies.exit_codes import OUT_OF_MEMORY, RETRYABLE_EXITS

CONTAINER = "git-sync-code"  # the init container
LONGEST = 1000  # characters of git's words; the last matter


def commit(pods: Iterable[Pod]) -> str:
    """The commit that a pod says it has; empty while none does."""
    for pod in pods:
        ended = ending(pod)
        if ended is not None and ended.exit_code == 0 and WHOLE.fullmatch(ended.message.strip()):
            return ended.message.strip()
    return ""


def failure_message(pods: Iterable[Pod]) -> str | None:
    """Why the code cannot be had, if a pod says so."""
    for pod in pods:
        ended = ending(pod)
        if ended is None or _may_pass(ended) or pod.metadata.deletion_timestamp is not None:
            continue
        if ended.exit_code != 0:
            return f"{pod.metadata.name} could not fetch the code: {error_message(ended)}"
        if not WHOLE.fullmatch(ended.message.strip()):
            return f"{pod.metadata.name} fetched the code but did not say which commit: {error_message(ended)}"
    return None


def ending(pod: Pod) -> Terminated | None:
    """How the init container ended, the last time it did."""
    for status in pod.status.init_container_statuses:
        if status.name == CONTAINER:
            return status.state.terminated or status.last_state.terminated
    return None


def error_message(ended: Terminated) -> str:
    """Return its error message."""
    if ended.reason == OUT_OF_MEMORY:
        return "it ran out of memory; give it more in spec.codeSource.resources"
    return ended.message.strip()[-LONGEST:] or f"exit code {ended.exit_code} {ended.reason}".strip()


def _may_pass(ended: Terminated) -> bool:
    """Return whether a retry may help: after a signal, but not after running out of memory."""
    return ended.exit_code in RETRYABLE_EXITS and ended.reason != OUT_OF_MEMORY
