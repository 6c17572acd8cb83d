"""An HTTP server that sends a stream of jobs as the watches of an API server: events at a rate, each at its time.

    python -m proofs.history.watch_server --jobs 10000 --pods 10 --start 2026-11-17T12:00:00+00:00 --rate 1000

Prints its port, and when all watches of jobs and pods are open, the monotonic time at which event 0 is due. Every event
is sent to the watch of its resource. A watch cannot be opened twice: who loses one has failed.
"""

import argparse
import asyncio
import json
import sys
import time
from collections.abc import AsyncIterator
from datetime import datetime

from aiohttp import web

from kubedl.kube import codec
from proofs.history.job_stream import GROUP, JOBS, NODES, PODS, Stream

TICK = 0.01  # seconds between two portions of a watch
BOOKMARKS = 30.0
BEFORE = 1.0  # seconds from the opening of the watches to the first event


class WatchServer:
    """The server of one stream."""

    def __init__(self, stream: Stream, rate: float) -> None:
        self._stream, self._rate = stream, rate
        self._queues: dict[str, asyncio.Queue[bytes]] = {JOBS: asyncio.Queue(), PODS: asyncio.Queue()}
        self._opened: set[str] = set()
        self._all_open = asyncio.Event()

    async def run(self) -> None:
        """Serve until killed."""
        application = web.Application()
        application.router.add_get("/apis/{group}/{version}", self._discovery)
        application.router.add_get("/api/v1/{resource}", self._watch)
        application.router.add_get("/apis/{group}/{version}/{resource}", self._watch)
        runner = web.AppRunner(application, access_log=None)
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        _say({"port": runner.addresses[0][1]})
        await self._all_open.wait()
        began = time.monotonic() + BEFORE
        _say({"began": began})
        await self._send(began)
        _say({"sent": time.monotonic() - began})
        await asyncio.Event().wait()

    async def _send(self, began: float) -> None:
        portions: dict[str, list[bytes]] = {JOBS: [], PODS: []}
        for event in self._stream.events():
            portions[event.resource].append(event.line)
            if event.number % max(1, int(self._rate * TICK)) == 0:
                self._flush(portions)
                await asyncio.sleep(max(0.0, began + event.number / self._rate - time.monotonic()))
        self._flush(portions)

    def _flush(self, portions: dict[str, list[bytes]]) -> None:
        for resource, lines in portions.items():
            if lines:
                self._queues[resource].put_nowait(b"".join(lines))
                lines.clear()

    async def _discovery(self, request: web.Request) -> web.Response:
        if request.match_info["group"] != GROUP:
            return web.json_response({"kind": "Status", "code": 404, "reason": "NotFound"}, status=404)
        return web.json_response({"resources": [{"name": JOBS}]})

    async def _watch(self, request: web.Request) -> web.StreamResponse:
        resource = request.match_info["resource"]
        if resource in self._opened:
            raise AssertionError(f"the watch of {resource} was opened again")
        self._opened.add(resource)
        response = web.StreamResponse(headers={"Content-Type": "application/json"})
        await response.prepare(request)
        for node in self._stream.nodes() if resource == NODES else []:
            body = {**node, "metadata": {**node["metadata"], "resourceVersion": "0"}}
            await response.write(codec.encode({"type": "ADDED", "object": body}) + b"\n")
        await response.write(bookmark("true"))
        if self._queues.keys() <= self._opened:
            self._all_open.set()
        async for part in self._parts(resource):
            await response.write(part)
        return response

    async def _parts(self, resource: str) -> AsyncIterator[bytes]:
        while True:
            if resource not in self._queues:
                await asyncio.sleep(BOOKMARKS)
                yield bookmark("false")
                continue
            yield await self._queues[resource].get()


def bookmark(ends_initial_events: str) -> bytes:
    """Return a line without an object; "true" if it follows the objects that exist at the start."""
    metadata = {"resourceVersion": "0", "annotations": {"k8s.io/initial-events-end": ends_initial_events}}
    return codec.encode({"type": "BOOKMARK", "object": {"metadata": metadata}}) + b"\n"


def _say(message: dict[str, float]) -> None:
    print(json.dumps(message), flush=True)


def main() -> int:
    """Serve one stream."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--jobs", type=int, required=True)
    parser.add_argument("--pods", type=int, required=True)
    parser.add_argument("--start", type=datetime.fromisoformat, required=True)
    parser.add_argument("--rate", type=float, required=True)
    given = parser.parse_args()
    asyncio.run(WatchServer(Stream(given.jobs, given.pods, given.start), given.rate).run())
    return 0


if __name__ == "__main__":
    sys.exit(main())
