"""Pods are replaced when something else is asked for, and not because another operator would render them otherwise.

An upgrade of the operator brings another loader image and other defaults. A model server that runs has no use for
them, and a large one takes long to start again. So a Deployment carries a digest of what its user asked for, and while
that is the same its pods are left as they are. New defaults come with the next change of the template, of the model
version or of another field that shapes pods.
"""

import hashlib
import json
from typing import Any

from kubedl.serving.deployment import ASKED, IMAGE, LOADER, MODEL_VERSION, Servers
from kubedl.serving.objects import Deployment
from kubedl.serving.sight import Sight
from kubedl.wire import codec

# What an earlier operator says of a predictor whose Deployment the API server did not take.
REFUSED = frozenset({"TemplateInvalid", "Invalid", "Forbidden", "NameTaken", "Refused"})


def asked(servers: Servers) -> str:
    """A digest of all that a user can change in a predictor's pods.

    What is empty or left at its default is left out: a field that a later version adds must not change the digest of
    an Inference that does not use it, or its servers would restart with the upgrade.
    """
    predictor, model = servers.predictor, servers.model
    wish: dict[str, Any] = {
        "framework": servers.inference.spec.framework,
        "template": predictor.template.json.decode(),  # the API server writes the same object in the same way
        "modelPath": predictor.model_path,
        "batching": codec.plain(predictor.batching),
        "loader": predictor.loader,
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


def is_asked_for(sight: Sight, servers: Servers, found: Deployment) -> bool:
    """Whether the pods of a Deployment are made of what is asked for now."""
    known = found.metadata.annotations.get(ASKED)
    return known == asked(servers) if known is not None else _was_made_for(sight, servers, found)


def _was_made_for(sight: Sight, servers: Servers, found: Deployment) -> bool:
    """The same of one without a digest: the operator that made it had seen the spec as it is, and was not refused."""
    notes, model, meta = found.metadata.annotations, servers.model, sight.inference.metadata
    version, image = (model.version, model.image) if model is not None else ("", "")
    if (notes.get(MODEL_VERSION, ""), notes.get(IMAGE, "")) != (version, image):
        return False
    if model is not None and servers.predictor.loader not in ("Auto", notes.get(LOADER)):
        return False
    said = sight.before(servers.predictor.name)
    seen = sight.inference.status.observed_generation == meta.generation
    return seen and said is not None and said.reason not in REFUSED
