"""The place in a list where the next page begins. Opaque to users, and checked when it comes back."""

import base64
import binascii
from datetime import UTC, datetime
from typing import NamedTuple

LONGEST = 128  # characters


class InvalidCursorError(ValueError):
    """The cursor was not made by this server."""


class Cursor(NamedTuple):
    """The last row of a page: rows after it are older, or as old with a smaller uid."""

    created: datetime
    uid: str

    def encode(self) -> str:
        """Return a text for URLs."""
        plain = f"{self.created.astimezone(UTC).isoformat()} {self.uid}"
        return base64.urlsafe_b64encode(plain.encode()).decode()

    @classmethod
    def decode(cls, text: str) -> "Cursor":
        """Read a cursor. Raises InvalidCursorError."""
        try:
            if len(text) > LONGEST:
                raise InvalidCursorError("too long for a cursor")
            created, _, uid = base64.urlsafe_b64decode(text.encode()).decode().partition(" ")
            moment = datetime.fromisoformat(created)
            if moment.tzinfo is None or not uid.isprintable() or not uid:
                raise InvalidCursorError("not a cursor")
            return cls(moment.astimezone(UTC), uid)
        except (ValueError, OverflowError, binascii.Error) as error:  # the first hours of the year 1 may be before it
            raise InvalidCursorError("not a cursor of this list") from error
