"""A few calls at a time, in threads."""

import threading
from collections.abc import Callable, Sequence
from typing import TypeVar

AT_ONCE = 4
T = TypeVar("T")


def run_all(calls: Sequence[Callable[[], T]]) -> list[T]:
    """Return the results in the order of the calls; raises the error of the first call that failed."""
    if len(calls) == 1:
        return [calls[0]()]
    results: dict[int, T] = {}
    errors: dict[int, Exception] = {}
    waiting = list(enumerate(calls))[::-1]

    def work() -> None:
        while True:
            try:
                place, call = waiting.pop()
            except IndexError:
                return
            try:
                results[place] = call()
            except Exception as error:  # noqa: BLE001 - raised in the caller's thread
                errors[place] = error

    threads = [threading.Thread(target=work, daemon=True) for _ in range(min(AT_ONCE, len(calls)))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[min(errors)]
    return [results[place] for place in range(len(calls))]
