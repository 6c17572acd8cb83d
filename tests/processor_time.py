"""What a piece of work costs, where a test has a bar for it: by the processor's clock, on whatever machine."""

import gc
import time
from collections.abc import Callable


def seconds(work: Callable[[], object]) -> float:
    """Of this thread, once, without the garbage collector, which comes at any time and looks at the whole process."""
    gc.disable()
    try:
        began = time.thread_time()
        work()
        return time.thread_time() - began
    finally:
        gc.enable()
