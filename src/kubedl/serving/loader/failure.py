"""Why there is no model: a reason for programs and a message for people."""


class LoadingError(Exception):
    """The server must not start."""

    def __init__(self, reason: str, message: str, *, permanent: bool = True) -> None:
        super().__init__(message)
        self.reason = reason
        self.message = message
        self.permanent = permanent  # trying again will not help
