"""Batching of each server: a file for TF Serving, model configuration for Triton and MLServer, a flag for vLLM.

There is no batching proxy. Configuration next to the model is written by the loader, which knows the files; the file of
TF Serving is a pod annotation, mounted by the downward API.
"""

from kubedl.api.inference import Framework
from kubedl.api.inference_scaling import Batching
from kubedl.serving.workload import model_servers
from kubedl.serving.workload.template import Body

ANNOTATION = "serving.kubedl.io/batching"
VOLUME, PATH, FILE = "kubedl-settings", "/kubedl/settings", "batching.txt"


def loader_arguments(framework: Framework, batching: Batching | None) -> tuple[str, ...]:
    """Return the settings that the loader writes next to the model."""
    if batching is None:
        return ()
    wait = batching.wait_milliseconds
    if framework == "Triton":
        return ("--triton-batching", _pair(batching.batch_size, None if wait is None else wait * 1000))
    if framework == "MLServer":
        # It batches only if both are set.
        return ("--mlserver-batching", f"{batching.batch_size},{(wait if wait is not None else 10) / 1000:g}")
    return ()


def add(framework: Framework, template: Body, container: Body, batching: Batching | None) -> None:
    """Return the flags and volumes of the server."""
    if batching is None:
        return
    if framework == "vLLM":
        model_servers.with_arguments(container, f"--max-num-seqs={batching.batch_size}")
    elif framework == "TFServing":
        template["metadata"]["annotations"][ANNOTATION] = parameters(batching)
        items = [{"path": FILE, "fieldRef": {"fieldPath": f"metadata.annotations['{ANNOTATION}']"}}]
        volume = {"name": VOLUME, "downwardAPI": {"items": items}}
        template["spec"]["volumes"] = [*template["spec"]["volumes"], volume]
        container["volumeMounts"] = [
            *container["volumeMounts"],
            {"name": VOLUME, "mountPath": PATH, "readOnly": True},
        ]
        model_servers.with_arguments(container, "--enable_batching=true", f"--batching_parameters_file={PATH}/{FILE}")


def parameters(batching: Batching) -> str:
    """Return the configuration file of TF Serving."""
    lines = [f"max_batch_size {{ value: {batching.batch_size} }}"]
    if batching.wait_milliseconds is not None:
        lines.append(f"batch_timeout_micros {{ value: {batching.wait_milliseconds * 1000} }}")
    return "\n".join(lines) + "\n"


def _pair(size: int, micros: int | None) -> str:
    return f"{size}" if micros is None else f"{size},{micros}"
