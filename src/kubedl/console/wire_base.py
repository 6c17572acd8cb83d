"""What all answers of the console have in common."""

import msgspec


class Wire(msgspec.Struct, frozen=True, rename="camel", kw_only=True):
    """Base class of all answers. Every field is sent, so a browser never guesses a default."""


class FieldProblem(Wire, frozen=True):
    """What is wrong with one field of an object, as the API server says it."""

    field: str  # spec.pytorchReplicaSpecs.Worker.replicas
    message: str


class Missing(Wire, frozen=True):
    """A right that the caller would need to see a part."""

    verb: str
    resource: str
    namespace: str  # empty: in all of them
