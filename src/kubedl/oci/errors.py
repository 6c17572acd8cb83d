"""Errors of packing and pulling: a reason for programs, a message for users, and whether a retry may help."""


class ImageError(Exception):
    """There is no image. The message says how to fix it; it never contains a password or token.

    After a `permanent` failure no attempt can succeed. Without `retry` this process fails at once, but a later one may
    succeed, after a token was renewed, a permission granted or a repository created.
    """

    def __init__(self, reason: str, message: str, *, permanent: bool = False, retry: bool = True) -> None:
        super().__init__(message)
        self.reason = reason
        self.message = message
        self.permanent = permanent
        self.retry = retry and not permanent


class EndedError(Exception):
    """Stops a thread after the failure of another one, whose error counts."""


def bad_model(message: str) -> ImageError:
    """The model cannot be packed; a permanent failure."""
    return ImageError("BadModel", message, permanent=True)


def source_changed(message: str) -> ImageError:
    """The model was modified while it was packed; a retryable failure."""
    return ImageError("SourceChanged", f"{message}; do not write to the model while it is packed")


def quote_for_display(path: str, longest: int = 200) -> str:
    """Return an untrusted name on one line without control characters; a long one keeps its end."""
    text = path.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")
    safe = "".join(char if char.isprintable() else char.encode("unicode_escape").decode() for char in text)
    return f"'{safe}'" if len(safe) <= longest else f"'…{safe[-longest:]}'"
