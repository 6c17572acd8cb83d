"""What `submit` knows of a kind of jobs: its roles and the fields that only it has, from the kind's declaration.

Those of our kinds stand in a file that `make generate` writes, since loading a declaration takes longer than printing
its help. Kinds of other packages are read from their declaration.
"""

import json
import os.path
import sys
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from kubedl.training.kind import Kind

FILE = os.path.join(os.path.dirname(__file__), "kinds.json")  # noqa: PTH118, PTH120 - pathlib takes as long as the rest
SCALARS = ("integer", "string", "boolean")
UNSUPPORTED = ("Not supported", "A field of an older")  # descriptions of fields that are refused


@dataclass(frozen=True)
class RoleSchema:
    """A role."""

    name: str
    required: bool = False
    at_most: int | None = None

    @property
    def word(self) -> str:
        """Return the role as flags have it: ps, worker, extend-role."""
        return flag_word(self.name)


@dataclass(frozen=True)
class FieldSchema:
    """A field of the spec that only this kind has."""

    name: str
    type: str
    description: str
    least: int | None = None
    most: int | None = None
    choices: tuple[str, ...] = ()

    @property
    def flag(self) -> str:
        """Return the flag: --slots-per-worker."""
        return f"--{flag_word(self.name)}"


@dataclass(frozen=True)
class KindSchema:
    """A kind of jobs."""

    kind: str
    field: str  # of the spec, with the roles
    container: str
    port_name: str
    roles: tuple[RoleSchema, ...]
    fields: tuple[FieldSchema, ...] = ()
    defaults: tuple[str, ...] = ()  # common fields for which the kind has a default of its own
    summary: str = ""  # of the module that declares it

    @property
    def word(self) -> str:
        """Return the kind as people type it."""
        return self.kind.lower().removesuffix("job")

    def role(self, name: str) -> RoleSchema | None:
        """Return a role by its name."""
        return next((role for role in self.roles if role.name == name), None)


def flag_word(name: str) -> str:
    """Return a name as flags have it: PS is ps, ExtendRole is extend-role, slotsPerWorker is slots-per-worker."""
    if name.isupper():
        return name.lower()
    return "".join(f"-{letter.lower()}" if letter.isupper() else letter for letter in name).lstrip("-")


def known_kinds() -> dict[str, KindSchema]:
    """Return our kinds by the word that people type."""
    with open(FILE, encoding="utf-8") as file:  # noqa: PTH123 - pathlib takes as long as the rest
        found = [_from_json(one) for one in json.load(file)]
    return {kind.word: kind for kind in found}


def installed_kind(word: str) -> KindSchema | None:
    """Return a kind of another package that is installed here."""
    from kubedl.training.kinds import all_kinds  # noqa: PLC0415 - only for a word that is none of ours

    described = (describe(kind) for kind in all_kinds())
    return next((one for one in described if word in (one.word, one.kind.lower())), None)


def to_json(kinds: list[KindSchema]) -> str:
    """Return the content of the file."""
    return f"{json.dumps([asdict(kind) for kind in kinds], indent=1)}\n"


def _summary(kind: "Kind") -> str:
    text = sys.modules[type(kind).__module__].__doc__ or ""
    return text.partition("\n")[0].removeprefix(f"{kind.kind}: ").rstrip(".")


def describe(kind: "Kind") -> KindSchema:
    """Return what flags need to know of a kind."""
    from kubedl.api.training import JobSpec  # noqa: PLC0415
    from kubedl.schema.structural import schema_of  # noqa: PLC0415

    common = schema_of(JobSpec, defaults=True)["properties"]
    version = kind.custom_resource.definition()["spec"]["versions"][0]
    spec: dict[str, Any] = version["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"]
    others = (*common, kind.replicas_field, kind.container_field)
    own = {name: schema for name, schema in spec.items() if name not in others}
    defaults = [name for name, schema in spec.items() if name in common and "default" in schema]
    return KindSchema(
        kind=kind.kind,
        summary=_summary(kind),
        field=kind.replicas_field,
        container=kind.container,
        port_name=kind.port_name,
        roles=tuple(RoleSchema(role.name, role.required, role.at_most) for role in kind.roles),
        fields=tuple(_field(name, schema) for name, schema in own.items() if _is_flag(schema)),
        defaults=tuple(name for name in defaults if spec[name]["default"] != common[name].get("default")),
    )


def _is_flag(schema: dict[str, Any]) -> bool:
    return schema.get("type") in SCALARS and not str(schema.get("description", "")).startswith(UNSUPPORTED)


def _field(name: str, schema: dict[str, Any]) -> FieldSchema:
    description, choices = str(schema.get("description", "")), tuple(schema.get("enum") or ())
    return FieldSchema(name, schema["type"], description, schema.get("minimum"), schema.get("maximum"), choices)


def _from_json(value: dict[str, Any]) -> KindSchema:
    parts = {
        "roles": tuple(RoleSchema(**role) for role in value["roles"]),
        "fields": tuple(FieldSchema(**one | {"choices": tuple(one["choices"])}) for one in value["fields"]),
        "defaults": tuple(value["defaults"]),
    }
    return KindSchema(**value | parts)
