"""Whatever the API server lets pass, deciding raises nothing, and what is decided can be written and sent."""

from datetime import timedelta
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from kubedl.api.inference import INFERENCES, Inference, InferenceStatus
from kubedl.api.model import MODEL_VERSIONS, ModelVersion
from kubedl.api.pod_template import TemplateError
from kubedl.serving import autoscaling, deployment, rollout, traffic
from kubedl.serving.arrangement import advanced, arrange, backends, replicas
from kubedl.serving.explanation import cannot_mount
from kubedl.serving.loading import Program
from kubedl.serving.objects import CANDIDATE, STABLE, Deployment, EndpointSlice, ready_endpoints
from kubedl.serving.outcome import Outcome
from kubedl.serving.sight import Sight, Trouble
from kubedl.serving.status import Place, stated
from kubedl.serving.traffic import HTTPRoute
from kubedl.serving.verdict import GOOD, Verdict
from kubedl.wire import codec
from kubedl.wire.core import Pod, Service
from tests.properties import tried
from tests.training_builders import NOW
from tests.unit.serving.inferences import DIGEST, GATEWAY, NAME, UID
from tests.unit.training import documents

NAMES = st.sampled_from(["a", "b", "v1", "v2"])
METADATA = st.fixed_dictionaries(
    {"name": st.just(NAME), "namespace": st.just("team"), "uid": st.just(UID)},
    optional={
        "generation": st.integers(0, 3),
        "annotations": st.dictionaries(
            st.sampled_from([rollout.ANNOTATION, traffic.SINCE, deployment.MODEL_VERSION]),
            documents.WORDS | st.sampled_from([*rollout.WORDS, "v1", "9999-12-31T23:59:59+00:00", "0001-01-01"]),
        ),
        "labels": st.dictionaries(
            st.sampled_from(["serving.kubedl.io/predictor", "serving.kubedl.io/track"]), NAMES | st.just("stable")
        ),
    },
)
TEMPLATES = st.just({"spec": {"containers": [{"name": "server"}]}}) | st.fixed_dictionaries(
    {
        "spec": st.fixed_dictionaries(
            {
                "containers": st.lists(
                    st.dictionaries(st.sampled_from(["name", "args", "env", "ports"]), documents.ANYTHING)
                )
            }
        )
    }
)
KNOWN: dict[str, Any] = {
    "metadata": METADATA,
    "template": TEMPLATES,
    "modelVersion": NAMES | st.just(""),
    "stable": NAMES | st.just(""),
    "candidate": NAMES | st.just(""),
    "name": st.just("a"),
    "steps": st.just([{"weight": 10, "pause": 60}, {"weight": 20}]),
    "since": documents.MOMENTS | st.sampled_from(["9999-12-31T23:59:59Z", "0001-01-01T00:00:00Z"]),
    "errorRate": st.floats(0, 100),
    "image": st.just(f"hub/m@{DIGEST}") | documents.WORDS,
}


def drawn(kind: type[Any], **known: Any) -> st.SearchStrategy[Any]:  # noqa: ANN401 - strategies
    """Any object of a kind that can be read."""
    accepted = documents.accepted_by(kind, **{**KNOWN, **known})
    return accepted.map(lambda document: codec.decode(codec.encode(document), kind))


SIGHTS = st.builds(
    Sight,
    inference=documents.accepted_by(Inference, **KNOWN).map(lambda one: INFERENCES.decoder.decode(codec.encode(one))),
    now=st.just(NOW),
    versions=st.dictionaries(
        NAMES,
        documents.accepted_by(ModelVersion, **KNOWN).map(lambda one: MODEL_VERSIONS.decoder.decode(codec.encode(one))),
        max_size=2,
    ),
    deployments=st.dictionaries(st.sampled_from([f"{NAME}-a", f"{NAME}-a-next"]), drawn(Deployment), max_size=2),
    services=st.dictionaries(st.sampled_from([f"{NAME}-a", f"{NAME}-a-next"]), drawn(Service), max_size=2),
    endpoints=st.lists(drawn(EndpointSlice), max_size=2).map(ready_endpoints),
    pods=st.lists(drawn(Pod), max_size=2).map(tuple),
    scalers=st.just(()),
    route=st.none() | drawn(HTTPRoute),
    gateway=st.sampled_from([GATEWAY, Trouble("NoGateway", "none")]),
)


@given(sight=SIGHTS, ready=st.booleans())
@tried(400)
def test_deciding_raises_nothing(sight: Sight, ready: bool) -> None:
    """Shares are a hundred or nothing, moments lie ahead, and all that is made can be sent."""
    arrangements = []
    for predictor in sight.inference.spec.predictors:
        before = arrange(sight, predictor)
        after = advanced(sight, before, GOOD if ready else Verdict("Unknown"))
        assert (rollout.until_next(after.plan, after.state, NOW) or timedelta()) >= timedelta()
        for track in (STABLE, CANDIDATE):
            replicas(sight, after, track)
        for servers in (after.stable, after.candidate):
            if servers is not None:
                _sendable(servers)
        made = autoscaling.scaler(sight.inference, predictor)
        codec.encode(made[1] if made is not None else {})
        arrangements.append(after)
    ends = [end for one in arrangements for end in backends(sight, one)]
    assert sum(traffic.effective(ends).values()) in (0, 100)
    codec.encode(traffic.route(NAME, "team", "host", GATEWAY, ends, {}, found=sight.route, now=NOW))
    assert (traffic.until_left(sight.route, f"{NAME}-a", NOW) or timedelta()) >= timedelta()
    assert cannot_mount(sight.pods) in (True, False)
    status = stated(sight, arrangements, Outcome(), Place())
    assert codec.decode(codec.encode(status), InferenceStatus) == status


def _sendable(servers: deployment.Servers) -> None:
    try:
        codec.encode(deployment.pod(deployment.deployment(servers, "InitCopy", Program("packer"))))
        codec.encode(deployment.service(servers))
    except TemplateError:
        pass
