"""Container images for tests, built without a container engine from Debian packages and wheels.

`Images` is the whole interface: it builds what a test asks for once per machine, keeps it as an
OCI layout, and pushes it to the test bed's registry.
"""

from testbed.images.store import Images

__all__ = ["Images"]
