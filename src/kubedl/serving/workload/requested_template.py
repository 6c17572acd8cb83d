"""Replaces pods when the user's request changes, and not when another operator version renders them differently.

An upgrade of the operator brings another loader image and other defaults. Running model servers do not need them, and
large ones take long to restart. So a Deployment has a digest of the user's request, and its pods are kept while the
digest is the same. New defaults apply with the next change of the template, the model version or another field of the
pods.
"""

import hashlib
import json
from typing import Any

from kubedl.api.kueue import queue_labels
from kubedl.kube import codec
from kubedl.kube.types.apps import Deployment
from kubedl.serving.observed import Observed
from kubedl.serving.workload.deployment import ASKED, IMAGE, LOADER, MODEL_VERSION, PredictorWorkload

# Reasons that an earlier operator set for a predictor whose Deployment was rejected.
REFUSED = frozenset({"TemplateInvalid", "Invalid", "Forbidden", "NameTaken", "Refused"})


def requested_digest(servers: PredictorWorkload) -> str:
    """Return a digest of all fields that a user can change in a predictor's pods.

    Empty and default values are omitted: a field added by a later version must not change the digest of Inferences that
    do not use it, or their servers would restart at the upgrade.
    """
    predictor, model = servers.predictor, servers.model
    wish: dict[str, Any] = {
        "framework": servers.inference.spec.framework,
        "template": predictor.template.json.decode(),  # the API server serialises an object deterministically
        "modelPath": predictor.model_path,
        "batching": codec.plain(predictor.batching),
        "loader": predictor.loader,
        "queue": queue_labels(servers.inference.metadata.labels) or None,
    }
    if model is not None:
        wish["model"] = {
            "name": model.name,
            "image": model.image,
            **({"insecure": True} if model.insecure else {}),
            **({"secret": model.secret} if model.secret else {}),
            **({"authority": model.authority} if model.authority else {}),
        }
    text = json.dumps({name: value for name, value in wish.items() if value is not None}, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def is_requested(observed: Observed, servers: PredictorWorkload, deployment: Deployment) -> bool:
    """Return whether the pods of a Deployment match the current request."""
    known = deployment.metadata.annotations.get(ASKED)
    return known == requested_digest(servers) if known is not None else _was_made_for(observed, servers, deployment)


def _was_made_for(observed: Observed, servers: PredictorWorkload, deployment: Deployment) -> bool:
    """The same without a digest: the operator that created it had seen the current spec, without a rejection."""
    notes, model, meta = deployment.metadata.annotations, servers.model, observed.inference.metadata
    version, image = (model.version, model.image) if model is not None else ("", "")
    if (notes.get(MODEL_VERSION, ""), notes.get(IMAGE, "")) != (version, image):
        return False
    if model is not None and servers.predictor.loader not in ("Auto", notes.get(LOADER)):
        return False
    status = observed.before(servers.predictor.name)
    seen = observed.inference.status.observed_generation == meta.generation
    return seen and status is not None and status.reason not in REFUSED
