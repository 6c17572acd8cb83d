"""The bill of materials, held against CycloneDX's own schema."""

import json
from typing import TYPE_CHECKING, Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kubedl.models.pack_protocol import Origin, PackRequest
from kubedl.models.packer.model_files import FileEntry
from kubedl.models.packer.model_manifests import Blob
from kubedl.models.packer.sbom import MOST_NAMED, build_sbom
from tests.unit.models.packer.test_provenance import DIGEST, ORDER

if TYPE_CHECKING:
    from cyclonedx.validation.json import JsonStrictValidator

WEIGHTS = Blob(f"sha256:{'a' * 64}", 4096, (FileEntry("weights", "file", 3000),))
MANY = Blob(f"sha256:{'b' * 64}", 9000, tuple(FileEntry(f"many/{n:03}", "file", 10) for n in range(200)))
BLOBS = (Blob(f"sha256:{'f' * 64}", 512), MANY, WEIGHTS)


@pytest.fixture(scope="module")
def validator() -> "JsonStrictValidator":
    """Loaded where it is used: it compiles grammars of addresses for a second."""
    from cyclonedx.schema import SchemaVersion  # noqa: PLC0415
    from cyclonedx.validation.json import JsonStrictValidator  # noqa: PLC0415

    return JsonStrictValidator(SchemaVersion.V1_6)


@pytest.mark.parametrize(
    "order",
    [
        ORDER,
        msgspec.structs.replace(ORDER, origin=Origin()),
        msgspec.structs.replace(ORDER, origin=Origin(code_repository="git@host:a/b.git", parent="odd")),
        PackRequest("/m", "Odd Repository/ä", "", "", "", ""),
    ],
)
def test_it_keeps_the_published_schema(order: PackRequest, validator: "JsonStrictValidator") -> None:
    wrong = validator.validate_str(build_sbom(order, DIGEST, BLOBS).decode())
    assert wrong is None


@settings(max_examples=30)
@given(st.text(max_size=30) | st.from_regex(r"(https|ssh|git)://[!-~]{0,9}/[ -~]{0,9}"))
def test_no_address_of_code_breaks_it(validator: "JsonStrictValidator", address: str) -> None:
    order = msgspec.structs.replace(ORDER, origin=Origin(code_repository=address))
    assert validator.validate_str(build_sbom(order, DIGEST, ()).decode()) is None


def test_the_schema_is_looked_at(validator: "JsonStrictValidator") -> None:
    spoilt = build_sbom(ORDER, DIGEST, BLOBS).decode().replace("machine-learning-model", "machine")
    assert validator.validate_str(spoilt) is not None


def test_a_model_with_its_layers_its_parent_and_its_code() -> None:
    found = read(ORDER)
    model = found["metadata"]["component"]
    assert (model["type"], model["name"], model["version"]) == ("machine-learning-model", "resnet", "v1")
    assert model["hashes"] == [{"alg": "SHA-256", "content": "1" * 64}]
    assert model["externalReferences"] == [{"type": "vcs", "url": "https://git.example.com/team/code.git"}]
    [ancestor] = model["pedigree"]["ancestors"]
    assert (ancestor["name"], ancestor["hashes"][0]["content"]) == ("r.example.com/base", "3" * 64)
    assert {"name": "kubedl:job-uid", "value": "4e2a"} in model["modelCard"]["properties"]
    assert [one["hashes"][0]["content"] for one in found["components"]] == ["b" * 64, "a" * 64]
    [made_with] = found["formulation"]
    assert [one["name"] for one in made_with["components"]] == ["odd", "tf:2"]


def test_a_layer_of_many_files_stays_short() -> None:
    many, weights = read(ORDER)["components"]
    assert many["name"] == "models/many/000 and 199 more"
    assert len(many["properties"]) == MOST_NAMED + 2
    assert {"name": "kubedl:files", "value": "200"} in many["properties"]
    assert weights["name"] == "models/weights"


def test_it_is_the_same_every_time_and_tells_no_secret() -> None:
    content = build_sbom(ORDER, DIGEST, BLOBS)
    assert content == build_sbom(ORDER, DIGEST, BLOBS)
    assert b"secret" not in content
    assert read(ORDER)["serialNumber"] != json.loads(build_sbom(ORDER, f"sha256:{'9' * 64}", BLOBS))["serialNumber"]


def read(order: PackRequest) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(build_sbom(order, DIGEST, BLOBS))
    return found
