"""Errors of the loader: a reason for programs and a message for users."""


class LoadingError(Exception):
    """The server must not start."""

    def __init__(self, reason: str, message: str, *, permanent: bool = True) -> None:
        super().__init__(message)
        self.reason = reason
        self.message = message
        self.permanent = permanent  # not retryable
