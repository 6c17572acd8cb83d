"""What we write is valid under the schema that we generate, for every value: codec and schema read the same structs."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import inspect

from kubedl.api.cachebackend import CacheBackendSpec, CacheBackendStatus
from kubedl.api.model import ModelSpec, ModelStatus, ModelVersionSpec, ModelVersionStatus
from kubedl.api.replica_spec import ReplicaSpec
from kubedl.api.training import JobSpec, JobStatus
from kubedl.kube import codec
from kubedl.schema.structural import schema_of
from tests.hypothesis_settings import tried
from tests.unit.schema.openapi import complaints, values_of

STRUCTS: list[type[Any]] = [
    JobSpec,
    JobStatus,
    ReplicaSpec,
    CacheBackendSpec,
    CacheBackendStatus,
    ModelSpec,
    ModelStatus,
    ModelVersionSpec,
    ModelVersionStatus,
]
# Made once for all examples: to make them takes longer than to draw.
SCHEMAS = {kind: schema_of(kind, defaults=True) for kind in STRUCTS}
VALUES = {kind: values_of(inspect.type_info(kind)) for kind in STRUCTS}


@pytest.mark.parametrize("kind", STRUCTS, ids=lambda kind: kind.__name__)
@given(data=st.data())
@tried(40)
def test_every_value_is_valid_and_comes_back(kind: type[Any], data: st.DataObject) -> None:
    """Nothing is refused or dropped by the API server, and reading gives what was written."""
    value = data.draw(VALUES[kind])
    written = codec.plain(value)
    assert complaints(SCHEMAS[kind], written) == []
    assert codec.decode(codec.encode(value), kind) == value


@pytest.mark.parametrize(
    ("kind", "written", "complaint"),
    [
        (JobSpec, {"suspend": "yes"}, ".suspend: 'yes' is no boolean"),
        (JobSpec, {"backoffLimit": -1}, ".backoffLimit: -1 breaks minimum 0"),
        (JobSpec, {"restartScope": "Pod"}, ".restartScope: 'Pod' breaks enum ['Job', 'Replica']"),
        (JobSpec, {"new": 1}, ".new: unknown, so the API server drops it"),
        (ReplicaSpec, {"template": {"spec": {"containers": []}}}, ".template.spec.containers: [] breaks minItems 1"),
        (ReplicaSpec, {"replicas": 1}, ": {'replicas': 1} breaks required ['template']"),
        (JobStatus, {"startTime": 5}, ".startTime: 5 is no string"),
    ],
)
def test_the_judge_is_awake(kind: type[Any], written: dict[str, object], complaint: str) -> None:
    """Values that break the schema are found, or the test above would show nothing."""
    assert complaints(SCHEMAS[kind], written) == [complaint]
