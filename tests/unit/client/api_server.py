"""A stand-in API server with jobs, pods, watches and logs, in threads, for the client that has no event loop."""

import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from email.message import Message
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from harness.fakes.api_server import merged

Object = dict[str, Any]
GROUP = "/apis/training.kubedl.io/v1alpha1"
KINDS = {"pytorchjobs": "PyTorchJob", "tfjobs": "TFJob"}
NOT_FOUND = {"kind": "Status", "reason": "NotFound", "code": 404, "message": "not found"}
COLUMNS = ("Name", "State", "Ready", "Restarts", "Reason", "Model-Version", "GPUs", "Age")


@dataclass(frozen=True)
class Call:
    """A request as it arrived."""

    method: str
    path: str
    query: dict[str, str]
    headers: Message
    body: Any


@dataclass
class ApiServer:
    """What it serves, and what it was asked."""

    objects: dict[str, Object] = field(default_factory=dict)  # path → object
    logs: dict[str, list[Any]] = field(default_factory=dict)  # pod → answers in turn: texts, or functions that write
    refusals: dict[str, tuple[int, Object]] = field(default_factory=dict)  # "METHOD path" → status and body
    calls: list[Call] = field(default_factory=list)
    version: int = 1
    url: str = ""
    events: list[tuple[int, str, str, Object]] = field(default_factory=list)  # version, type, path, object
    changed: threading.Condition = field(default_factory=threading.Condition)
    closing: bool = False
    user: str = "alice"  # who asks

    def put(self, path: str, value: Object, kind: str = "") -> None:
        """Create or change an object; watches are told."""
        with self.changed:
            self.version += 1
            metadata = value.setdefault("metadata", {})
            metadata |= {"resourceVersion": str(self.version), "name": path.rpartition("/")[2]}
            metadata.setdefault("uid", f"uid-{metadata['name']}")
            metadata.setdefault("creationTimestamp", "2026-01-01T00:00:00Z")
            metadata.setdefault("namespace", path.partition("/namespaces/")[2].partition("/")[0])
            known = "MODIFIED" if path in self.objects else "ADDED"
            self.objects[path] = value
            self.events.append((self.version, known, path, json.loads(json.dumps(value))))
            self.changed.notify_all()

    def job(self, name: str, plural: str = "pytorchjobs", namespace: str = "team", **parts: Any) -> str:  # noqa: ANN401
        """Put a job; returns its path."""
        path = f"{GROUP}/namespaces/{namespace}/{plural}/{name}"
        spec = parts.pop("spec", {})
        metadata = parts.pop("metadata", {})
        status = parts.pop("status", {})
        value = {"apiVersion": GROUP[6:], "kind": KINDS[plural], "metadata": metadata, "spec": spec, "status": status}
        self.put(path, value)
        return path

    def pod(self, job: str, role: str, index: int, **status: Any) -> str:  # noqa: ANN401
        """Put a pod of a job; returns its path."""
        name = f"{job}-{role}-{index}"
        path = f"/api/v1/namespaces/team/pods/{name}"
        labels = {"job-name": job, "job-uid": f"uid-{job}", "replica-type": role, "replica-index": str(index)}
        owner = {"apiVersion": GROUP[6:], "kind": "PyTorchJob", "name": job, "uid": f"uid-{job}", "controller": True}
        meta = {"labels": {f"training.kubedl.io/{k}": v for k, v in labels.items()}, "ownerReferences": [owner]}
        spec = {"containers": [{"name": "pytorch"}], "nodeName": f"node-{index}"}
        self.put(path, {"metadata": meta, "spec": spec, "status": status})
        return path

    def delete(self, path: str) -> None:
        """Delete an object; watches are told."""
        with self.changed:
            self.version += 1
            self.events.append((self.version, "DELETED", path, self.objects.pop(path)))
            self.changed.notify_all()


def running(restarts: int = 0, **parts: object) -> Object:
    """The status of a pod that runs."""
    state = {"name": "pytorch", "restartCount": restarts, "state": {"running": {}}, "ready": True, **parts}
    return {"phase": "Running", "containerStatuses": [state], "conditions": [{"type": "Ready", "status": "True"}]}


def ended(code: int, when: str = "2026-01-01T00:10:00Z", reason: str = "Error") -> Object:
    """The status of a pod that has ended."""
    state = {"terminated": {"exitCode": code, "reason": "Completed" if code == 0 else reason, "finishedAt": when}}
    return {"phase": "Failed" if code else "Succeeded", "containerStatuses": [{"name": "pytorch", "state": state}]}


@contextmanager
def serving(api: ApiServer) -> Iterator[ApiServer]:
    """Serve until the end of the block."""

    class Handler(_Handler):
        served = api

    server = _Server(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    api.url = f"http://127.0.0.1:{server.server_port}"
    try:
        yield api
    finally:
        with api.changed:
            api.closing = True
            api.changed.notify_all()
        server.shutdown()
        thread.join()
        server.server_close()


class _Server(ThreadingHTTPServer):
    def handle_error(self, request: object, client_address: object) -> None:
        """Say nothing: a client may leave when it has what it wanted."""


class _Handler(BaseHTTPRequestHandler):
    served: ApiServer
    protocol_version = "HTTP/1.1"
    wbufsize = -1  # head and body in one packet

    def log_message(self, *_: object) -> None:
        """Say nothing."""

    def do_GET(self) -> None:
        self._handle()

    def do_POST(self) -> None:
        self._handle()

    def do_DELETE(self) -> None:
        self._handle()

    def do_PATCH(self) -> None:
        self._handle()

    def do_PUT(self) -> None:
        self._handle()

    def _handle(self) -> None:
        address = urlsplit(self.path)
        query = dict(parse_qsl(address.query))
        length = int(self.headers.get("Content-Length") or 0)
        body: Any = json.loads(self.rfile.read(length)) if length else None
        api = self.served
        api.calls.append(Call(self.command, address.path, query, self.headers, body))
        refusal = api.refusals.get(f"{self.command} {address.path}")
        if refusal is not None:
            self._answer(*refusal)
        elif address.path == GROUP:
            kinds = [{"name": plural, "kind": kind, "namespaced": True} for plural, kind in KINDS.items()]
            self._answer(200, {"resources": [*kinds, {"name": "tfjobs/status", "kind": "TFJob", "namespaced": True}]})
        elif address.path.endswith("/selfsubjectreviews"):
            self._answer(201, {"status": {"userInfo": {"username": api.user, "groups": ["team"]}}})
        elif address.path.endswith("/log"):
            self._log(address.path.split("/")[-2])
        else:
            self._objects(address.path, query, body)

    def _objects(self, path: str, query: dict[str, str], body: Any) -> None:  # noqa: ANN401 - JSON
        if query.get("watch"):
            self._watch(path, query)
        elif self.command == "POST":
            self._create(path, body, dry_run=query.get("dryRun") == "All")
        elif self.command == "PATCH":
            self._patch(path, query, body)
        elif path in self.served.objects and self.command == "PUT":
            self.served.put(path, body)
            self._answer(200, self.served.objects[path])
        elif path in self.served.objects:
            self._one(path)
        elif self._is_collection(path):
            self._list(path, query)
        else:
            self._answer(404, NOT_FOUND)

    def _one(self, path: str) -> None:
        api = self.served
        if self.command == "DELETE":
            api.delete(path)
            self._answer(200, {"kind": "Status", "status": "Success"})
        else:
            self._answer(200, api.objects[path])

    def _is_collection(self, path: str) -> bool:
        last, always = path.rpartition("/")[2], (*KINDS, "pods", "events", "configmaps", "crons", "inferences")
        return last in always or any(f"/{last}/" in place for place in self.served.objects)

    def _create(self, path: str, body: Any, *, dry_run: bool) -> None:  # noqa: ANN401 - JSON
        place = f"{path}/{body['metadata']['name']}"
        if place in self.served.objects:
            self._answer(409, {"kind": "Status", "reason": "AlreadyExists", "code": 409, "message": "already exists"})
        elif dry_run:
            self._answer(201, merged(body, {"metadata": {"namespace": path.split("/")[-2], "uid": "dry"}}))
        else:
            self.served.put(place, body)
            self._answer(201, body)

    def _patch(self, path: str, query: dict[str, str], body: Any) -> None:  # noqa: ANN401 - JSON
        """Change an object; a server-side apply creates it too. There are no managers of fields."""
        if path not in self.served.objects and "apply-patch" not in self.headers.get("Content-Type", ""):
            self._answer(404, NOT_FOUND)
            return
        changed = merged(self.served.objects.get(path, {}), body)
        if "dryRun" not in query:
            self.served.put(path, changed)
        self._answer(200, changed)

    def _selected(self, path: str, query: dict[str, str]) -> Callable[[str, Object], bool]:
        collection = path.rpartition("/")[2]
        prefix = path.partition("/namespaces/")
        name = query.get("fieldSelector", "").partition("metadata.name=")[2]

        def is_selected(place: str, value: Object) -> bool:
            if f"/{collection}/" not in place or (prefix[1] and not place.startswith(f"{path}/")):
                return False
            labels = value["metadata"].get("labels") or {}
            wanted = [pair.partition("=") for pair in query.get("labelSelector", "").split(",") if pair]
            has = all(labels.get(key) == text if sign else key in labels for key, sign, text in wanted)
            return (not name or place.endswith(f"/{name}")) and has

        return is_selected

    def _list(self, path: str, query: dict[str, str]) -> None:
        is_selected = self._selected(path, query)
        with self.served.changed:
            found = [value for place, value in self.served.objects.items() if is_selected(place, value)]
            version = str(self.served.version)
        if "as=Table" in self.headers.get("Accept", ""):
            self._table(path, found, query, version)
        else:
            self._answer(200, {"items": found, "metadata": {"resourceVersion": version}})

    def _table(self, path: str, found: list[Object], query: dict[str, str], version: str) -> None:
        start, size = int(query.get("continue") or 0), int(query.get("limit") or 500)
        more = {"continue": str(start + size)} if start + size < len(found) else {}
        table = _table(path, found[start : start + size])
        self._answer(200, {**table, "metadata": {"resourceVersion": version, **more}})

    def _watch(self, path: str, query: dict[str, str]) -> None:
        is_selected, seen = self._selected(path, query), int(query["resourceVersion"])
        self._begin()
        api = self.served
        while True:
            with api.changed:
                news = [event for event in api.events if event[0] > seen]
                if api.closing:
                    break
                if not news:
                    api.changed.wait(1)
                    continue
            for version, kind, place, value in news:
                seen = version
                if is_selected(place, value):
                    sent = _table(path, [value]) if "as=Table" in self.headers.get("Accept", "") else value
                    self._chunk(json.dumps({"type": kind, "object": sent}).encode() + b"\n")
        self._chunk(b"")

    def _log(self, pod: str) -> None:
        answers = self.served.logs.get(pod, [])
        answer = answers.pop(0) if len(answers) > 1 else answers[0] if answers else ""
        self._begin()
        try:
            if callable(answer):
                answer(self._chunk)
            else:
                self._chunk(str(answer).encode())
            self._chunk(b"")
        except ConnectionAbortedError:
            return  # without the end of the body

    def _begin(self) -> None:
        self.send_response(200)
        self.send_header("Transfer-Encoding", "chunked")
        self.send_header("Connection", "close")
        self.end_headers()
        self.wfile.flush()
        self.close_connection = True

    def _chunk(self, data: bytes) -> None:
        try:
            self.wfile.write(f"{len(data):x}\r\n".encode() + data + b"\r\n")
            self.wfile.flush()
        except OSError:
            return

    def _answer(self, status: int, body: Object) -> None:
        data = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)


def _table(path: str, page: list[Object]) -> Object:
    of_pods = path.endswith("/pods")
    columns = [{"name": name} for name in (("Name", "Node") if of_pods else COLUMNS)]
    rows = [
        {
            "cells": [value["metadata"]["name"], value["spec"].get("nodeName")] if of_pods else _cells(value),
            "object": {"metadata": value["metadata"]},
        }
        for value in page
    ]
    return {"kind": "Table", "columnDefinitions": columns, "rows": rows}


def _cells(value: Object) -> list[Any]:
    status = value.get("status") or {}
    found = [status.get(name) for name in ("state", "ready", "restarts", "message", "modelVersionName", "gpus")]
    return [value["metadata"]["name"], *found, "5m"]


def until(what: str, true: Callable[[], bool], seconds: float = 60) -> None:
    """Wait for a condition."""
    deadline = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < deadline, f"no {what} after {seconds} s"
        time.sleep(0.005)
