"""What there is in a cluster and what there ever was, seen by watches of the test's own, past every fault.

Tests wait for conditions of what is seen here, which costs the API server nothing. Short-lived objects are remembered:
every pod that a watch ever told of stays in `ever`.
"""

import asyncio
import contextlib
import json
from collections import defaultdict
from collections.abc import Mapping
from types import TracebackType
from typing import Self

import aiohttp

from harness.drivers.api_connection import Connection
from kubedl.training.kinds import all_kinds
from testbed.api import Object
from testbed.cluster import Cluster
from testbed.waiting import until

TRAINING = "/apis/training.kubedl.io/v1alpha1"
MODEL = "/apis/model.kubedl.io/v1alpha1"
LABELLED = "labelSelector=training.kubedl.io/job-name"
SERVING = "labelSelector=serving.kubedl.io/inference"
FOLLOWED = {
    "pods": f"/api/v1/pods?{LABELLED}",
    "services": f"/api/v1/services?{LABELLED}",
    "cachebackends": "/apis/cache.kubedl.io/v1alpha1/cachebackends?",
    "crons": "/apis/apps.kubedl.io/v1alpha1/crons?",
    "scaleins": "/apis/kai.alibabacloud.com/v1alpha1/scaleins?",
    "scaleouts": "/apis/kai.alibabacloud.com/v1alpha1/scaleouts?",
    "models": f"{MODEL}/models?",
    "modelversions": f"{MODEL}/modelversions?",
    "builds": "/api/v1/pods?labelSelector=model.kubedl.io/version-uid",
    "inferences": "/apis/serving.kubedl.io/v1alpha1/inferences?",
    "servers": f"/api/v1/pods?{SERVING}",
    "addresses": f"/api/v1/services?{SERVING}",
    "deployments": f"/apis/apps/v1/deployments?{SERVING}",
    "scalers": f"/apis/autoscaling/v2/horizontalpodautoscalers?{SERVING}",
    "routes": f"/apis/gateway.networking.k8s.io/v1/httproutes?{SERVING}",
    **{kind.plural: f"{TRAINING}/{kind.plural}?" for kind in all_kinds()},
}
START = "watch=1&allowWatchBookmarks=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan"
SILENCE = 90.0
PAUSE = 0.2  # seconds before a broken watch is opened again

Objects = dict[tuple[str, str], Object]


class ClusterWatcher:
    """Follows jobs and scalers, Crons, caches, models, Inferences, and what is made for each, in all namespaces."""

    def __init__(self, cluster: Cluster) -> None:
        self.connection = Connection(cluster)
        self._now: dict[str, Objects] = {resource: {} for resource in FOLLOWED}
        self._ever: dict[str, dict[str, dict[str, Object]]] = {
            resource: defaultdict(dict) for resource in FOLLOWED
        }  # resource → namespace → uid → as last seen
        self._filled: set[str] = set()

    def __enter__(self) -> Self:
        self.connection.__enter__()
        for resource in FOLLOWED:
            self.connection.background(lambda resource=resource: self._follow(resource))  # type: ignore[misc]
        until("the watches to be filled", lambda: len(self._filled) == len(FOLLOWED), deadline=60, interval=0.01)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.connection.__exit__(kind, error, traceback)

    def get(self, resource: str, namespace: str, name: str) -> Object | None:
        """One object, if it exists."""
        return self._now[resource].get((namespace, name))

    def all(self, resource: str, namespace: str) -> dict[str, Object]:
        """All of a namespace, by name."""
        return {name: found for (place, name), found in self._now[resource].copy().items() if place == namespace}

    def ever(self, resource: str, namespace: str) -> Mapping[str, Object]:
        """All that ever were in a namespace, by uid, in their last state."""
        return self._ever[resource][namespace].copy()

    def forget_gone(self, namespace: str) -> None:
        """Remember of a namespace only what is there: in a long test the memory of all that ever was would grow."""

        async def forget() -> None:  # in the loop that the watches run in
            for resource, places in self._ever.items():
                places[namespace] = {body["metadata"]["uid"]: body for body in self.all(resource, namespace).values()}

        self.connection.run(forget())

    async def _follow(self, resource: str) -> None:
        while True:
            # A server that is killed may leave half a line, which is no JSON.
            with contextlib.suppress(aiohttp.ClientError, TimeoutError, OSError, json.JSONDecodeError):
                await self._watch(resource)
            await asyncio.sleep(PAUSE)

    async def _watch(self, resource: str) -> None:
        initial: Objects | None = {}
        async with self.connection.stream(f"{FOLLOWED[resource]}&{START}", SILENCE) as response:
            response.raise_for_status()
            async for line in response.content:
                event = json.loads(line)
                body, kind = event["object"], event["type"]
                if kind == "ERROR":
                    return
                if kind == "BOOKMARK":
                    if initial is not None and "annotations" in body["metadata"]:
                        self._now[resource], initial = initial, None
                        self._filled.add(resource)
                    continue
                meta = body["metadata"]
                key = meta["namespace"], meta["name"]
                target = self._now[resource] if initial is None else initial
                self._ever[resource][key[0]][meta["uid"]] = body
                if kind == "DELETED":
                    target.pop(key, None)
                else:
                    target[key] = body
