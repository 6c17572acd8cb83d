"""Whatever the API server lets pass, deciding raises nothing, and what is decided can be written and sent."""

from datetime import timedelta
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from kubedl.api.inference import INFERENCES, Inference, InferenceStatus
from kubedl.api.model import MODEL_VERSIONS, ModelVersion
from kubedl.kube import codec
from kubedl.kube.types.apps import Deployment
from kubedl.kube.types.core import Pod, Service
from kubedl.kube.types.discovery import EndpointSlice, ready_endpoints
from kubedl.podspec.template import TemplateError
from kubedl.serving import routing
from kubedl.serving.apply_result import ApplyResult
from kubedl.serving.naming import CANDIDATE, STABLE
from kubedl.serving.observed import Observed, Problem
from kubedl.serving.pod_diagnostics import cannot_mount
from kubedl.serving.predictor_plan import backends, before_rollout, replicas, with_rollout
from kubedl.serving.rollout import commands, state_machine
from kubedl.serving.rollout.analysis import GOOD, AnalysisResult
from kubedl.serving.routing import HTTPRoute
from kubedl.serving.status import Endpoints, build_status
from kubedl.serving.workload import autoscaling, deployment
from kubedl.serving.workload.model_init_container import Program
from tests.hypothesis_settings import tried
from tests.training_builders import NOW
from tests.unit.serving.inferences import DIGEST, GATEWAY, NAME, UID
from tests.unit.training import documents

NAMES = st.sampled_from(["a", "b", "v1", "v2"])
METADATA = st.fixed_dictionaries(
    {"name": st.just(NAME), "namespace": st.just("team"), "uid": st.just(UID)},
    optional={
        "generation": st.integers(0, 3),
        "annotations": st.dictionaries(
            st.sampled_from([commands.ANNOTATION, routing.SINCE, deployment.MODEL_VERSION]),
            documents.WORDS | st.sampled_from([*commands.COMMANDS, "v1", "9999-12-31T23:59:59+00:00", "0001-01-01"]),
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
    Observed,
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
    gateway=st.sampled_from([GATEWAY, Problem("NoGateway", "none")]),
)


@given(observed=SIGHTS, ready=st.booleans())
@tried(40)
def test_deciding_raises_nothing(observed: Observed, ready: bool) -> None:
    """Shares are a hundred or nothing, moments lie ahead, and all that is made can be sent."""
    predictor_plans = []
    for predictor in observed.inference.spec.predictors:
        before = before_rollout(observed, predictor)
        after = with_rollout(observed, before, GOOD if ready else AnalysisResult("Unknown"))
        assert (state_machine.until_next(after.plan, after.state, NOW) or timedelta()) >= timedelta()
        for track in (STABLE, CANDIDATE):
            replicas(observed, after, track)
        for servers in (after.stable, after.candidate):
            if servers is not None:
                _sendable(servers)
        made = autoscaling.scaler(observed.inference, predictor)
        codec.encode(made[1] if made is not None else {})
        predictor_plans.append(after)
    ends = [end for one in predictor_plans for end in backends(observed, one)]
    assert sum(routing.effective(ends).values()) in (0, 100)
    codec.encode(routing.route(NAME, "team", "host", GATEWAY, ends, {}, current=observed.route, now=NOW))
    assert (routing.until_left(observed.route, f"{NAME}-a", NOW) or timedelta()) >= timedelta()
    assert cannot_mount(observed.pods) in (True, False)
    status = build_status(observed, predictor_plans, ApplyResult(), Endpoints())
    assert codec.decode(codec.encode(status), InferenceStatus) == status


def _sendable(servers: deployment.PredictorWorkload) -> None:
    try:
        codec.encode(deployment.pod(deployment.deployment(servers, "InitCopy", Program("packer"))))
        codec.encode(deployment.service(servers))
    except TemplateError:
        pass
