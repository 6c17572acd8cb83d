"""What an image is made of: a bill of materials (CycloneDX 1.6), read from the image's own file system.

It names every Debian package, every wheel and every npm package in the console's pages with its version, and what of
this repository is in it. It has no date and
no name of a machine: the same image has the same bill, and lies in the image itself, so its digest covers it.
"""

import email.parser
import json
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

from testbed.images.definitions_loader import Definition

PLACE = "usr/share/kubedl/bom.cdx.json"  # below the root of the file system

Component = dict[str, Any]


def bill(tree: Path, definition: Definition) -> str:
    """Of a file system that has all its packages, as JSON."""
    site = tree / definition.site
    components = sorted([*_packages(tree, definition.suite), *_wheels(site), *_bundled(site)], key=_reference)
    modules = [{"type": "application", "name": module.name} for module in definition.modules]
    stated = json.dumps([definition.name, components, modules])
    return json.dumps(
        {
            "$schema": "http://cyclonedx.org/schema/bom-1.6.schema.json",
            "bomFormat": "CycloneDX",
            "specVersion": "1.6",
            "serialNumber": f"urn:uuid:{uuid.uuid5(uuid.NAMESPACE_OID, stated)}",
            "version": 1,
            "metadata": {"component": {"type": "container", "bom-ref": "image", "name": definition.name}},
            "components": [*modules, *components],
        },
        indent=1,
    )


def _packages(tree: Path, suite: str) -> Iterator[Component]:
    for entry in (tree / "var/lib/dpkg/status").read_text().strip().split("\n\n"):
        fields = email.parser.HeaderParser().parsestr(entry)
        name, version, architecture = fields["Package"], fields["Version"], fields["Architecture"]
        purl = f"pkg:deb/debian/{quote(name)}@{quote(version)}?arch={architecture}&distro={suite}"
        yield _component(name, version, purl)


def _wheels(site: Path) -> Iterator[Component]:
    for metadata in site.glob("*.dist-info/METADATA"):
        fields = email.parser.HeaderParser().parsestr(metadata.read_text())
        name, version = fields["Name"], fields["Version"]
        purl = f"pkg:pypi/{quote(name.lower().replace('_', '-'))}@{quote(version)}"
        yield _component(name, version, purl)


def _bundled(site: Path) -> Iterator[Component]:
    """What the build of the pages has put into them, as it says itself."""
    for listed in site.glob("*/console/static/packages.json"):
        for package in json.loads(listed.read_text()):
            name, version = package["name"], package["version"]
            yield _component(name, version, f"pkg:npm/{quote(name, safe='/')}@{quote(version)}")


def _component(name: str, version: str, purl: str) -> Component:
    return {"type": "library", "bom-ref": purl, "name": name, "version": version, "purl": purl}


def _reference(component: Component) -> str:
    return str(component["bom-ref"])
