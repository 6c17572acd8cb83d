"""Whatever the API server lets pass, deciding raises nothing, and what is decided can be written."""

from datetime import timedelta
from functools import cache
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from kubedl.api.cachebackend import CACHE_BACKENDS, CacheBackendStatus
from kubedl.datasets import fluid_objects
from kubedl.datasets.plan import LONGEST_SLEEP, Observed, plan
from kubedl.kube import codec
from kubedl.kube.types.meta import Resource
from tests.hypothesis_settings import tried
from tests.training_builders import NOW
from tests.unit.datasets.backends import NAME
from tests.unit.training import documents

METADATA = st.fixed_dictionaries(
    {"name": st.just(NAME), "namespace": st.just("team"), "uid": st.just("uid-data")},
    optional={
        "deletionTimestamp": documents.MOMENTS,
        "ownerReferences": st.sampled_from(["uid-data", "another"]).map(
            lambda uid: [{"apiVersion": "x", "kind": "x", "name": NAME, "uid": uid, "controller": True}]
        ),
    },
)


@cache  # to make them takes longer than to draw
def of(resource: Resource[Any]) -> documents.Documents:
    """Any object of a kind that can be read."""
    phases = st.sampled_from(["", "Bound", "Failed", "x"])
    drawn = documents.accepted_by(resource.type, metadata=METADATA, phase=phases)
    return drawn.map(lambda document: resource.decoder.decode(codec.encode(document)))


@given(data=st.data())
@tried(120)
def test_deciding_raises_nothing(data: st.DataObject) -> None:
    """And equal sights give equal decisions."""
    observed = Observed(
        backend=data.draw(of(CACHE_BACKENDS)),
        users=(),
        dataset=data.draw(st.none() | of(fluid_objects.DATASETS)),
        runtime=data.draw(st.none() | of(fluid_objects.ALLUXIO)),
        claim=data.draw(st.none() | of(fluid_objects.CLAIMS)),
        installed=data.draw(st.booleans()),
        now=NOW,
    )
    decided = plan(observed)
    assert codec.decode(codec.encode(decided.status), CacheBackendStatus) == decided.status
    assert decided.again is None or timedelta() < decided.again <= LONGEST_SLEEP
    assert not (decided.delete and decided.creations)
    assert plan(observed) == decided
