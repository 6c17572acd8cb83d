"""The manifest of an Inference from the flags of `serve submit`. Pure: nothing is asked of a cluster."""

import click

from kubedl.cli.serve.flags import ServeFlags
from kubedl.cli.submit import values
from kubedl.cli.submit.template import GPU, RESTRICTED, RESTRICTED_POD
from kubedl.cli.submit.values import Part, given

API_VERSION = "serving.kubedl.io/v1alpha1"
QUEUE = "kueue.x-k8s.io/queue-name"
HTTP, GRPC = 8080, 9000  # what TensorFlow Serving listens on, if it is told the model by arguments


def service_manifest(flags: ServeFlags) -> Part:
    """Return the Inference, with one predictor."""
    _check(flags)
    labels = values.pairs("--label", flags.label)
    annotations = values.pairs("--annotation", flags.annotation)
    own = labels | ({QUEUE: flags.queue} if flags.queue else {})
    metadata = given(name=flags.name, labels=own or None, annotations=annotations or None)
    spec = given(framework=flags.framework, gateway=_gateway(flags.gateway), predictors=[_predictor(flags)])
    return {"apiVersion": API_VERSION, "kind": "Inference", "metadata": metadata, "spec": spec}


def _check(flags: ServeFlags) -> None:
    """Refuse flags that mean nothing without others: none is ignored."""
    scaled = flags.min_replicas is not None or flags.target_cpu is not None
    if scaled and flags.max_replicas is None:
        raise click.UsageError("autoscaling needs a bound\nnext  --max-replicas N")
    if flags.max_replicas is not None and flags.replicas is not None:
        raise click.UsageError("--replicas is a number, --max-replicas a bound of autoscaling\nnext  one of them")
    if flags.batch_timeout is not None and flags.batch_size is None:
        raise click.UsageError("--batch-timeout needs --batch-size\nnext  --batch-size N")
    if flags.model_version and flags.model_name:
        raise click.UsageError(
            "--model-name: a ModelVersion has the name of its Model\nnext  leave out --model-name, or --model-version"
        )
    if flags.model_name and flags.framework != "TFServing":
        raise click.UsageError(f"--model-name: {flags.framework} finds models by their directories\nnext  leave it out")
    if flags.model_name and not flags.model_path:
        raise click.UsageError("--model-name needs --model-path\nnext  --model-path PATH, in a volume of --data")
    if flags.loader and not flags.model_version:
        raise click.UsageError("--loader loads a ModelVersion\nnext  --model-version NAME")


def _gateway(text: str | None) -> Part | None:
    if text is None:
        return None
    namespace, _, name = text.rpartition("/")
    if not name:
        raise values.wrong("--gateway", text, "NAME or NAMESPACE/NAME")
    return given(name=name, namespace=namespace or None)


def _predictor(flags: ServeFlags) -> Part:
    scale = given(minReplicas=flags.min_replicas, maxReplicas=flags.max_replicas, cpu=flags.target_cpu)
    batch = given(batchSize=flags.batch_size, timeoutMilliseconds=flags.batch_timeout)
    return given(
        name=flags.predictor,
        modelVersion=flags.model_version,
        modelPath=flags.model_path if flags.model_version else None,
        replicas=flags.replicas,
        autoScale=scale or None,
        batching=batch or None,
        loader=flags.loader,
        template=_template(flags),
    )


def _template(flags: ServeFlags) -> Part:
    volumes, mounts = values.mounts(flags.data, flags.data_dir)
    if flags.share_memory not in (None, "0"):
        volumes.append({"name": "shm", "emptyDir": {"medium": "Memory", "sizeLimit": flags.share_memory}})
        mounts.append({"name": "shm", "mountPath": "/dev/shm"})  # noqa: S108 - a mount, no file
    command, arguments = _words(flags)
    ports = given(http=flags.http_port, grpc=flags.grpc_port)
    container = given(
        name="server",
        image=flags.image,
        imagePullPolicy=flags.image_pull_policy,
        command=command or None,
        args=arguments or None,
        workingDir=flags.working_dir,
        env=_environment(flags) or None,
        ports=[{"name": name, "containerPort": number} for name, number in ports.items()] or None,
        resources=_resources(flags) or None,
        volumeMounts=mounts or None,
        securityContext=dict(RESTRICTED) if flags.restricted else None,
    )
    spec = given(
        containers=[container],
        volumes=volumes or None,
        nodeSelector=values.pairs("--selector", flags.selector) or None,
        tolerations=values.tolerations(flags.toleration) or None,
        serviceAccountName=flags.service_account,
        imagePullSecrets=[{"name": name} for name in flags.image_pull_secret] or None,
        securityContext=dict(RESTRICTED_POD) if flags.restricted else None,
    )
    labels, annotations = values.pairs("", flags.label), values.pairs("", flags.annotation)
    metadata = given(labels=labels or None, annotations=annotations or None)
    return given(metadata=metadata or None, spec=spec)


def _words(flags: ServeFlags) -> tuple[list[str], list[str]]:
    """Return command and arguments: words that begin with a dash are arguments of the image's own server."""
    words = list(flags.command)
    if words and words[0].startswith("-"):
        return [], [*_told(flags), *words]
    if len(words) == 1:
        return [flags.shell, "-c", words[0]], []
    return words, _told(flags) if not words else []


def _told(flags: ServeFlags) -> list[str]:
    """Return how a server is told of a model that is no ModelVersion: with one, the operator does that."""
    if flags.model_version or not flags.model_path:
        return []
    if flags.framework == "Triton":
        return ["tritonserver", f"--model-repository={flags.model_path}"]
    if flags.framework != "TFServing":
        raise click.UsageError(
            f"--model-path: {flags.framework} is not told of it without --model-version\n"
            "next  --model-version NAME, or the path among the arguments after --"
        )
    ports = [f"--port={flags.grpc_port or GRPC}", f"--rest_api_port={flags.http_port or HTTP}"]
    return [*ports, f"--model_name={flags.model_name or flags.name}", f"--model_base_path={flags.model_path}"]


def _environment(flags: ServeFlags) -> list[Part]:
    found = values.variables(flags.env)
    return [*found, {"name": "NVIDIA_VISIBLE_DEVICES", "value": "void"}] if flags.gpus == 0 else found


def _resources(flags: ServeFlags) -> Part:
    asked = given(cpu=flags.cpu, memory=flags.memory)
    devices = values.pairs("--device", flags.device) | ({GPU: str(flags.gpus)} if flags.gpus else {})
    return given(requests=asked or None, limits=asked | devices or None)
