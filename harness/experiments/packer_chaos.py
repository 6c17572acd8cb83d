"""The packer killed at random points, and before a registry that fails: it ends with the image, or, refused, a reason.

    python -m harness.experiments.packer_chaos

For each kill a new repository: the packer is killed somewhere on its way, and started again until it is done. Then the
image must be the one that an undisturbed packer makes, with all that belongs to it, and what the registry had must not
have been sent again. For each kind of failure some more, through a proxy that answers, delays or cuts; sizes and points
are drawn by a seed. Failures that pass must end with the image: a reason would say that nobody tried again.
"""

import argparse
import json
import random
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import msgspec

from harness.drivers.environment import times
from harness.drivers.packer_process import Packer, packed, write_model
from harness.drivers.registry import RealRegistry, real_registry
from harness.drivers.registry_fault_proxy import Fault, RegistryProxy, Rule, registry_proxy
from kubedl.models.pack_protocol import PackRequest, PackResult

FAULTS: dict[str, tuple[float, list[Fault]]] = {  # how often, and what
    "401": (0.15, [Fault(401), Fault(401, {"WWW-Authenticate": 'Basic realm="x"'})]),
    "429": (0.15, [Fault(429), Fault(429, {"Retry-After": "1"})]),
    "500": (0.15, [Fault(500), Fault(502), Fault(503), Fault(504)]),
    "slow": (0.3, [Fault(delay=1.5, proceed=True)]),
    "cut": (0.3, [Fault(cut_after=0), Fault(cut_after=1), Fault(cut_after=300_000), Fault(cut_after=2 << 20)]),
    "lost": (0.3, [Fault(lose_answer=True)]),
}
End = Literal["image", "reason"]
ENDS: dict[str, tuple[End, ...]] = dict.fromkeys(FAULTS, ("image",)) | {"401": ("image", "reason")}  # it may mean it
MOST_SPARED = 10  # requests; the smallest model takes more
REFUSED = {"403": Fault(403), "basic": Fault(401, {"WWW-Authenticate": 'Basic realm="x"'})}


@dataclass(frozen=True)
class Ground:
    """A model, a registry, and the image that must come of it."""

    directory: Path
    registry: RealRegistry
    order: PackRequest
    answer: PackResult
    beside: list[str]
    seconds: float

    @property
    def digest(self) -> str:
        """Of the image."""
        return self.answer.digest

    def to(self, repository: str, address: str = "") -> PackRequest:
        """The same order for another repository, or through a proxy."""
        return msgspec.structs.replace(self.order, repository=f"{address or self.registry.address}/{repository}")

    def right(self, repository: str, code: int, answer: PackResult | None, ends: tuple[End, ...] = ("image",)) -> bool:
        """Whether an end is one of those that are allowed, and what the answer says is so."""
        if answer is None or ("reason" if code else "image") not in ends:
            return False
        if code:
            return bool(answer.reason and answer.message) and not answer.digest
        named = (answer.digest, answer.artifact_digest) == (self.digest, self.answer.artifact_digest)
        return named and self.whole(repository)

    def whole(self, repository: str) -> bool:
        """Whether a repository has the image under its tag, and beside it all that an undisturbed packer leaves."""
        tagged = self.registry.digest(repository, self.order.tag)
        there = tagged == self.digest and self.registry.manifest(repository, self.digest) is not None
        return there and beside(self.registry, repository, self.answer) == self.beside


def beside(registry: RealRegistry, repository: str, answer: PackResult) -> list[str]:
    """The types of what is found from an image and is there with its blobs, the ModelPack manifest's among them."""
    index = registry.manifest(repository, answer.digest.replace(":", "-")) or {"manifests": []}
    found = {entry["digest"]: registry.manifest(repository, entry["digest"]) for entry in index["manifests"]}
    if answer.artifact_digest not in found:
        return []
    return sorted(
        manifest["artifactType"]
        for manifest in found.values()
        if manifest
        and manifest["subject"]["digest"] == answer.digest
        and all(registry.has_blob(repository, blob["digest"]) for blob in (manifest["config"], *manifest["layers"]))
    )


@contextmanager
def ground(files: int = 16, size: int = 4 << 20) -> Iterator[Ground]:
    """Packed once undisturbed."""
    with tempfile.TemporaryDirectory(prefix="kubedl-packing-") as name:
        directory = Path(name)
        write_model(directory / "model", files, size)
        with real_registry(directory) as registry:
            order = PackRequest(
                str(directory / "model"), f"{registry.address}/undisturbed", "v1", "ns", "m", "mv", insecure=True
            )
            began = time.monotonic()
            code, answer = packed(order, directory)
            seconds = time.monotonic() - began
            found = beside(registry, "undisturbed", answer) if answer else []
            if code or answer is None or len(found) < 3:  # ModelPack, provenance, materials
                raise SystemExit(f"the undisturbed packer ended with {code}: {answer}, and beside it {found}")
            yield Ground(directory, registry, order, answer, found, seconds)


def killed(here: Ground, repository: str, delay: float) -> Counter[str]:
    """Kill once, then let it end: what was seen of it."""
    order = here.to(repository)
    packer = Packer(order, here.directory)
    packer.start()
    time.sleep(delay)
    found = Counter(kills=1, underway=int(packer.alive))
    packer.kill()
    early = here.registry.digest(repository, order.tag)
    found["wrong"] += early not in {None, here.digest}
    had = _present(here, repository)
    code, answer = packed(order, here.directory)
    found["wrong"] += not here.right(repository, code, answer)
    found["sent again"] += answer is not None and answer.layers_reused < had
    found["layers reused"] += answer.layers_reused if answer else 0
    return found


def disturbed(here: Ground, proxy: RegistryProxy, repository: str, rule: Rule, ends: tuple[End, ...]) -> Counter[str]:
    """Pack through a proxy with a rule: what was seen of it."""
    before, proxy.rule = proxy.faults, rule
    code, answer = packed(here.to(repository, proxy.address), here.directory)
    proxy.rule = lambda *_: None
    right = here.right(repository, code, answer, ends)
    if not right:
        print(f"{repository}: ended with {code}: {answer}", file=sys.stderr)
    return Counter(
        {"runs": 1, "faults": proxy.faults - before, "wrong": not right, "images": code == 0, "reasons": code != 0}
    )


def drawn(kind: str, seed: int) -> Rule:
    """Faults of one kind, by chance that is the same every time; the first one does not come late, or never."""
    often, faults = FAULTS[kind]
    chance = random.Random(f"{kind} {seed}")  # noqa: S311
    spared = 0  # requests before the first fault

    def rule(_method: str, _path: str, _size: int) -> Fault | None:
        nonlocal spared
        if chance.random() < often or spared == MOST_SPARED:
            spared = MOST_SPARED + 1
            return chance.choice(faults)
        spared += spared < MOST_SPARED
        return None

    return rule


def main() -> int:
    """Print what was seen, as one JSON object."""
    parser = argparse.ArgumentParser(prog="python -m harness.experiments.packer_chaos", description=__doc__)
    parser.add_argument("--kills", type=int, default=times(3, 20))
    parser.add_argument("--runs", type=int, default=times(1, 5), help="of each kind of failure")
    parser.add_argument("--seed", type=int, default=random.randrange(1 << 32))  # noqa: S311
    chosen = parser.parse_args()
    print(f"seed {chosen.seed}", file=sys.stderr)
    chance = random.Random(chosen.seed)  # noqa: S311
    kills: Counter[str] = Counter()
    failures: Counter[str] = Counter()
    with ground() as here, registry_proxy(here.registry.address) as proxy:
        longest = 0.9 * here.seconds
        for number in range(chosen.kills):
            seen = killed(here, f"killed-{number}", chance.uniform(0.0, longest))
            kills += seen
            if not seen["underway"]:
                longest /= 2  # the first one was slow, and these are faster
        for kind in FAULTS:
            for number in range(chosen.runs):
                rule = drawn(kind, chosen.seed + number)
                failures += disturbed(here, proxy, f"disturbed-{kind}-{number}", rule, ENDS[kind])
        for name, fault in REFUSED.items():
            failures += disturbed(here, proxy, f"refused-{name}", lambda *_, fault=fault: fault, ("reason",))
    print(
        json.dumps(
            {
                "kills": kills["kills"],
                "killed underway": kills["underway"],
                "wrong after kills": kills["wrong"],
                "layers sent again": kills["sent again"],
                "runs with failures": failures["runs"],
                "failures injected": failures["faults"],
                "wrong after failures": failures["wrong"],
                "images": failures["images"],
                "reasons": failures["reasons"],
            }
        )
    )
    return 0


def _present(here: Ground, repository: str) -> int:
    manifest = here.registry.manifest("undisturbed", here.digest) or {}
    return sum(here.registry.has_blob(repository, layer["digest"]) for layer in manifest["layers"])


if __name__ == "__main__":
    sys.exit(main())
