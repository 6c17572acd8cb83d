"""Model images that are not made: from the condition of the ModelVersion, of a job or by itself."""

from collections.abc import Callable

from kubedl.why.evidence import Evidence, Object, condition_of, text_of
from kubedl.why.facts import registry_of
from kubedl.why.rule import Gate, Match, Rule, Try

TAG = ("TagConflict",)
LOGIN = ("Unauthorized", "BadCredentials", "Forbidden", "RepositoryMissing", "BadSigningKey")
REGISTRY = ("RegistryUnreachable", "RegistryFailed", "RegistryNotTrusted", "RegistryRefused")
FILES = ("BadModel", "SourceUnreadable", "SourceChanged", "BadOrder", "SpecInvalid")
POD = (
    "Unschedulable",
    "NotStarted",
    "PodLost",
    "PackerFailed",
    "InternalError",
    "PodForbidden",
    "PodNameTaken",
    "PodInvalid",
)


def version_of(evidence: Evidence) -> Object:
    """Return the ModelVersion: the object itself, or that of a job or predictor."""
    if evidence.subject == "model":
        return evidence.manifest
    if evidence.subject == "job" and not text_of(evidence.status, "modelVersionName"):
        return {}
    found = evidence.get("version")
    return found if isinstance(found, dict) else {}


def because(*reasons: str) -> Callable[[Evidence], Match | None]:
    """Return the check of a rule about reasons of a ModelVersion."""

    def when(evidence: Evidence) -> Match | None:
        if evidence.subject == "job" and evidence.state != "Succeeded":
            return None
        version = version_of(evidence)
        ready = condition_of(version.get("status"), "Ready")
        said, reason = text_of(ready, "message"), text_of(ready, "reason")
        if ready.get("status") != "False":
            return None
        if reason == "TryingAgain":  # the message begins with the reason of the last attempt
            reason = next((one for one in reasons if one in said), reason)
        if reason not in reasons:
            return None
        repository = text_of(version, "spec", "imageRepo")
        return Match(
            {
                "version": text_of(version, "metadata", "name"),
                "repository": repository or "its repository",
                "registry": registry_of(repository),
                "tag": text_of(version, "spec", "imageTag") or text_of(version, "status", "imageTag") or "of it",
                "secret": text_of(version, "spec", "dockerConfigSecret") or text_of(version, "spec", "registrySecret"),
                "attempts": text_of(version, "status", "attempts"),
                "reason": reason,
                "words": said,
            }
        )

    return when


def not_made(evidence: Evidence) -> Match | None:
    said = text_of(evidence.condition("Succeeded"), "message")
    return Match({"words": said}) if "no ModelVersion was created" in said else None


_BOTH = ("job", "model")
_TRIES = ("tries", "{attempts}")
_DESCRIBE = Try("kubectl describe modelversion {version} -n {ns}", "its conditions and events")
RULES = (
    Rule(
        "model.not-made",
        Gate.MODEL,
        not_made,
        "It succeeded and left no model: nobody mounted the model's storage.",
        shows=(("says", "{words}"),),
        over=True,
    ),
    Rule(
        "model.tag",
        Gate.MODEL,
        because(*TAG),
        "Tag {tag} of {repository} is another image already, and tags are never moved.",
        shows=(("says", "{words}"), ("version", "{version}")),
        tries=(
            Try(
                "kubectl get modelversion {version} -n {ns} -o yaml > {version}.yaml",
                "another imageTag in a new version",
            ),
        ),
        over=None,
        about=_BOTH,
    ),
    Rule(
        "model.login",
        Gate.MODEL,
        because(*LOGIN),
        "The registry does not accept the push to {repository}: {words}.",
        shows=(("reason", "{reason}"), ("version", "{version}"), _TRIES),
        tries=(
            Try(
                "kubectl create secret docker-registry NAME -n {ns} --docker-server={registry} --docker-username=USER "
                "--docker-password=PASSWORD",
                "and name it in the ModelVersion",
            ),
            _DESCRIBE,
        ),
        over=None,
        about=_BOTH,
    ),
    Rule(
        "model.registry",
        Gate.MODEL,
        because(*REGISTRY),
        "The registry of {repository} does not take the image: {words}.",
        shows=(("reason", "{reason}"), ("version", "{version}"), _TRIES),
        tries=(_DESCRIBE,),
        over=None,
        about=_BOTH,
    ),
    Rule(
        "model.files",
        Gate.MODEL,
        because(*FILES),
        "The model cannot be packed: {words}.",
        shows=(("reason", "{reason}"), ("version", "{version}"), _TRIES),
        tries=(_DESCRIBE,),
        over=None,
        about=_BOTH,
    ),
    Rule(
        "model.pod",
        Gate.MODEL,
        because(*POD),
        "The build pod does not do its work: {words}.",
        shows=(("reason", "{reason}"), ("version", "{version}"), _TRIES),
        tries=(_DESCRIBE,),
        over=None,
        about=_BOTH,
        yields=True,
    ),
)
