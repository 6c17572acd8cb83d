"""What counts as a right end of the packer: the image with all that belongs to it, or a reason where one is allowed."""

from pathlib import Path
from typing import Any

import msgspec
import pytest

from harness.drivers.registry import RealRegistry
from harness.experiments.packer_chaos import ENDS, FAULTS, End, Ground, beside
from kubedl.models.pack_protocol import PackRequest, PackResult

IMAGE, POINTER, STATEMENT = (f"sha256:{digit * 64}" for digit in "123")
ANSWER = PackResult(IMAGE, POINTER)
REASON = PackResult(reason="RegistryFailed", message="try again")
BLOB = {"digest": "sha256:b"}


class Held(RealRegistry):
    """What it was told to hold."""

    def __init__(self) -> None:
        super().__init__("here")
        self.tags = {"v1": IMAGE}
        self.manifests: dict[str, dict[str, Any]] = {IMAGE: {}, IMAGE.replace(":", "-"): {"manifests": []}}
        self.blobs = {"sha256:b"}
        for digest, kind in ((POINTER, "model"), (STATEMENT, "statement")):
            self.manifests[IMAGE.replace(":", "-")]["manifests"].append({"digest": digest})
            self.manifests[digest] = _manifest(kind)

    def manifest(self, _repository: str, reference: str) -> dict[str, Any] | None:
        return self.manifests.get(reference)

    def digest(self, _repository: str, reference: str) -> str | None:
        return self.tags.get(reference)

    def has_blob(self, _repository: str, digest: str) -> bool:
        return digest in self.blobs


def _manifest(kind: str, subject: str = IMAGE) -> dict[str, Any]:
    return {"artifactType": kind, "subject": {"digest": subject}, "config": BLOB, "layers": [BLOB]}


@pytest.fixture
def held() -> Held:
    """As an undisturbed packer leaves it."""
    return Held()


@pytest.fixture
def here(held: Held, tmp_path: Path) -> Ground:
    order = PackRequest("/model", "here/undisturbed", "v1", "ns", "m", "mv")
    return Ground(tmp_path, held, order, ANSWER, beside(held, "undisturbed", ANSWER), 1.0)


def test_the_image_with_all_that_belongs_to_it_is_right(here: Ground) -> None:
    assert here.beside == ["model", "statement"]
    assert here.right("again", 0, ANSWER)


@pytest.mark.parametrize(
    "spoil",
    [
        lambda held: held.tags.clear(),
        lambda held: held.tags.update(v1=POINTER),
        lambda held: held.manifests.pop(IMAGE),
        lambda held: held.manifests.pop(IMAGE.replace(":", "-")),
        lambda held: held.manifests.pop(POINTER),
        lambda held: held.manifests.pop(STATEMENT),
        lambda held: held.manifests.update({STATEMENT: _manifest("statement", POINTER)}),
        lambda held: held.manifests[IMAGE.replace(":", "-")]["manifests"].pop(0),
        lambda held: held.blobs.clear(),
    ],
    ids=["no tag", "tag", "no image", "no list", "no pointer", "no statement", "subject", "not listed", "no blobs"],
)
def test_less_than_that_is_wrong(here: Ground, held: Held, spoil: Any) -> None:  # noqa: ANN401  one of the above
    spoil(held)
    assert not here.right("again", 0, ANSWER)


@pytest.mark.parametrize(
    ("code", "answer", "ends", "right"),
    [
        (1, REASON, ("image",), False),
        (1, REASON, ("image", "reason"), True),
        (2, REASON, ("reason",), True),
        (0, ANSWER, ("reason",), False),
        (1, None, ("image", "reason"), False),
        (1, PackResult(reason="RegistryFailed"), ("reason",), False),
        (0, msgspec.structs.replace(ANSWER, artifact_digest=IMAGE), ("image",), False),
    ],
)
def test_a_reason_is_right_where_one_is_allowed(
    here: Ground, code: int, answer: PackResult | None, ends: tuple[End, ...], right: bool
) -> None:
    assert here.right("again", code, answer, ends) == right


def test_failures_that_pass_must_end_with_the_image() -> None:
    assert {kind for kind in FAULTS if "reason" in ENDS[kind]} == {"401"}
