"""What the console sends and reads about jobs that people submit."""

from collections.abc import Sequence

import msgspec

from kubedl.console.wire_base import Wire


class RoleRow(Wire, frozen=True):
    """A role of a kind of jobs."""

    name: str
    required: bool
    at_most: int | None


class KindRow(Wire, frozen=True):
    """A kind of jobs, as a form needs it."""

    kind: str
    api_version: str
    replicas_field: str  # of the spec: pytorchReplicaSpecs
    container: str  # the name of the main container
    roles: Sequence[RoleRow]


class KindList(Wire, frozen=True):
    """The kinds of jobs."""

    rows: Sequence[KindRow]


class Manifest(Wire, frozen=True):
    """An object as people write it."""

    json: str  # of the whole object: browsers have no reader of YAML


class ManifestText(msgspec.Struct, frozen=True):
    """The body of what is done with a text: YAML or JSON."""

    text: str
