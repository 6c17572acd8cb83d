"""What can go wrong with a test bed, as errors that say what to do next."""


class TestbedError(Exception):
    """Anything the test bed cannot do; the message says why and what to do."""

    __test__ = False  # the name would make pytest collect it


class DeadlineError(TestbedError):
    """A condition did not come true in time."""
