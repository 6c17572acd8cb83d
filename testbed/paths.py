"""Where the test bed keeps things: one directory per user, nothing inside the checkout.

`tools/` and `images/` are caches keyed by content and survive; `instances/<index>/` is the whole
state of one running test bed and goes with it.
"""

import os
from pathlib import Path


def home() -> Path:
    """The test bed's directory: KUBEDL_TESTBED_HOME, or a place in the user's cache."""
    chosen = os.environ.get("KUBEDL_TESTBED_HOME")
    if chosen:
        return Path(chosen).absolute()
    cache = os.environ.get("XDG_CACHE_HOME")
    return (Path(cache) if cache else Path.home() / ".cache") / "kubedl-testbed"
