"""Every page of the console in the states that it has, for tests that look at all of them."""

import random
import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from itertools import product
from pathlib import Path

from harness.drivers.environment import FULL
from proofs.seed import seed
from tests.browser.access_world import LAST_LINE

ROUTES_OF_THE_CONSOLE = Path(__file__).parents[2] / "console" / "src" / "main.tsx"
WIDTHS = (1440, 390)
SCHEMES = ("light", "dark")
JOBS_BY_STATE = {
    "running": "nlp/pytorchjob/bert-large-pretrain",
    "waiting": "nlp/pytorchjob/llama3-70b-lora",
    "failed": "vision/pytorchjob/resnet50-ablation-14",
}
WORDS_OF_TABS = {"conditions": "the job was seen", "events": "PyTorchJob/", "changes": "No run of this job"}


@dataclass(frozen=True)
class Route:
    """An address, words by which its page is complete, and the title that it must have."""

    name: str
    path: str
    wait: str
    title: str
    person: str = "ada"
    press: str = ""  # a button that opens a dialog
    type: str = ""  # into the text of the page
    cut: bool = False  # the stream of changes
    ends: bool = False  # the sign-in, before the page is opened from another one


def _of_jobs() -> list[Route]:
    """A job in each state with each of its tabs."""
    found = []
    for state, path in JOBS_BY_STATE.items():
        title = f"{path.rpartition('/')[2]} · Jobs · KubeDL"
        words = {"log": "The job has no pods now." if state == "waiting" else LAST_LINE, **WORDS_OF_TABS}
        for tab, wait in words.items():
            found.append(Route(f"job-{state}-{tab}", f"/jobs/{path}?tab={tab}", wait, title))
    return found


ROUTES: Sequence[Route] = (
    Route("overview", "/", "33.3 %", "Overview · KubeDL"),
    Route("jobs", "/jobs", "sweep-1", "Jobs · KubeDL"),
    Route("jobs-deleted", "/jobs?view=deleted", "The history is not installed.", "Jobs · KubeDL"),
    Route("jobs-none", "/jobs?q=nothing-like-it", "No job matches.", "Jobs · KubeDL"),
    *_of_jobs(),
    Route(
        "job-delete",
        f"/jobs/{JOBS_BY_STATE['running']}",
        "deleted with it",
        "bert-large-pretrain · Jobs · KubeDL",
        press="Delete",
    ),
    Route("submit", "/submit", "A check creates nothing.", "Submit a job · KubeDL"),
    Route("submit-wrong", "/submit", "correct the YAML", "Submit a job · KubeDL", type="kind: [PyTorchJob"),
    Route("models", "/models", "3 shown", "Models · KubeDL"),
    Route("models-digest", "/models/digest/c0ffee00", "Nothing has this in its name.", "Models · KubeDL"),
    Route("model", "/models/nlp/llama3-8b-sft", "known by their names alone", "llama3-8b-sft · Models · KubeDL"),
    Route(
        "model-chosen",
        "/models/nlp/llama3-8b-sft?focus=version:llama3-8b-sft-v2",
        "came from it",
        "llama3-8b-sft · Models · KubeDL",
    ),
    Route("model-all", "/models/vision/vit-g14?all=true", "v9", "vit-g14 · Models · KubeDL"),
    Route("model-empty", "/models/research/tabular", "has no versions", "tabular · Models · KubeDL"),
    Route(
        "model-hidden",
        "/models/nlp/llama3-8b-sft",
        "A job that you may not see",
        "llama3-8b-sft · Models · KubeDL",
        person="cara",
    ),
    Route("services", "/services", "2 shown", "Services · KubeDL"),
    Route("service-rollout", "/services/nlp/support-chat", "Roll back", "support-chat · Services · KubeDL"),
    Route(
        "service-weights",
        "/services/vision/image-tag",
        "Would get",
        "image-tag · Services · KubeDL",
        press="Change weights",
    ),
    Route(
        "service-version",
        "/services/vision/image-tag",
        "All its servers go over to it",
        "image-tag · Services · KubeDL",
        press="Change version",
    ),
    Route("serve", "/submit?serve=vision/vit-g14/vit-g14-v2", "A service is written as YAML", "Submit a job · KubeDL"),
    Route("queues", "/queues", "Queues of namespaces", "Queues · KubeDL"),
    Route("nodes", "/nodes", "8 of 8", "Nodes · KubeDL"),
    Route("node", "/nodes/a100-04", "vit-g14-finetune-worker-1", "a100-04 · Nodes · KubeDL"),
    Route("crons", "/crons", "2 shown", "Crons · KubeDL"),
    Route("cron", "/crons/nlp/dlrm-daily", "dlrm-daily-7", "dlrm-daily · Crons · KubeDL"),
    Route("cost", "/cost", "The history is not installed.", "Cost · KubeDL"),
    Route("past-job", "/jobs/nlp/pytorchjob/gone/some-uid", "no database of the history", "gone · Jobs · KubeDL"),
    Route("sign-in", "/jobs", "Sign in with a Kubernetes token", "Sign in · KubeDL", person="nobody"),
    Route("nodes-forbidden", "/nodes", "May not list nodes.", "Nodes · KubeDL", person="ben"),
    Route("queues-forbidden", "/queues", "hidden from you.", "Queues · KubeDL", person="ben"),
    Route(
        "model-forbidden",
        "/models/nlp/llama3-8b-sft",
        "has no right to list",
        "llama3-8b-sft · Models · KubeDL",
        person="ben",
    ),
    Route("job-none", "/jobs/nlp/pytorchjob/not-there", "No PyTorchJob", "not-there · Jobs · KubeDL"),
    Route("model-none", "/models/nlp/not-there", "No Model", "not-there · Models · KubeDL"),
    Route("overview-cut", "/", "Disconnected", "Overview · KubeDL", cut=True),
    Route("overview-hidden", "/", "Jobs are hidden from you.", "Overview · KubeDL", person="cara"),
    Route("signed-out", "/crons", "Your sign-in has ended.", "Crons · KubeDL", person="left", ends=True),
    Route("nowhere", "/nowhere", "There is no such page.", "No such page · KubeDL"),
)


def visits() -> list[dict[str, object]]:
    """Every route in one width and colour scheme, drawn by the commit; in a proof in all of them."""
    found = []
    for route in ROUTES:
        looks = list(product(WIDTHS, SCHEMES))
        dice = random.Random(f"{seed()} {route.name}")  # noqa: S311 - no secret
        for width, scheme in looks if FULL else [dice.choice(looks)]:
            found.append({**asdict(route), "width": width, "scheme": scheme})
    return found


def unvisited() -> list[str]:
    """The console's own routes that no visit opens."""
    patterns = re.findall(r'path: "([^"]+)"', ROUTES_OF_THE_CONSOLE.read_text())
    paths = [route.path.partition("?")[0] for route in ROUTES]
    return [one for one in patterns if not any(re.fullmatch(re.sub(r"\$\w+", "[^/]+", one), path) for path in paths)]
