"""The bill of materials of an image, held against CycloneDX's own schema."""

import json
from pathlib import Path

import pytest
from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator

from testbed.images.bom import bill
from testbed.images.definitions_loader import Catalogue

STATUS = """Package: zlib1g
Status: install ok installed
Architecture: amd64
Version: 1:1.3.dfsg+really1.3.1-1+b1
Description: compression library
 A second line.

Package: ca-certificates
Architecture: all
Version: 20250419
"""


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A file system with two packages, a wheel, and pages with an npm package."""
    site = tmp_path / "usr/local/lib/python3.13/dist-packages/prometheus_client-0.25.0.dist-info"
    site.mkdir(parents=True)
    (site / "METADATA").write_text("Metadata-Version: 2.4\nName: prometheus_client\nVersion: 0.25.0\n\nText.\n")
    pages = tmp_path / "usr/local/lib/python3.13/dist-packages/kubedl/console/static"
    pages.mkdir(parents=True)
    (pages / "packages.json").write_text('[{"name": "@tanstack/react-router", "version": "1.170.46"}]')
    (tmp_path / "var/lib/dpkg").mkdir(parents=True)
    (tmp_path / "var/lib/dpkg/status").write_text(STATUS)
    return tmp_path


def test_it_names_every_package_of_debian_python_and_npm(tree: Path) -> None:
    stated = json.loads(bill(tree, Catalogue().definition("kubedl")))
    assert [(one["name"], one.get("purl")) for one in stated["components"]] == [
        ("kubedl", None),
        ("ca-certificates", "pkg:deb/debian/ca-certificates@20250419?arch=all&distro=trixie"),
        ("zlib1g", "pkg:deb/debian/zlib1g@1%3A1.3.dfsg%2Breally1.3.1-1%2Bb1?arch=amd64&distro=trixie"),
        ("@tanstack/react-router", "pkg:npm/%40tanstack/react-router@1.170.46"),
        ("prometheus_client", "pkg:pypi/prometheus-client@0.25.0"),
    ]


def test_it_keeps_the_published_schema(tree: Path) -> None:
    wrong = JsonStrictValidator(SchemaVersion.V1_6).validate_str(bill(tree, Catalogue().definition("kubedl")))
    assert wrong is None


def test_the_same_files_have_the_same_bill(tree: Path) -> None:
    """And other files another."""
    definition = Catalogue().definition("kubedl")
    first = bill(tree, definition)
    assert bill(tree, definition) == first
    (tree / "var/lib/dpkg/status").write_text(STATUS.replace("20250419", "20260101"))
    assert bill(tree, definition) != first
