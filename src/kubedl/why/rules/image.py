"""Images that cannot be pulled, and containers that cannot start. From the words of the kubelet and the runtime."""

import shlex
from collections.abc import Callable

from kubedl.kube.bounded_regex import BoundedPattern
from kubedl.why import message_patterns as patterns
from kubedl.why.evidence import Evidence, items_of, numbered, text_of
from kubedl.why.facts import (
    Container,
    about,
    containers,
    events_with,
    is_ready,
    name_of,
    node_of,
    phase_of,
    pod_named,
    registry_of,
    waiting_containers,
)
from kubedl.why.failures import first_death
from kubedl.why.rule import Gate, Match, Rule, Sure, Try

PULL = ("ErrImagePull", "ImagePullBackOff", "ErrPullImage", "RegistryUnavailable", "ImageInspectError")
CONFIG = ("CreateContainerConfigError", "CreateContainerError", "RunContainerError")
SLOW = 120.0  # seconds after which a pull is worth a word
NOT_STARTED = (126, 127, 128)
ANY = ("job", "model", "inference")


def _pulls(evidence: Evidence) -> list[tuple[Container, str]]:
    """Return the containers whose image cannot be pulled, with what the kubelet said about it.

    While it waits for the next try, only its event has the registry's words.
    """
    found = []
    for one in waiting_containers(evidence, *PULL):
        said = [
            text_of(event, "message")
            for event in events_with(evidence, "Failed", "FailedToRetrieveImagePullSecret")
            if about(event) == name_of(one.pod)
        ]
        found.append((one, " ".join([one.words, *said[-3:]])))
    return found


def _values(container: Container, said: str) -> dict[str, str]:
    secrets = [text_of(one, "name") for one in items_of(container.pod, "spec", "imagePullSecrets")]
    return {
        "image": container.image,
        "node": node_of(container.pod),
        "pod": name_of(container.pod),
        "says": said,
        "secret": ", ".join(one for one in secrets if one) or "none is named",
        "registry": registry_of(container.image),
    }


# The first kind of words that is found: a registry that denies may say "not found" as well.
KINDS: tuple[tuple[str, BoundedPattern], ...] = (
    ("rate", patterns.IMAGE_RATE),
    ("platform", patterns.IMAGE_PLATFORM),
    ("unreachable", patterns.IMAGE_UNREACHABLE),
    ("denied", patterns.IMAGE_DENIED),
    ("missing", patterns.IMAGE_MISSING),
)


def pulling(kind: str) -> Callable[[Evidence], Match | None]:
    """Return the check of a rule about one kind of refusal."""

    def when(evidence: Evidence) -> Match | None:
        pulls = _pulls(evidence)
        for one, said in pulls:
            named = next((name for name, pattern in KINDS if patterns.search(pattern, said) is not None), "other")
            if named == kind:
                return Match(_values(one, said), len(pulls))
        return None

    return when


def waiting_for(*reasons: str) -> Callable[[Evidence], Match | None]:
    """Return the check of a rule about a reason of the kubelet."""

    def when(evidence: Evidence) -> Match | None:
        found = waiting_containers(evidence, *reasons)
        return Match(_values(found[0], found[0].words), len(found)) if found else None

    return when


def slow(evidence: Evidence) -> Match | None:
    """A pull has begun, and has not ended for two minutes."""
    begun: dict[str, str] = {}
    for event in events_with(evidence, "Pulling", "Pulled", "Failed"):
        if event.get("reason") == "Pulling":
            begun[about(event)] = text_of(event, "lastTimestamp") or text_of(event, "eventTime")
        else:
            begun.pop(about(event), None)
    late = []
    for name, time in begun.items():
        pod, passed = pod_named(evidence, name), evidence.passed(time)
        if pod and phase_of(pod) == "Pending" and passed is not None and passed >= SLOW:
            late.append((passed, time, pod))
    if not late:
        return None
    _, time, pod = max(late, key=lambda one: one[0])
    creating = [one for one in containers(pod) if one.waiting in ("ContainerCreating", "PodInitializing")]
    images = [one.image for one in creating] or [text_of(one, "image") for one in items_of(pod, "spec", "containers")]
    nodes = {node_of(pod) for _, _, pod in late}
    return Match(
        {"image": (images or ["its image"])[0], "ago": evidence.ago(time), "nodes": numbered(len(nodes), "node")},
        len(late),
    )


def config(evidence: Evidence) -> Match | None:
    found = waiting_containers(evidence, *CONFIG)
    found = [one for one in found if patterns.search(patterns.NO_COMMAND, one.words) is None]
    if not found:
        return None
    one = found[0]
    lacking = patterns.search(patterns.OBJECT_MISSING, one.words)
    key = patterns.search(patterns.KEY_MISSING, one.words)
    create = ""
    if lacking is not None:
        kind = "secret generic" if lacking["kind"] == "secret" else "configmap"
        name = shlex.quote(lacking["name"])
        create = f"kubectl create {kind} {name} -n {evidence.namespace} --from-literal=KEY=VALUE"
    lacks = f"key {key['key']} of {key['kind']} {key['name']}" if key is not None else ""
    values = _values(one, one.words) | {"create": create, "lacks": lacks, "container": one.name}
    return Match(values, len(found))


def command(evidence: Evidence) -> Match | None:
    """The image has no such program."""
    for pod in evidence.pods:
        for one in containers(pod):
            said = one.words or text_of(one.ended, "message")
            named = patterns.search(patterns.NO_COMMAND, said)
            if named is not None and (one.waiting in CONFIG or one.exit_code in NOT_STARTED):
                return Match(_values(one, said) | {"command": named.get("command") or "such program"})
    death = first_death(evidence)
    if death is not None and death.exit_code in NOT_STARTED:
        named = patterns.search(patterns.NO_COMMAND, death.message) or {}
        image = next((one.image for pod in evidence.pods for one in containers(pod) if one.name == death.container), "")
        values = {"command": named.get("command") or "program of that name", "image": image, "says": death.last_line}
        return Match(values | {"pod": death.pod}, sure=Sure.CERTAIN if named else Sure.LIKELY)
    return None


def init(evidence: Evidence) -> Match | None:
    """An init container fails. Once the others have started, it is a sidecar, which ends as they end."""
    for pod in evidence.pods:
        if is_ready(pod) or any(one.has_started for one in containers(pod) if not one.is_init):
            continue
        for one in containers(pod):
            if one.is_init and one.exit_code:
                said = text_of(one.ended, "message").strip().splitlines()
                words_ = said[-1] if said else f"exit code {one.exit_code}"
                return Match({"container": one.name, "pod": name_of(pod), "says": words_})
    return None


_IMAGE = Try("kubedl get {name} -o yaml > {name}.yaml", "correct the image, kubedl delete {name}, kubectl apply")
_SAYS = ("kubelet", "{says}")
RULES = (
    Rule(
        "image.not-found",
        Gate.IMAGE,
        pulling("missing"),
        "Image {image} does not exist.",
        shows=(("node", "{node}"), _SAYS),
        tries=(_IMAGE,),
        over=None,
        about=ANY,
    ),
    Rule(
        "image.unauthorized",
        Gate.IMAGE,
        pulling("denied"),
        "The registry does not let the node pull {image}.",
        shows=(("secret", "{secret}"), ("node", "{node}"), _SAYS),
        tries=(
            Try(
                "kubectl create secret docker-registry NAME -n {ns} --docker-server={registry} --docker-username=USER "
                "--docker-password=PASSWORD",
                "and name it in imagePullSecrets",
            ),
        ),
        about=ANY,
    ),
    Rule(
        "image.unreachable",
        Gate.IMAGE,
        pulling("unreachable"),
        "{node} cannot reach the registry of {image}.",
        shows=(_SAYS,),
        about=ANY,
    ),
    Rule(
        "image.platform",
        Gate.IMAGE,
        pulling("platform"),
        "{image} is not for the processor of {node}.",
        shows=(_SAYS,),
        tries=(_IMAGE,),
        about=ANY,
    ),
    Rule(
        "image.rate",
        Gate.IMAGE,
        pulling("rate"),
        "The registry of {image} asks to slow down.",
        shows=(("secret", "{secret}"), _SAYS),
        about=ANY,
    ),
    Rule(
        "image.never",
        Gate.IMAGE,
        waiting_for("ErrImageNeverPull"),
        "{image} is not on {node} and may not be pulled (imagePullPolicy: Never).",
        tries=(_IMAGE,),
        about=ANY,
    ),
    Rule(
        "image.name",
        Gate.IMAGE,
        waiting_for("InvalidImageName"),
        "{image} is no image name.",
        shows=(_SAYS,),
        tries=(_IMAGE,),
        about=ANY,
    ),
    Rule(
        "image.other",
        Gate.IMAGE,
        pulling("other"),
        "{image} cannot be pulled on {node}.",
        shows=(_SAYS,),
        about=ANY,
    ),
    Rule(
        "image.slow",
        Gate.IMAGE,
        slow,
        "Pulling {image} for {ago} on {nodes}.",
        about=ANY,
    ),
    Rule(
        "start.command",
        Gate.START,
        command,
        "The image has no {command}.",
        shows=(("image", "{image}"), ("says", "{says}")),
        tries=(Try("kubedl logs {name}", "what it printed"),),
        over=None,
        about=ANY,
        explains=("run.", "end.", "start.config"),
    ),
    Rule(
        "start.config",
        Gate.START,
        config,
        "{pod} cannot start: {says}.",
        shows=(("container", "{container}"), ("lacks", "{lacks}")),
        tries=(Try("{create}", "makes what is missing"),),
        about=ANY,
    ),
    Rule(
        "start.init",
        Gate.START,
        init,
        "Init container {container} of {pod} fails: {says}.",
        tries=(Try("kubectl logs {pod} -n {ns} -c {container}", "its log"),),
        over=None,
        about=ANY,
        explains=("run.exit", "run.signal", "end."),
    ),
)
