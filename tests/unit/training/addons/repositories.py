"""Git repositories for tests, and what the init container would do with them, run here with the machine's own git."""

import os
import subprocess
from dataclasses import dataclass
from pathlib import Path

from kubedl.training import pods
from kubedl.training.addons import git_sync_status
from kubedl.training.job import Replica
from kubedl.training.observed import Settings
from tests.training_builders import tf_job

IDENTITY = {
    "GIT_AUTHOR_NAME": "a",
    "GIT_AUTHOR_EMAIL": "a@example.org",
    "GIT_COMMITTER_NAME": "a",
    "GIT_COMMITTER_EMAIL": "a@example.org",
    "GIT_CONFIG_GLOBAL": "/dev/null",
    "GIT_CONFIG_NOSYSTEM": "1",
}


@dataclass(frozen=True)
class Repository:
    """A bare repository that is pushed to."""

    path: Path

    @classmethod
    def make(cls, path: Path) -> "Repository":
        """An empty one with the branch main."""
        path.mkdir(parents=True)
        made = cls(path)
        made.git("init", "--quiet", "--bare", "--initial-branch=main", ".")
        return made

    def commit(self, text: str, branch: str = "main", *, modules: str = "", parent: str | None = None) -> str:
        """A commit whose only file `train.py` has this text, at the head of a branch; returns its number."""
        blob = self.git("hash-object", "-w", "--stdin", words=text)
        entries = f"100644 blob {blob}\ttrain.py\n"
        if modules:
            entries += f"100644 blob {self.git('hash-object', '-w', '--stdin', words=modules)}\t.gitmodules\n"
            entries += f"160000 commit {parent}\tmodule\n"
        tree = self.git("mktree", "--missing", words=entries)
        before = subprocess.run(
            ["git", "rev-parse", "--verify", "--quiet", branch],
            cwd=self.path,
            capture_output=True,
            text=True,
            check=False,
        ).stdout.strip()
        made = self.git("commit-tree", tree, "-m", text, *(["-p", before] if before else []))
        self.git("update-ref", f"refs/heads/{branch}", made)
        return made

    def git(self, *arguments: str, words: str = "") -> str:
        """What git prints."""
        command = ["git", *arguments]
        environment = {"PATH": os.environ["PATH"], **IDENTITY}
        return subprocess.run(
            command, cwd=self.path, input=words, env=environment, capture_output=True, text=True, check=True
        ).stdout.strip()


@dataclass(frozen=True)
class Fetched:
    """How the init container ended."""

    exit_code: int
    said: str  # its termination message
    directory: Path

    @property
    def text(self) -> str:
        """Of the file that was fetched."""
        return (self.directory / "train.py").read_text()


def fetch(
    root: Path, *, pinned: str = "", secret: Path | None = None, env: dict[str, str] | None = None, **source: object
) -> Fetched:
    """Do what the init container of a job with this code source would do, below `root`."""
    body = {"rootPath": "/code", "maxFailures": 1, **source, **({"secretName": "deploy"} if secret else {})}
    job = tf_job().workers(1).with_spec(codeSource=body).with_status(code_revision=pinned)
    made = pods.render(
        job.kind, job.kind.job(job.build()), Replica("Worker", 0), 0, scope="Replica", settings=Settings()
    )
    container = next(one for one in made["spec"]["initContainers"] if one["name"] == git_sync_status.CONTAINER)
    variables = {entry["name"]: entry["value"].replace("$$", "$") for entry in container["env"]}
    place, result = root / "code", root / "result"
    place.mkdir(parents=True, exist_ok=True)
    result.unlink(missing_ok=True)
    variables |= {"PATH": os.environ["PATH"], "KUBEDL_GIT_ROOT": str(place), "KUBEDL_GIT_RESULT": str(result)}
    variables |= {"KUBEDL_GIT_SECRET": str(secret) if secret else "", "GIT_CONFIG_NOSYSTEM": "1", **(env or {})}
    variables["GIT_SSL_NO_VERIFY"] = "1"  # nobody vouches for the servers of tests
    done = subprocess.run(container["command"], env=variables, capture_output=True, text=True, check=False, timeout=60)
    said = result.read_text() if result.exists() else done.stderr
    return Fetched(done.returncode, said.strip(), place / variables["KUBEDL_GIT_DESTINATION"])
