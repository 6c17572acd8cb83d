"""The proxy names a request as the API server names it."""

from typing import Any

import pytest

from testbed.faultproxy.request import ApiRequest, parse_request

POD: dict[str, Any] = {"version": "v1", "resource": "pods", "namespace": "team", "name": "web"}
JOBS: dict[str, Any] = {"group": "batch", "version": "v1", "resource": "jobs"}


@pytest.mark.parametrize(
    ("method", "target", "expected"),
    [
        ("GET", "/api/v1/namespaces/team/pods/web", ApiRequest(verb="get", **POD)),
        ("HEAD", "/api/v1/namespaces/team/pods/web", ApiRequest(verb="get", **POD)),
        ("PUT", "/api/v1/namespaces/team/pods/web", ApiRequest(verb="update", **POD)),
        ("PATCH", "/api/v1/namespaces/team/pods/web?force=true", ApiRequest(verb="patch", **POD)),
        ("DELETE", "/api/v1/namespaces/team/pods/web", ApiRequest(verb="delete", **POD)),
        (
            "PATCH",
            "/api/v1/namespaces/team/pods/web/status",
            ApiRequest(verb="patch", subresource="status", **POD),
        ),
        (
            "POST",
            "/api/v1/namespaces/team/pods/web/eviction",
            ApiRequest(verb="create", subresource="eviction", **POD),
        ),
        (
            "GET",
            "/api/v1/namespaces/team/pods/web/log?follow=true",
            ApiRequest(verb="get", subresource="log", follows_log=True, **POD),
        ),
        (
            "GET",
            "/api/v1/namespaces/team/pods/web/log?follow=false",
            ApiRequest(verb="get", subresource="log", **POD),
        ),
        (
            "GET",
            "/api/v1/namespaces/team/pods/web/proxy/a/b",
            ApiRequest(verb="get", subresource="proxy", **POD),
        ),
        (
            "POST",
            "/apis/batch/v1/namespaces/team/jobs",
            ApiRequest(verb="create", namespace="team", **JOBS),
        ),
        (
            "DELETE",
            "/apis/batch/v1/namespaces/team/jobs",
            ApiRequest(verb="deletecollection", namespace="team", **JOBS),
        ),
        ("POST", "/apis/batch/v1/namespaces/team/jobs?dryRun=All", ApiRequest(verb="try", namespace="team", **JOBS)),
        ("GET", "/apis/batch/v1/jobs?dryRun=All", ApiRequest(verb="list", **JOBS)),
        ("GET", "/apis/batch/v1/jobs", ApiRequest(verb="list", **JOBS)),
        ("GET", "/apis/batch/v1/jobs?watch=false", ApiRequest(verb="list", **JOBS)),
        ("GET", "/apis/batch/v1/jobs?limit=5&watch=true", ApiRequest(verb="watch", **JOBS)),
        ("GET", "/apis/batch/v1/jobs?watch=1", ApiRequest(verb="watch", **JOBS)),
        ("GET", "/apis/batch/v1/jobs?watch", ApiRequest(verb="watch", **JOBS)),
        (
            "GET",
            "/apis/batch/v1/jobs?watch=true&fieldSelector=metadata.name%3Dtrain",
            ApiRequest(verb="watch", name="train", **JOBS),
        ),
        (
            "GET",
            "/apis/batch/v1/jobs?fieldSelector=metadata.name%21%3Dtrain",
            ApiRequest(verb="list", **JOBS),
        ),
        ("GET", "/api/v1/namespaces", ApiRequest(verb="list", version="v1", resource="namespaces")),
        (
            "DELETE",
            "/api/v1/namespaces/team",
            ApiRequest(verb="delete", version="v1", resource="namespaces", namespace="team", name="team"),
        ),
        (
            "PUT",
            "/api/v1/namespaces/team/finalize",
            ApiRequest(
                verb="update",
                version="v1",
                resource="namespaces",
                namespace="team",
                name="team",
                subresource="finalize",
            ),
        ),
        (
            "GET",
            "/apis/rbac.authorization.k8s.io/v1/clusterroles/system%3Anode",
            ApiRequest(
                verb="get",
                group="rbac.authorization.k8s.io",
                version="v1",
                resource="clusterroles",
                name="system:node",
            ),
        ),
        ("GET", "/version", ApiRequest(verb="get")),
        ("GET", "/apis/batch/v1", ApiRequest(verb="get")),
        ("GET", "/", ApiRequest(verb="get")),
    ],
)
def test_reads_method_and_target(method: str, target: str, expected: ApiRequest) -> None:
    assert parse_request(method, target) == expected


def test_watches_and_followed_logs_stream() -> None:
    assert parse_request("GET", "/api/v1/pods?watch=true").streams
    assert parse_request("GET", "/api/v1/namespaces/team/pods/web/log?follow=1").streams
    assert not parse_request("GET", "/api/v1/pods").streams
