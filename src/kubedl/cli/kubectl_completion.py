"""`kubectl_complete-kubedl`: completion of `kubectl kubedl …`, as kubectl asks for it: words and a directive."""

import sys
from collections.abc import Sequence

NO_FILES = 4  # a directive of kubectl's completion: propose no file names


def main(arguments: Sequence[str] | None = None) -> int:
    """Print what may follow the words, the last of which may be incomplete."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    from click.shell_completion import ShellComplete  # noqa: PLC0415 - it is all that this program does

    from kubedl.cli.main import kubedl  # noqa: PLC0415

    found = ShellComplete(kubedl, {}, "kubedl", "").get_completions(words[:-1], words[-1] if words else "")
    for item in found:
        print(f"{item.value}\t{item.help}" if item.help else item.value)
    print(f":{NO_FILES}")
    return 0
