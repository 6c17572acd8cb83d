"""What the init container that fetches the code has said: a commit, or why there is none.

Before the first success a failure is final: the address or the credentials are wrong, and somebody is waiting to hear
of it. After it, the same address has worked, so a failure is the server's bad moment and is tried again.
"""

from collections.abc import Iterable

from kubedl.training.addons import code
from kubedl.training.policies.exit_codes import OUT_OF_MEMORY, RETRYABLE_EXITS
from kubedl.training.snapshot import Sighting
from kubedl.wire.core import Pod, Terminated

LONGEST = 1000  # characters of git's words; the last matter


def commit(sightings: Iterable[Sighting]) -> str:
    """The commit that a pod says it has; empty while none does."""
    for pod in _pods(sightings):
        ended = ending(pod)
        if ended is not None and ended.exit_code == 0 and code.WHOLE.fullmatch(ended.message.strip()):
            return ended.message.strip()
    return ""


def complaint(sightings: Iterable[Sighting]) -> str | None:
    """Why the code cannot be had, if a pod says so."""
    for pod in _pods(sightings):
        ended = ending(pod)
        if ended is None or _may_pass(ended) or pod.metadata.deletion_timestamp is not None:
            continue
        if ended.exit_code != 0:
            return f"{pod.metadata.name} could not fetch the code: {words(ended)}"
        if not code.WHOLE.fullmatch(ended.message.strip()):
            return f"{pod.metadata.name} fetched the code but did not say which commit: {words(ended)}"
    return None


def ending(pod: Pod) -> Terminated | None:
    """How the init container ended, the last time it did."""
    for status in pod.status.init_container_statuses:
        if status.name == code.CONTAINER:
            return status.state.terminated or status.last_state.terminated
    return None


def words(ended: Terminated) -> str:
    """What it said last."""
    if ended.reason == OUT_OF_MEMORY:
        return "it ran out of memory; give it more in spec.codeSource.resources"
    return ended.message.strip()[-LONGEST:] or f"exit code {ended.exit_code} {ended.reason}".strip()


def _may_pass(ended: Terminated) -> bool:
    """Somebody killed it, which need not happen again; a repository that is too large is no smaller the next time."""
    return ended.exit_code in RETRYABLE_EXITS and ended.reason != OUT_OF_MEMORY


def _pods(sightings: Iterable[Sighting]) -> Iterable[Pod]:
    return (pod for sighting in sightings if (pod := sighting.current or sighting.gone) is not None)
