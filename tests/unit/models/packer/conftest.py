"""The fixtures of the registry client: packing is pushing."""

from tests.unit.oci.conftest import clock, connect, fake, model, order

__all__ = ["clock", "connect", "fake", "model", "order"]
