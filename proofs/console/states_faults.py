"""What is done to the console and to what it reads, one fault a function, and what every page must show then."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from harness.drivers import console_objects
from harness.drivers.console_process import ConsoleProcess, token_of
from harness.drivers.databases import Postgres
from harness.drivers.prometheus import RealPrometheus
from proofs.console.states_pages import CONSOLE_AWAY, NO_RIGHT, SECRET, SERVER_AWAY
from proofs.console.states_scene import Scene
from proofs.console.states_table import Table
from proofs.console.windows import Windows
from testbed.faults import Faults

SOON = 10.0  # seconds until a page that waits shows its skeleton
MEMORY = 90.0  # seconds until a right or an account that was taken away is noticed, and a little more
RETURN = 90.0  # seconds until a page that was cut off goes on
DOWN_PARTS = ("cost", "deleted jobs", "deleted job", "services", "service")


@dataclass(frozen=True)
class Sources:
    """What a console asks besides the API server."""

    database: Postgres
    prometheus: RealPrometheus

    @property
    def asked(self) -> tuple[str, ...]:
        """Arguments of a console."""
        return (f"--prometheus={self.prometheus.url}",)


@dataclass(frozen=True)
class Play:
    """Everything that a fault needs."""

    table: Table
    windows: Windows
    console: ConsoleProcess
    scene: Scene
    sources: Sources

    def visit(
        self,
        state: str,
        who: str,
        *,
        also: Sequence[str] = (),
        never: Sequence[str] = (),
        load: bool = False,
        stale: bool = False,
        words: str = "",
    ) -> None:
        """Look at every page as somebody, by links or loading it; with words of its own, or those of another state."""
        for page in self.table.pages:
            if stale and not page.kept:
                continue
            wanted = (*page.words(words or state), *also)
            shown = self.windows.visit(who, page.path, wanted, load=load)
            self.table.judge(state, page, shown, never=never, stale=stale)
            if not load:
                self.table.stayed(state, shown)

    def read(self, who: str) -> None:
        """Read every page again: a window forgets those that it has not shown for five minutes."""
        for page in self.table.pages:
            self.windows.visit(who, page.path, page.well)


def empty(play: Play, token: str) -> None:
    """There is nothing yet: each list says so, and what comes next."""
    play.windows.open("ada", token)
    for page in play.table.pages:
        if "empty" in page.states:
            play.table.judge("empty", page, play.windows.visit("ada", page.path, page.words("empty")))


def well(play: Play, token: str) -> None:
    """Everything works. The window has then read every page."""
    play.windows.open("ada", token)
    play.visit("well", "ada", also=("Live",))


def frozen(play: Play, token: str) -> None:
    """The console stands still: what waits shows its skeleton, what is there stays and is dimmed."""
    play.windows.open("new", token)
    play.windows.look("new", ("Live", "5 free of 12"))
    with _frozen(play.console):
        for page in play.table.pages:
            if not page.shared:
                shown = play.windows.visit("new", page.path, skeleton=True, within=SOON)
                play.table.judge("loading", page, shown, skeleton=True)
        play.windows.look("ada", ("Last heard",))
        play.visit("stale", "ada", also=("Last heard",), stale=True, words="well")
    last = play.table.pages[-1]
    for who in ("ada", "new"):
        shown = play.windows.look(who, (*last.well, "Live"), within=RETURN)
        play.table.judge("after a standstill", last, shown)
        play.table.stayed("after a standstill", shown)


def killed(play: Play, token: str) -> None:
    """The console is dead: what was read stays, all else says that nobody answers; then all goes on by itself."""
    play.windows.open("cold", token)
    play.windows.look("cold", ("Live", "5 free of 12"))
    play.read("ada")
    play.console.kill()
    play.windows.look("ada", ("Disconnected, last heard",))
    play.visit("disconnected", "ada", also=("Disconnected",), stale=True, words="well")
    _cold(play, "cold", "disconnected, not read before", CONSOLE_AWAY)
    play.console.__enter__()
    _returned(play, ("ada", "cold", "new"), "after a death of the console")


def server_killed(play: Play, token: str) -> None:
    """The API server is dead: the page says within seconds that it is silent, and who it is that does not answer."""
    play.windows.open("behind", token)
    play.windows.look("behind", ("Live", "5 free of 12"))
    play.read("ada")
    with Faults(play.scene.cluster).dead("kube-apiserver"):
        play.windows.look("ada", ("Cluster silent for",))
        shown = play.windows.look("ada", ("Cluster does not answer, last heard",), within=MEMORY)
        play.table.insist("API server dead", "the dot says it", shown, holds=not shown.missing)
        play.visit("API server dead", "ada", also=("Cluster does not answer",), stale=True, words="well")
        _cold(play, "behind", "API server dead, not read before", SERVER_AWAY)
        play.windows.open("late", token)
        shown = play.windows.look("late", (SERVER_AWAY, "Try again"))
        play.table.insist("API server dead", "a window that is opened now says it", shown, holds=not shown.missing)
    _returned(play, ("ada", "behind"), "after a death of the API server")
    shown = play.windows.look("late", ("5 free of 12", "Live"), within=RETURN)
    play.table.judge("after a death of the API server", play.table.pages[0], shown)
    play.table.stayed("after a death of the API server", shown)


def parts_down(play: Play, _: str) -> None:
    """Database and Prometheus are dead: their pages and columns say so, all others are as before; and back again."""
    play.sources.database.kill()
    play.sources.prometheus.kill()
    try:
        play.visit("down", "ada", load=True)
    finally:
        play.sources.database.start()
        play.sources.prometheus.__enter__()
    for page in play.table.pages:
        if page.name in DOWN_PARTS:
            play.table.judge("back", page, play.windows.visit("ada", page.path, page.well, load=True, within=RETURN))


def rights_removed(play: Play, _: str) -> None:
    """Somebody who has read every page may no longer: each names the right, and shows nothing of before."""
    with play.scene.person("eve") as (token, rights):
        play.windows.open("eve", token)
        for page in play.table.pages:
            play.windows.visit("eve", page.path, page.well)
        rights.close()
        play.windows.visit("eve", "/jobs", ("1 namespace is hidden",), within=MEMORY)
        play.visit("forbidden", "eve", never=SECRET)
        play.visit("forbidden, loaded", "eve", never=SECRET, load=True, words="forbidden")
    part = token_of(play.scene.cluster, play.scene.team.namespace, "cara", *_jobs_alone())
    play.windows.open("cara", part)
    job = next(page for page in play.table.pages if page.name == "job")
    for tab, words in (("log", "Pods and logs are hidden from you."), ("events", "Events are hidden from you.")):
        shown = play.windows.visit("cara", f"{job.path}?tab={tab}", ("The right to list", words, "Restarts"))
        play.table.judge(f"forbidden in part, {tab}", job, shown, never=("bert-worker-0", NO_RIGHT))


def kueue_silent(play: Play, _: str) -> None:
    """Queues of which Kueue has said nothing have no figures."""
    play.scene.silence_kueue()
    queues = next(page for page in play.table.pages if page.name == "queues")
    words = ("Kueue has not said who is admitted", "not seen by Kueue yet", "\u2013 of 10")
    play.table.judge("Kueue silent", queues, play.windows.visit("ada", queues.path, words))


FAULTS: dict[str, Callable[[Play, str], None]] = {  # those of a console that everybody looks at
    "frozen": frozen,
    "killed": killed,
    "server_killed": server_killed,
    "parts_down": parts_down,
    "rights_removed": rights_removed,
    "kueue_silent": kueue_silent,
}


def signed_out(table: Table, scene: Scene, directory: Path, sources: Sources) -> None:
    """An account is deleted while it looks at a page: a dialog over the page as it is, which then goes on."""
    history = sources.database.url()
    with (
        scene.person("dora") as (token, _),
        ConsoleProcess(scene.cluster, directory, *sources.asked, mode="token", history=history) as console,
        Windows(console.url) as windows,
    ):
        play = Play(table, windows, console, scene, sources)
        windows.open("dora", "", "/jobs")
        windows.sign_in("dora", token)
        windows.look("dora", ("Live",))
        play.read("dora")
        windows.visit("dora", "/jobs", ("bert",))
        windows.type("dora", "Filter", "lora")
        account = f"{scene.team.path('', 'serviceaccounts')}/dora"
        scene.connection.delete(account)
        ended = ("Signed out", "Your sign-in has ended.", "llama-lora")
        shown = windows.look("dora", ended, within=MEMORY)
        table.insist(
            "signed out", "a dialog over the page", shown, holds=shown.dialog == "Signed out" and not shown.missing
        )
        for page in table.pages:
            if page.kept:
                shown = windows.visit("dora", page.path, (*page.well, "Your sign-in has ended."))
                table.judge("signed out", page, shown)
        windows.visit("dora", "/jobs?q=lora", ("llama-lora",))
        scene.connection.create(scene.team.path("", "serviceaccounts"), {"metadata": {"name": "dora"}})
        made = scene.connection.create(f"{account}/token", {"spec": {}})
        windows.sign_in("dora", made["status"]["token"])
        shown = windows.look("dora", ("Live", "llama-lora"))
        kept = not shown.dialog and shown.typed == ("lora",) and shown.path == "/jobs?q=lora" and not shown.missing
        table.insist("signed in again", "the page goes on where it was", shown, holds=kept)
        table.stayed("signed in again", shown)
        play.console.insist()


def not_installed(table: Table, scene: Scene, directory: Path, token: str) -> None:
    """No database, no Prometheus, no Kueue: the console starts, and each page says what it lacks."""
    scene.uninstall_kueue()
    with ConsoleProcess(scene.cluster, directory / "bare") as console, Windows(console.url) as windows:
        windows.open("ada", token)
        for page in table.pages:
            table.judge("not installed", page, windows.visit("ada", page.path, page.words("not installed"), load=True))


def _cold(play: Play, who: str, state: str, words: str) -> None:
    """Pages that this window has not read: those that ask by themselves say who does not answer."""
    for page in play.table.pages:
        wanted = page.well if page.shared else (words, "Try again")
        play.table.judge(state, page, play.windows.visit(who, page.path, wanted))


def _returned(play: Play, people: Sequence[str], state: str) -> None:
    """Every window goes on by itself: the last page was asked for in vain by some of them."""
    last = play.table.pages[-1]
    for who in people:
        shown = play.windows.look(who, (*last.well, "Live"), within=RETURN)
        play.table.judge(state, last, shown)
        play.table.stayed(state, shown)


def _jobs_alone() -> tuple[dict[str, list[str]], ...]:
    return ({"apiGroups": [console_objects.TRAINING], "resources": ["*"], "verbs": ["get", "list"]},)


@contextmanager
def _frozen(console: ConsoleProcess) -> Iterator[None]:
    console.freeze()
    try:
        yield
    finally:
        console.resume()
