"""Whatever the API server lets pass, deciding raises nothing, and what is decided can be written."""

from datetime import timedelta
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from kubedl.api.cache import CACHE_BACKENDS, CacheBackendStatus
from kubedl.cache import fluid
from kubedl.cache.plan import LONGEST_SLEEP, Sight, decide
from kubedl.wire import codec
from kubedl.wire.meta import Resource
from tests.properties import tried
from tests.training_builders import NOW
from tests.unit.cache.backends import NAME
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


def of(resource: Resource[Any]) -> documents.Documents:
    """Any object of a kind that can be read."""
    phases = st.sampled_from(["", "Bound", "Failed", "x"])
    drawn = documents.accepted_by(resource.type, metadata=METADATA, phase=phases)
    return drawn.map(lambda document: resource.decoder.decode(codec.encode(document)))


@given(data=st.data())
@tried(200)
def test_deciding_raises_nothing(data: st.DataObject) -> None:
    """And equal sights give equal decisions."""
    sight = Sight(
        backend=data.draw(of(CACHE_BACKENDS)),
        users=(),
        dataset=data.draw(st.none() | of(fluid.DATASETS)),
        runtime=data.draw(st.none() | of(fluid.ALLUXIO)),
        claim=data.draw(st.none() | of(fluid.CLAIMS)),
        installed=data.draw(st.booleans()),
        now=NOW,
    )
    decided = decide(sight)
    assert codec.decode(codec.encode(decided.status), CacheBackendStatus) == decided.status
    assert decided.again is None or timedelta() < decided.again <= LONGEST_SLEEP
    assert not (decided.delete and decided.creations)
    assert decide(sight) == decided
