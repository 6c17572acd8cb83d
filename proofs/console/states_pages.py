"""The pages of the console, and what each must say in each state that it can be in."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

TEAM = "states"  # begins the names of namespaces
GONE = "gone-job"
SECRET = ("llama-lora", "chat-v1")  # names that nobody reads who may not list their kinds
NO_RIGHT = "has no right to list"
DOWN = "The history cannot be read now."
NO_HISTORY = "The history is not installed."
NO_PROMETHEUS = "this console has no Prometheus to ask"
UNMEASURED = "Prometheus does not answer"
CONSOLE_AWAY, SERVER_AWAY = "The console does not answer.", "The API server does not answer."
Words = Sequence[str]


@dataclass(frozen=True)
class Page:
    """A page, its title, and words by state; in a state that has none it says what it says in health."""

    name: str
    path: str
    title: str
    well: Words
    states: Mapping[str, Words] = field(default_factory=dict)
    shared: bool = False  # made of the list of jobs, which every page has: it does not ask by itself
    kept: bool = True  # whether what was read once stays while nobody answers: an error does not

    def words(self, state: str) -> Words:
        """What it must say."""
        return self.states.get(state, self.well)


def pages(namespace: str, uid: str) -> list[Page]:
    """Every page; `uid` is that of the deleted job."""
    job = f"/jobs/{namespace}/pytorchjob"

    def stored(down: str = DOWN, forbidden: Words = ("namespace is hidden",)) -> dict[str, Words]:
        return {"not installed": (NO_HISTORY,), "down": (down, "Try again"), "forbidden": forbidden}

    return [
        Page(
            "overview",
            "/",
            "Overview",
            ("5 free of 12", "llama-lora", "bert", "Jobs by user"),
            {
                "empty": ("no node has any", "Nothing waits, and nothing failed today."),
                "forbidden": ("May not list nodes.", "Jobs are hidden from you.", "1 namespace is hidden"),
            },
            shared=True,
        ),
        Page(
            "jobs",
            "/jobs",
            "Jobs",
            ("llama-lora", "2 of 2 pods wait", "3 live"),
            {
                "empty": ("There are no jobs that you may see.", "Submit one"),
                "forbidden": ("There are no jobs that you may see.", "1 namespace is hidden; ask an administrator"),
            },
            shared=True,
        ),
        Page(
            "jobs that match nothing",
            "/jobs?q=none-like-it",
            "Jobs",
            ("No job matches.", "Clear filters"),
            {"empty": ("There are no jobs",), "forbidden": ("There are no jobs that you may see.",)},
            shared=True,
        ),
        Page(
            "deleted jobs",
            "/jobs?view=deleted",
            "Jobs",
            (GONE, "1 from the history"),
            {**stored(), "empty": ("The history has no deleted jobs that you may see.",)},
        ),
        Page("job", f"{job}/bert", "bert", ("Restarts", "worker", "Pods and log"), {"forbidden": (NO_RIGHT,)}),
        Page(
            "events of a job", f"{job}/resnet?tab=events", "resnet", ("ran out of memory",), {"forbidden": (NO_RIGHT,)}
        ),
        Page(
            "job that is not there",
            f"{job}/nobody",
            "nobody",
            ("No PyTorchJob", "Look in the list of jobs"),
            {"forbidden": (NO_RIGHT,)},
            kept=False,
        ),
        Page(
            "deleted job",
            f"{job}/{GONE}/{uid}",
            GONE,
            ("Receipt", "Waited for nodes"),
            {**stored(forbidden=(NO_RIGHT,)), "not installed": ("no database of the history",)},
        ),
        Page(
            "submit", "/submit", "Submit a job", ("A check creates nothing.",), {"empty": ("A check creates nothing.",)}
        ),
        Page(
            "models",
            "/models",
            "Models",
            ("chat", "1 shown"),
            {
                "empty": ("There are no models that you may see.", "spec.modelVersion"),
                "forbidden": ("Models are hidden from you.", "list models.model.kubedl.io"),
            },
        ),
        Page(
            "model",
            f"/models/{namespace}/chat",
            "chat",
            ("chat-v1", "Where it comes from, and who serves it"),
            {"forbidden": (NO_RIGHT,)},
        ),
        Page(
            "services",
            "/services",
            "Services",
            ("front", "1 shown"),
            {
                "not installed": ("front", NO_PROMETHEUS),
                "down": ("front", UNMEASURED),
                "empty": ("There are no services that you may see.", "kubedl serve --help"),
                "forbidden": ("Services are hidden from you.", "list inferences.serving.kubedl.io"),
            },
        ),
        Page(
            "service",
            f"/services/{namespace}/front",
            "front",
            ("Traffic", "main"),
            {"not installed": ("Traffic", NO_PROMETHEUS), "down": ("Traffic", UNMEASURED), "forbidden": (NO_RIGHT,)},
        ),
        Page(
            "queues",
            "/queues",
            "Queues",
            ("states-shared", "Waiting, in order", "Queues of namespaces"),
            {
                "not installed": ("Kueue is not installed.", "Jobs start as soon as nodes have room."),
                "empty": ("There are no queues.", "creates a ClusterQueue"),
                "forbidden": ("Queues are hidden from you.", "list clusterqueues"),
            },
        ),
        Page(
            "nodes",
            "/nodes",
            "Nodes",
            ("states-a", "states-b", "2 of 2"),
            {
                "empty": ("The cluster has no nodes.",),
                "forbidden": ("May not list nodes.", "kubectl create clusterrole"),
            },
        ),
        Page(
            "node",
            "/nodes/states-a",
            "states-a",
            ("Conditions", "bert-worker-0"),
            {"forbidden": ("May not list nodes.",)},
        ),
        Page(
            "crons",
            "/crons",
            "Crons",
            ("nightly", "0 3 * * *", "1 shown"),
            {
                "empty": ("There are no crons that you may see.", "at the times of a schedule"),
                "forbidden": ("Crons are hidden from you.", "list crons.apps.kubedl.io"),
            },
        ),
        Page(
            "cron",
            f"/crons/{namespace}/nightly",
            "nightly",
            ("Last runs", "It has not run yet."),
            {"forbidden": (NO_RIGHT,)},
        ),
        Page(
            "cost",
            "/cost",
            "Cost",
            ("Spent", "By day", "Ended jobs"),
            {
                **stored(forbidden=("No job that you may see has used anything", "1 namespace is hidden")),
                "empty": ("No job that you may see has used anything in this time.", "Receipts are written"),
            },
        ),
    ]
