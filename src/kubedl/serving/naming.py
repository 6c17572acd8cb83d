"""Names and labels of the objects of an Inference.

All have the uid of the Inference as a label, so that those of an earlier Inference with the same name are not mistaken
for its own, and the Inference as controller, so that they are garbage-collected with it.
"""

from collections.abc import Iterable

from kubedl.api.inference import GROUP, NEXT, Inference
from kubedl.kube.types.meta import Object, ObjectKey

INFERENCE = f"{GROUP}/inference"  # label keys
INFERENCE_UID = f"{GROUP}/inference-uid"
PREDICTOR = f"{GROUP}/predictor"
TRACK = f"{GROUP}/track"
APPLIED = f"{GROUP}/applied"  # annotation: digest of the last applied object
STABLE, CANDIDATE = "stable", "candidate"
# Labels of KubeDL 0.5, for users' selectors and dashboards.
FORMER_INFERENCE, FORMER_PREDICTOR = "kubedl.io/inference-name", "kubedl.io/predictor-name"

HTTP, GRPC = 8080, 9000  # ports of every predictor's Service


def predictor_name(inference: Inference, predictor: str, track: str = STABLE) -> str:
    """Return the name of all objects of a predictor."""
    return name_of(inference.metadata.name, predictor, track)


def name_of(inference: str, predictor: str, track: str = STABLE) -> str:
    """Return the name of all objects of a predictor, by the name of its Inference."""
    return f"{inference}-{predictor}{NEXT if track == CANDIDATE else ''}"


def predictor_labels(inference: Inference, predictor: str, track: str = STABLE) -> dict[str, str]:
    """Return the selector labels."""
    meta = inference.metadata
    return {
        INFERENCE: meta.name,
        INFERENCE_UID: meta.uid,
        PREDICTOR: predictor,
        TRACK: track,
        FORMER_INFERENCE: meta.name,
        FORMER_PREDICTOR: predictor,
    }


def identity(namespace: str, uid: str) -> str:
    """Return the index value of an Inference: with the namespace, since any user can write any uid into a label."""
    return f"{namespace}/{uid}"


def labelled(obj: Object) -> str | None:
    """Return the index value of objects that others create for it (pods, endpoints), from its label."""
    uid = obj.metadata.labels.get(INFERENCE_UID)
    return identity(obj.metadata.namespace, uid) if uid else None


def inference_of(obj: Object) -> Iterable[ObjectKey]:
    """Return the key of the Inference of an object, from its label."""
    name = obj.metadata.labels.get(INFERENCE)
    if name:
        yield ObjectKey(obj.metadata.namespace, name)
