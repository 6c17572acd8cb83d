"""Who should be a member: spot replicas first, on-demand replicas as far as the decision wants them."""

from collections.abc import Sequence

from msgspec import Struct

from kubedl.training.elastic.pace import allowed_size
from kubedl.training.elastic.status import SeenPod
from kubedl.training.elastic.terms import Decision, Mode, Terms

SETTLE = 30  # replicas that get ready within this time join in one changeover


class Present(Struct, frozen=True):
    """The pods that stay, in the order in which they were seen."""

    members: tuple[SeenPod, ...]
    ready: tuple[SeenPod, ...]  # and not members
    starting: tuple[SeenPod, ...]

    def count(self, *, spot: bool) -> int:
        """Return how many there are of a pool, members or not."""
        return sum(pod.spot is spot for pods in (self.members, self.ready, self.starting) for pod in pods)


def present(pods: Sequence[SeenPod], members: Sequence[str], leaving: Sequence[str]) -> Present:
    """Sort pods; without those that leave or whose nodes are being taken."""
    staying = [pod for pod in pods if pod.taken_at is None and pod.uid not in leaving]
    others = [pod for pod in staying if pod.uid not in members]
    return Present(
        tuple(pod for pod in staying if pod.uid in members),
        tuple(pod for pod in others if pod.ready_at is not None),
        tuple(pod for pod in others if pod.ready_at is None),
    )


def wanted_members(terms: Terms, decision: Decision, seen: Present, now: int, cold_start: int) -> tuple[str, ...]:
    """Return the uids of those who should train from now on; nobody if they are fewer than the minimum."""
    if decision.mode is Mode.LAST:
        chosen = _last(terms, seen)
    else:
        joining = seen.ready if not seen.members or _settled(seen, now, cold_start) else ()
        chosen = _spot_first(terms, decision, seen.members, joining)
    return tuple(sorted(pod.uid for pod in chosen[: allowed_size(terms, len(chosen))]))


def _last(terms: Terms, seen: Present) -> list[SeenPod]:
    """All members on on-demand at once; until then, those who train go on."""
    on_demand = [pod for pod in (*seen.members, *seen.ready) if not pod.spot]
    if len(on_demand) >= terms.size:
        return on_demand[: terms.size]
    return list(seen.members) if allowed_size(terms, len(seen.members)) else [*seen.members, *seen.ready]


def _spot_first(
    terms: Terms, decision: Decision, members: Sequence[SeenPod], joining: Sequence[SeenPod]
) -> list[SeenPod]:
    """Spot that joins sends on-demand away, but the size does not shrink by it."""
    arriving = sum(not pod.spot for pod in joining)
    size = min(terms.size, max(decision.size, len(members) + arriving))
    spot = [pod for pod in (*members, *joining) if pod.spot]
    on_demand = [pod for pod in (*members, *joining) if not pod.spot]
    return spot + on_demand[: max(size - len(spot), terms.min_on_demand, 0)]


def _settled(seen: Present, now: int, cold_start: int) -> bool:
    """Return whether those who are ready should not wait for others, who are about to be."""
    if not seen.ready:
        return False
    waited = now - min(pod.ready_at for pod in seen.ready if pod.ready_at is not None)
    return waited >= SETTLE or not any(now < pod.begin + cold_start <= now + SETTLE - waited for pod in seen.starting)
