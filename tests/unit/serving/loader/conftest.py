"""The fixtures of the registry client: what was packed is pulled."""

from tests.unit.oci.conftest import clock, connect, fake, model, order

__all__ = ["clock", "connect", "fake", "model", "order"]
