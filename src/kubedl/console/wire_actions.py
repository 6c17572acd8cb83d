"""What the console sends and reads about actions of a person."""

from collections.abc import Mapping, Sequence
from typing import Annotated

import msgspec

from kubedl.console.wire_base import Missing, Wire


class ActionRow(Wire, frozen=True):
    """Something that a person could do with an object."""

    name: str
    missing: Missing | None  # the right that it takes, if the caller does not have it


class ActionList(Wire, frozen=True):
    """What could be done with an object, whether it makes sense now or not."""

    rows: Sequence[ActionRow]


class Done(Wire, frozen=True):
    """What an action has changed or made; the operator does the rest, and pages show what comes of it."""

    namespace: str
    kind: str
    name: str


class JobChange(msgspec.Struct, frozen=True):
    """The body of an action on a job: the one that the person has seen, and no later one of its name."""

    uid: str


class RolloutChange(msgspec.Struct, frozen=True):
    """The body of an action on a rollout; without a predictor it is about all that have one."""

    predictor: str = ""


class VersionChange(msgspec.Struct, frozen=True):
    """The body of a change of the version that a predictor serves."""

    predictor: str
    version: Annotated[str, msgspec.Meta(min_length=1, max_length=253)]


class WeightsChange(msgspec.Struct, frozen=True):
    """The body of a change of weights, by predictor."""

    weights: Mapping[str, int]
