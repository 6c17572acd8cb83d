"""Builds that were broken on purpose: each known bug is put back into a copy of the source, and its test must fail.

A test that cannot fail proves nothing. Each break is a few words of source replaced by others; if the words are not
found exactly once the break has to be brought up to date, which is an error here and not a success.

    python -m harness.experiments.mutants --only no-fence
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from harness.drivers.environment import SOURCE

ROOT = Path(__file__).parents[2]
FAULTS = "tests/cluster/faults"
DEADLINE = 900.0  # seconds for one test
FAILED = 1  # pytest's exit code when tests ran and some failed


@dataclass(frozen=True)
class Edit:
    """Words of a source file and what replaces them."""

    file: str
    old: str
    new: str


@dataclass(frozen=True)
class Break:
    """A bug that others had, put into our source, and the test that must notice it."""

    name: str
    bug: int  # of the twelve in the research; 0 for a rule of our own
    test: str
    edits: tuple[Edit, ...]
    caught: bool = True  # False: the build is odd but right, and the test must pass


_STUMBLE = Edit(
    "kubedl/training/planner.py",
    "    builder = PlanBuilder(observed)\n",
    '    if observed.job.resource.metadata.annotations.get("test.kubedl.io/poison"):\n'
    '        raise IndexError("test.kubedl.io/poison")\n'
    "    builder = PlanBuilder(observed)\n",
)

BREAKS = (
    Break(
        "cache-by-name",
        1,
        "test_same_name.py",
        (
            Edit(
                "kubedl/runtime/store.py", "metadata.namespace, reference.uid)", "metadata.namespace, reference.name)"
            ),
            Edit("kubedl/runtime/store.py", "cls(obj.metadata.namespace, obj.metadata.uid)", "cls(*obj.metadata.key)"),
        ),
    ),
    Break(
        "no-tombstones",
        2,
        "test_gc_after_success.py",
        (Edit("kubedl/training/setup.py", ", remember=BY_OWNER", ""),),
    ),
    Break(
        "no-fence",
        5,
        "test_split_brain.py",
        (
            Edit(
                "kubedl/runtime/leader_election.py",
                "is not None and self._clock() >= valid_until:",
                "is not None and False:",
            ),
        ),
    ),
    Break(
        "watch-hangs",
        6,
        "test_watches.py::test_a_half_open_watch_is_noticed",
        (Edit("kubedl/kube/http.py", "connection.parts(silence)", "connection.parts()"),),
    ),
    Break(
        "gone-is-fatal",
        6,
        "test_watches.py::test_a_watch_whose_history_is_gone_starts_anew",
        (
            Edit(
                "kubedl/runtime/reflector.py",
                "except GoneError as gone:\n                self._version = None\n",
                "except GoneError as gone:\n                if following:\n                    raise\n",
            ),
        ),
    ),
    Break(
        "no-deletion-diff",
        6,
        "test_changes_while_down.py::test_lost_events_are_made_good_when_the_watch_ends",
        (Edit("kubedl/runtime/store.py", "for key in self._objects.keys() - present:", "for key in ():"),),
    ),
    Break(
        "token-read-once",
        7,
        "test_token.py",
        (
            Edit(
                "kubedl/kube/token_refresh.py",
                "self._stale_at = self._clock() + lifetime",
                "self._stale_at = lifetime * 1e9",
            ),
            Edit(
                "kubedl/kube/token_refresh.py",
                'Refresh the token at the next use, after a 401."""\n        self._stale_at = float("-inf")',
                'Refresh the token at the next use, after a 401."""',
            ),
        ),
    ),
    Break(
        "status-always-written",
        8,
        "test_conflicts.py::test_an_idle_job_is_not_written_to",
        (
            Edit("kubedl/training/controller.py", "        if status == resource.status:\n            return\n", ""),
            Edit(
                "kubedl/training/controller.py",
                "        if await self._writer.write_status(",
                "        status = msgspec.structs.replace(status, model_version_name=self._clock().isoformat())\n"
                "        if await self._writer.write_status(",
            ),
        ),
    ),
    Break("one-job-raises", 10, "test_fuzz.py", (_STUMBLE,), caught=False),
    Break(
        "one-job-stops-all",
        10,
        "test_fuzz.py",
        (_STUMBLE, Edit("kubedl/runtime/controller.py", "        except Exception:\n", "        except KeyError:\n")),
    ),
    Break(
        "no-gate",
        0,
        "test_stale_reads.py::test_nothing_is_made_twice_while_events_are_held",
        (Edit("kubedl/runtime/expectations.py", "        if behind:\n", "        if behind and False:\n"),),
    ),
    Break(
        "delete-by-name",
        0,
        "test_stale_reads.py::test_a_delete_hits_only_the_pod_that_was_seen",
        (Edit("kubedl/kube/client.py", '"preconditions": {"uid": uid}, ', ""),),
    ),
    Break(
        "adopts-strangers",
        0,
        "test_lost_answers.py::test_a_stranger_of_the_same_name_is_never_adopted",
        (
            Edit(
                "kubedl/runtime/writer.py",
                "return reference is not None and reference.uid == owner.metadata.uid",
                "return reference is None or reference.uid == owner.metadata.uid",
            ),
        ),
    ),
)
SMALL = ("no-gate", "delete-by-name", "status-always-written")  # enough for CI: those that are caught soonest


def edited_copy(name: str, edits: Iterable[Edit], directory: Path) -> Path:
    """A copy of the source with the edits in it."""
    source = directory / "src"
    shutil.copytree(ROOT / "src", source, ignore=shutil.ignore_patterns("__pycache__"))
    for file, text in edited_files(name, edits).items():
        (source / file).write_text(text)
    return source


def edited_files(name: str, edits: Iterable[Edit]) -> dict[str, str]:
    """The files with edits, and their text then. An edit that no longer fits is an error that says whose it is."""
    texts: dict[str, str] = {}
    for edit in edits:
        text = texts.get(edit.file) or (ROOT / "src" / edit.file).read_text()
        if text.count(edit.old) != 1:
            raise SystemExit(f"{name}: {edit.file} has {edit.old!r} {text.count(edit.old)} times; bring it up to date")
        texts[edit.file] = text.replace(edit.old, edit.new)
    return texts


def judged(chosen: Break) -> bool:
    """Whether the test said of the broken build what it must."""
    with tempfile.TemporaryDirectory(prefix="kubedl-broken-") as directory:
        environment = {
            **os.environ,
            SOURCE: str(edited_copy(chosen.name, chosen.edits, Path(directory))),
            "PROOF_SIZE": "small",
        }
        command = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", f"{FAULTS}/{chosen.test}"]
        done = subprocess.run(
            command, cwd=ROOT, env=environment, timeout=DEADLINE, check=False, capture_output=True, text=True
        )
    last = done.stdout.strip().splitlines()[-1:]
    right = done.returncode == (FAILED if chosen.caught else 0)
    print(f"{'ok   ' if right else 'WRONG'} {chosen.name} (bug {chosen.bug}): {' '.join(last)}", file=sys.stderr)
    if not right:
        print(done.stdout[-4000:], file=sys.stderr)
    return right


def main() -> int:
    """Try every break and print how many were not noticed."""
    parser = argparse.ArgumentParser(prog="python -m harness.experiments.mutants", description=__doc__)
    parser.add_argument("--only", action="append", choices=[known.name for known in BREAKS])
    small = SMALL if os.environ.get("PROOF_SIZE") == "small" else None
    names = parser.parse_args().only or small or [known.name for known in BREAKS]
    verdicts = {known.name: judged(known) for known in BREAKS if known.name in names}
    print(json.dumps({"broken builds": len(verdicts), "not caught": sum(not right for right in verdicts.values())}))
    return 0


if __name__ == "__main__":
    sys.exit(main())
