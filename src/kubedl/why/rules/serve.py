"""Inferences that do not serve: versions, loading, readiness, gateways, rollouts, autoscaling."""

from collections.abc import Callable

from kubedl.why.evidence import Evidence, Object, items_of, part_of, text_of
from kubedl.why.rule import Gate, Match, Rule, Try

VERSION = ("ModelVersionNotFound", "ModelNotBuilt", "ModelBuildFailed")
LOAD = ("ModelNotLoaded", "ModelMissing", "ModelIncomplete", "ImageVolumeMountFailed")
UNREADY = ("PodsNotReady", "CrashLoopBackOff")
REFUSED = ("PodsRefused", "Forbidden", "Invalid", "Refused", "NameTaken", "TemplateInvalid", "FailedCreate")
GATEWAY = ("NoGateway", "GatewayApiNotInstalled", "NoRoute", "GatewaySilent")
ROUTE = ("Accepted", "ResolvedRefs")
MEASURING = ("TooFewRequests", "NoMetrics")
ROLLED_BACK = ("ErrorRate", "Latency", "Unstable", "NotReady", "Aborted", "PromotionStuck")
SCALER = ("KedaNotInstalled",)


def predictors(evidence: Evidence) -> list[Object]:
    """Return the status of each predictor."""
    return items_of(evidence.status, "predictorStatuses")


def _values(one: Object) -> dict[str, str]:
    rollout = part_of(one, "rollout")
    weight = text_of(one, "trafficPercent") or text_of(one, "trafficWeight")
    return {
        "predictor": text_of(one, "name"),
        "version": text_of(one, "modelVersion"),
        "reason": text_of(one, "reason"),
        "words": text_of(one, "message"),
        "replicas": text_of(one, "replicas") or "0",
        "candidate": text_of(rollout, "candidate") or text_of(rollout, "rejected"),
        "weight": weight or "0",
        "rollout": text_of(rollout, "message"),
        "step": text_of(rollout, "step"),
    }


def because(*reasons: str) -> Callable[[Evidence], Match | None]:
    """Return the check of a rule about reasons of a predictor."""

    def when(evidence: Evidence) -> Match | None:
        for one in predictors(evidence):
            if one.get("reason") in reasons:
                wanted = {text_of(spec, "name"): spec for spec in items_of(evidence.spec, "predictors")}
                named = text_of(wanted.get(text_of(one, "name")), "modelVersion")
                values = _values(one)
                values["version"] = values["version"] or named
                # A version that does not exist cannot be asked about: those that do are shown instead.
                is_there = one.get("reason") != "ModelVersionNotFound"
                values["asked"], values["among"] = (values["version"], "") if is_there else ("", evidence.namespace)
                return Match(values | _of_version(evidence, reasons))
        return None

    return when


def _of_version(evidence: Evidence, reasons: tuple[str, ...]) -> dict[str, str]:
    """Return what the ModelVersion itself says, if it is the matter."""
    version = evidence.get("version") if reasons == VERSION else None
    status = part_of(version, "status")
    said = text_of(status, "message")
    done, total = text_of(status, "progress", "bytesDone"), text_of(status, "progress", "bytesTotal")
    return {"build": said, "progress": f"{done} of {total} bytes" if done and total else ""}


def gateway(evidence: Evidence) -> Match | None:
    for one in items_of(evidence.status, "conditions"):
        reason, failed = text_of(one, "reason"), one.get("status") == "False"
        if failed and (reason in GATEWAY or one.get("type") in ROUTE):
            return Match({"reason": reason, "words": text_of(one, "message")})
    return None


def in_rollout(phases: tuple[str, ...], reasons: tuple[str, ...]) -> Callable[[Evidence], Match | None]:
    """Return the check of a rule about the state of a rollout."""

    def when(evidence: Evidence) -> Match | None:
        for one in predictors(evidence):
            rollout = part_of(one, "rollout")
            phase, reason = text_of(rollout, "phase"), text_of(rollout, "reason")
            if (not phases or phase in phases) and reason in reasons:
                since = evidence.ago(rollout.get("stepSince") or rollout.get("since"))
                values = _values(one) | {"reason": reason, "since_": f", since {since}" if since else ""}
                return Match(values | {"words": text_of(rollout, "message")})
        return None

    return when


def zero(evidence: Evidence) -> Match | None:
    """No pods are wanted."""
    ready = evidence.condition("Ready").get("status")
    wanted = {text_of(one, "name"): one.get("replicas") for one in items_of(evidence.spec, "predictors")}
    for one in predictors(evidence):
        if ready != "True" and one.get("replicas") == 0 and wanted.get(text_of(one, "name")) == 0:
            return Match(_values(one))
    return None


_ABOUT = ("inference",)
_DESCRIBE = Try("kubectl describe inference {name} -n {ns}", "its conditions and events")
_COMMAND = "kubectl annotate inference {name} -n {ns} --overwrite serving.kubedl.io/rollout="
RULES = (
    Rule(
        "serve.version",
        Gate.SERVE,
        because(*VERSION),
        "{predictor} waits for ModelVersion {version}: {words}.",
        shows=(("reason", "{reason}"), ("build", "{build}"), ("progress", "{progress}")),
        tries=(
            Try("kubedl why modelversion/{asked}", "why it has no image"),
            Try("kubectl get modelversions -n {among}", "the versions that exist"),
        ),
        about=_ABOUT,
    ),
    Rule(
        "serve.load",
        Gate.SERVE,
        because(*LOAD),
        "{predictor} starts without its whole model: {words}.",
        shows=(("reason", "{reason}"), ("version", "{version}")),
        tries=(_DESCRIBE,),
        about=_ABOUT,
    ),
    Rule(
        "serve.refused",
        Gate.SERVE,
        because(*REFUSED),
        "Pods of {predictor} are refused: {words}.",
        shows=(("reason", "{reason}"),),
        tries=(_DESCRIBE,),
        about=_ABOUT,
    ),
    Rule(
        "serve.unready",
        Gate.SERVE,
        because(*UNREADY),
        "None of {replicas} servers of {predictor} is ready: {words}.",
        shows=(("version", "{version}"),),
        tries=(
            Try(
                "kubectl logs -n {ns} --all-containers "
                "-l serving.kubedl.io/inference={name},serving.kubedl.io/predictor={predictor}",
                "what they print",
            ),
        ),
        about=_ABOUT,
    ),
    Rule(
        "serve.scaler",
        Gate.SERVE,
        because(*SCALER),
        "The autoscaler of {predictor} cannot work: {words}.",
        shows=(("reason", "{reason}"),),
        tries=(_DESCRIBE,),
        about=_ABOUT,
    ),
    Rule(
        "serve.zero",
        Gate.SERVE,
        zero,
        "{predictor} is scaled to zero: no server is wanted.",
        tries=(Try("kubectl edit inference {name} -n {ns}", "spec.predictors[].replicas"),),
        about=_ABOUT,
        explains=("serve.unready",),
    ),
    Rule(
        "serve.gateway",
        Gate.SERVE,
        gateway,
        "Requests cannot be shared: {words}.",
        shows=(("reason", "{reason}"),),
        tries=(_DESCRIBE,),
        about=_ABOUT,
    ),
    Rule(
        "serve.rolled-back",
        Gate.SERVE,
        in_rollout(("RolledBack",), ROLLED_BACK),
        "{candidate} was rolled back: {words}.",
        shows=(("reason", "{reason}"), ("predictor", "{predictor}")),
        tries=(Try(_COMMAND + "retry", "tries the version again"),),
        about=_ABOUT,
    ),
    Rule(
        "serve.paused",
        Gate.SERVE,
        in_rollout((), ("Paused",)),
        "{candidate} waits at {weight} % for a person{since_}.",
        shows=(("says", "{words}"), ("predictor", "{predictor}")),
        tries=(Try(_COMMAND + "next", "goes to the next step"), Try(_COMMAND + "abort", "goes back")),
        about=_ABOUT,
    ),
    Rule(
        "serve.measuring",
        Gate.SERVE,
        in_rollout((), MEASURING),
        "{candidate} stays at {weight} %: {words}.",
        shows=(("reason", "{reason}"), ("predictor", "{predictor}")),
        tries=(Try(_COMMAND + "next", "goes on without figures"),),
        about=_ABOUT,
    ),
)
