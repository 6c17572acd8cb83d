"""Whatever the API server lets pass, deciding raises nothing, and what is decided can be written and sent."""

from datetime import timedelta

from hypothesis import given
from hypothesis import strategies as st

from kubedl.api.model import MODEL_VERSIONS, BuildProgress, ModelStatus, ModelVersion, ModelVersionStatus
from kubedl.kube import codec
from kubedl.kube.types.core import Pod
from kubedl.models import build_pod
from kubedl.models.model_controller import summary
from kubedl.models.version_plan import LONGEST_PAUSE, PATIENCE, Observed, plan
from tests.hypothesis_settings import tried
from tests.training_builders import NOW
from tests.unit.training import documents

METADATA = st.fixed_dictionaries(
    {"name": st.just("poison"), "namespace": st.just("team"), "uid": st.just("uid-1")},
    optional={
        "deletionTimestamp": documents.MOMENTS,
        "creationTimestamp": documents.MOMENTS,
        "labels": st.dictionaries(st.just(build_pod.ATTEMPT), documents.WORDS),
    },
)
KNOWN = {
    "metadata": METADATA,
    "modelName": st.sampled_from(["resnet", "", "X"]),
    "imageRepo": st.sampled_from(["hub/resnet", "h:5000/a/b", "", "a:b"]),
    "path": st.sampled_from(["/models", "/a/../b", "x", "/"]),
    "parent": st.just(""),
    "imageTag": st.sampled_from(["", "v1", "-"]),
}


def versions() -> st.SearchStrategy[ModelVersion]:
    """Any version that can be read."""
    drawn = documents.accepted_by(ModelVersion, **KNOWN)
    return drawn.map(lambda document: MODEL_VERSIONS.decoder.decode(codec.encode(document)))


def pods() -> st.SearchStrategy[Pod]:
    """Any pod that can be read."""
    answers = documents.WORDS | st.sampled_from(
        ['{"digest": "sha256:' + "a" * 64 + '"}', '{"reason": "TagConflict"}', '{"size": -9223372036854775808}', "[]"]
    )
    drawn = documents.accepted_by(
        Pod,
        metadata=METADATA,
        phase=st.sampled_from(["", "Pending", "Running", "Succeeded", "Failed"]),
        message=answers,
        name=st.sampled_from([build_pod.CONTAINER, "x"]),
        exitCode=st.sampled_from([0, 1, 2, 137]),
    )
    return drawn.map(lambda document: codec.decode(codec.encode(document), Pod))


@given(version=versions(), pod=st.none() | pods(), warning=documents.WORDS)
@tried(120)
def test_deciding_raises_nothing(version: ModelVersion, pod: Pod | None, warning: str) -> None:
    """Equal sights give equal decisions, no image is without a digest, and the pod can be sent."""
    observed = Observed(version, pod, NOW, BuildProgress(bytes_done=1), warning)
    decided = plan(observed)
    assert codec.decode(codec.encode(decided.status), ModelVersionStatus) == decided.status
    assert decided.again is None or timedelta() < decided.again <= max(LONGEST_PAUSE, PATIENCE)
    assert decided.create is None or not decided.delete
    assert decided.status.image in {version.status.image, f"{version.spec.image_repo}@sha256:{'a' * 64}"}
    assert plan(observed) == decided
    if decided.create is not None:
        assert version.spec.storage is not None
        codec.encode(build_pod.render(version, version.spec.storage, decided.create, build_pod.Packer("packer")))


@given(found=st.lists(versions(), max_size=3))
@tried(50)
def test_listing_raises_nothing(found: list[ModelVersion]) -> None:
    """And the list can be written."""
    status = summary(found)
    assert codec.decode(codec.encode(status), ModelStatus) == status
