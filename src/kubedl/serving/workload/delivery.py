"""Renders the Deployment of a predictor, and chooses how its pods get the model. Pure.

Pods are kept until the request changes, or another client edits them. New ones mount the image of the model, unless the
API server strips the volume; then they copy it.
"""

from collections.abc import Mapping
from dataclasses import replace

from kubedl.api.inference import GROUP
from kubedl.kube.errors import ForbiddenError, InvalidError
from kubedl.kube.types.apps import Deployment
from kubedl.kube.types.meta import ObjectKey
from kubedl.serving.inquiry import DryRun, PullSecrets
from kubedl.serving.observed import Observed
from kubedl.serving.pod_diagnostics import cannot_mount, cannot_pull
from kubedl.serving.workload import deployment, model_init_container, requested_template, template
from kubedl.serving.workload.deployment import PredictorWorkload
from kubedl.serving.workload.model_init_container import DeliveryMode, Program
from kubedl.serving.workload.template import Body

# Annotations: pull secrets in its pods that come from the ServiceAccount, and from the operator.
ACCOUNT_SECRETS, LOADER_SECRETS = f"{GROUP}/account-pull-secrets", f"{GROUP}/loader-pull-secrets"
EXCEEDED = "exceeded quota"  # the API server's words for a ResourceQuota without room


def render(observed: Observed, servers: PredictorWorkload, program: Program) -> Body:
    """Render the Deployment.

    Raises TemplateError if the template is invalid, ApiError if the API server rejects the pod, and UnansweredError.
    """
    found = observed.deployments.get(servers.name)
    if found is not None and requested_template.is_requested(observed, servers, found):
        return _kept(observed, servers, found, program)
    wish = servers.predictor.loader
    if servers.model is None or wish != "Auto":
        return _made(observed, servers, model_init_container.delivery_mode(wish), program)
    return _probed(observed, servers, found, program)


def _kept(observed: Observed, servers: PredictorWorkload, found: Deployment, program: Program) -> Body:
    notes, pods = found.metadata.annotations, observed.pods_of(servers.predictor.name, servers.track)
    mode = model_init_container.delivery_mode(notes.get(deployment.LOADER, ""))
    if mode == "ImageVolume" and servers.predictor.loader == "Auto" and cannot_mount(pods):
        return _made(observed, servers, "InitCopy", program)
    pod, secrets = found.spec.template, _pull_secrets(notes)
    if pod is None or servers.name in observed.edited:
        return _made(observed, servers, mode, program)
    if cannot_pull(pods) and (program.pull_secrets or pod.unpack()["spec"].get("imagePullSecrets")):
        # The pull secrets of the ServiceAccount or of the operator may have been fixed meanwhile, which a failing pod
        # does not pick up by itself.
        made = _made(observed, servers, mode, program)
        if _pull_secrets(made["metadata"]["annotations"]) != secrets:
            return made
    body = deployment.deployment(servers, mode, pod, requested_template.requested_digest(servers))
    body["metadata"]["annotations"].update(secrets)
    return body


def _pull_secrets(annotations: Mapping[str, str]) -> dict[str, str]:
    return {key: annotations[key] for key in (ACCOUNT_SECRETS, LOADER_SECRETS) if key in annotations}


def _probed(observed: Observed, servers: PredictorWorkload, found: Deployment | None, program: Program) -> Body:
    """Dry-run a pod with an image volume, to see whether the API server strips the volume."""
    mounted = _made(observed, servers, "ImageVolume", program)
    copied = _made(observed, servers, "InitCopy", program)
    try:
        answer: Body = observed.answer(_dry_run(servers, "ImageVolume", mounted))
    except (ForbiddenError, InvalidError) as refusal:
        if found is not None and EXCEEDED in refusal.message and _frees_quota(mounted):
            # Quotas are checked last, so nothing else is against the pod.
            mode = model_init_container.delivery_mode(found.metadata.annotations.get(deployment.LOADER, ""))
            return copied if mode == "InitCopy" else mounted
        try:
            observed.answer(_dry_run(servers, "InitCopy", copied))
        except (ForbiddenError, InvalidError):
            raise refusal from None
        return copied
    image = servers.model.image if servers.model is not None else ""
    return mounted if model_init_container.survived(answer, image) else copied


def _frees_quota(made: Body) -> bool:
    """Return whether an update may delete old pods before there are new ones."""
    rolling = made["spec"]["strategy"].get("rollingUpdate") or {}
    return rolling.get("maxUnavailable") not in (0, "0%")


def _dry_run(servers: PredictorWorkload, mode: DeliveryMode, made: Body) -> DryRun:
    return DryRun(servers.name, mode, made["metadata"]["namespace"], deployment.pod(made))


def _made(observed: Observed, servers: PredictorWorkload, mode: DeliveryMode, program: Program) -> Body:
    """Return the Deployment with pods as this operator renders them."""
    pulls = servers.model is not None and (mode == "ImageVolume" or bool(program.pull_secrets))
    account = _account_secrets(observed, servers) if pulls else ()
    with_account = replace(program, account_secrets=account)
    body = deployment.deployment(servers, mode, with_account, requested_template.requested_digest(servers))
    loader = program.pull_secrets if pulls else ()
    secrets = {ACCOUNT_SECRETS: ",".join(account), LOADER_SECRETS: ",".join(loader)}
    body["metadata"]["annotations"].update({key: names for key, names in secrets.items() if names})
    return body


def _account_secrets(observed: Observed, servers: PredictorWorkload) -> tuple[str, ...]:
    """Return the pull secrets of the ServiceAccount, which a pod without its own gets."""
    spec = template.read(servers.predictor.name, servers.predictor.template)["spec"]
    if spec.get("imagePullSecrets"):
        return ()
    name = spec.get("serviceAccountName") or spec.get("serviceAccount") or "default"
    account = ObjectKey(servers.inference.metadata.namespace, str(name))
    secrets: tuple[str, ...] = observed.answer(PullSecrets(account))
    return secrets
