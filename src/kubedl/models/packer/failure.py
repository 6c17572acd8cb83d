"""Why there is no image: a reason for programs, a message for people, and whether trying again may help, and when."""


class PackingError(Exception):
    """There is no image, and this is why. The message says what to do; it never holds a password or a token.

    After a `permanent` failure no attempt can succeed. Without `retry` this process gives up at once, but a later
    one may succeed, because somebody has renewed a token, granted a right or created a repository meanwhile.
    """

    def __init__(self, reason: str, message: str, *, permanent: bool = False, retry: bool = True) -> None:
        super().__init__(message)
        self.reason = reason
        self.message = message
        self.permanent = permanent
        self.retry = retry and not permanent


class EndedError(Exception):
    """Another thread has failed, and its error counts; this one stops."""


def bad_model(message: str) -> PackingError:
    """What is to be packed cannot be, and will not change by itself."""
    return PackingError("BadModel", message, permanent=True)


def source_changed(message: str) -> PackingError:
    """Somebody writes to the model while it is packed; when they are done, packing succeeds."""
    return PackingError("SourceChanged", f"{message}; let nobody write to the model while it is packed")


def shown(path: str, longest: int = 200) -> str:
    """A name from the outside, on one line and without tricks; of a long one the end, which tells it from others."""
    text = path.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")
    safe = "".join(char if char.isprintable() else char.encode("unicode_escape").decode() for char in text)
    return f"'{safe}'" if len(safe) <= longest else f"'…{safe[-longest:]}'"
