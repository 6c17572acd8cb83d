"""Chooses the events that are recorded: those about recorded kinds, and about pods of jobs.

An event may arrive before its pod. Events about unknown pods are kept for a while, in bounded number.
"""

from collections import OrderedDict
from collections.abc import Callable, Mapping

from kubedl.history.observation import Observation
from kubedl.history.observed_pods import Involved

MOST_PODS = 200_000  # uids of pods that are remembered, also after their deletion
MOST_WAITING = 2_000


class EventFilter:
    """Passes events on to `record`."""

    def __init__(self, groups: Mapping[str, str], record: Callable[[Observation], None]) -> None:
        """`groups` has the API group of each recorded kind: others have a PyTorchJob too."""
        self._groups, self._record = groups, record
        self._pods: OrderedDict[str, None] = OrderedDict()
        self._waiting: OrderedDict[str, dict[str, Observation]] = OrderedDict()  # by the uids of pod and event
        self._number = 0  # of waiting events

    def offer(self, about: Involved, event: Observation) -> None:
        """Record an event, or keep it until its pod is seen, or drop it."""
        if self._is_recorded(about) or (about.kind == "Pod" and about.uid in self._pods):
            self._record(event)
        elif about.kind == "Pod" and about.uid:
            waiting = self._waiting.setdefault(about.uid, {})
            self._number += event.uid not in waiting
            waiting[event.uid] = event
            while self._number > MOST_WAITING:
                self._number -= len(self._waiting.popitem(last=False)[1])

    def _is_recorded(self, about: Involved) -> bool:
        group = self._groups.get(about.kind)
        return group is not None and (not about.api_version or about.api_version.partition("/")[0] == group)

    def pod_seen(self, uid: str) -> None:
        """Record the events that waited for this pod."""
        if uid in self._pods:
            return
        self._pods[uid] = None
        if len(self._pods) > MOST_PODS:
            self._pods.popitem(last=False)
        waiting = self._waiting.pop(uid, {})
        self._number -= len(waiting)
        for event in waiting.values():
            self._record(event)
