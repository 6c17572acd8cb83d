"""Pushing a layout to a registry that speaks plain HTTP, unless it already holds that image.

The registry is a neighbour on a network of the test bed, so no proxy ever applies.
"""

import http.client
from pathlib import Path

from testbed.errors import TestbedError
from testbed.images.layout import MANIFEST, manifest_digest
from testbed.shell import run


def push_layout(layout: Path, reference: str) -> None:
    """Make the registry answer to `registry/repository:tag` with this image."""
    if _pushed_digest(reference) != manifest_digest(layout):
        run(
            *("env", "NO_PROXY=*", "skopeo", "--insecure-policy", "copy", "--quiet", "--preserve-digests"),
            *("--dest-tls-verify=false", f"oci:{layout}", f"docker://{reference}"),
            timeout=600,
        )


def _pushed_digest(reference: str) -> str | None:
    registry, _, name = reference.partition("/")
    repository, _, tag = name.rpartition(":")
    connection = http.client.HTTPConnection(registry, timeout=30)
    try:
        connection.request("HEAD", f"/v2/{repository}/manifests/{tag}", headers={"Accept": MANIFEST})
        answer = connection.getresponse()
    except OSError as error:
        raise TestbedError(f"no registry answers at {registry} ({error}); start the test bed first") from error
    finally:
        connection.close()
    return answer.headers["Docker-Content-Digest"] if answer.status == http.HTTPStatus.OK else None
