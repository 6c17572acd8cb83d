"""Arena's words for servers, and flags of its `serve` that have another name here, or none."""

from kubedl.cli.submit.arena import Refusal

FRAMEWORKS = {
    "tfserving": "TFServing",
    "tensorflow": "TFServing",
    "tf": "TFServing",
    "triton": "Triton",
    "trt": "Triton",
    "tensorrt": "Triton",
    "mlserver": "MLServer",
    "vllm": "vLLM",
    "custom": "Custom",
}
_OWN_CRD = "it has its own objects and its own command"
NO_FRAMEWORKS = {
    "kserve": f"{_OWN_CRD}; `custom` or `mlserver` serve the same images",
    "kfserving": f"{_OWN_CRD}; `custom` or `mlserver` serve the same images",
    "seldon": f"{_OWN_CRD}; `mlserver` is Seldon's server",
    "distributed": "one model on several nodes is not here; `vllm` serves on the GPUs of one node",
}
RENAMED = {
    "--servingName": "--name",
    "--imagePullPolicy": "--image-pull-policy",
    "--image-pull-secrets": "--image-pull-secret",
    "--modelName": "--model-name",
    "--modelPath": "--model-path",
    "--model-repository": "--model-path",
    "--restful-port": "--http-port",
    "--restfulPort": "--http-port",
    "--port": "--grpc-port",
}
_VERSIONS = Refusal("versions are ModelVersions", "--model-version NAME; kubedl model list has them")
_GATEWAY = Refusal("traffic comes through a Gateway", "--gateway [NAMESPACE/]NAME (docs/how-to/share-traffic.md)")
_SHARED = Refusal("GPUs are shared by what the cluster has for it", "--device aliyun.com/gpu-mem=N, or --gpus N")
_ARGUMENT = Refusal("it is an argument of the server", "write it last, after --")
_IN_FILE = Refusal("no flag makes such a volume", "--dry-run, and kubedl apply -f FILE with it")
REFUSED = {
    **dict.fromkeys(("--version", "--servingVersion", "--version-policy", "--versionPolicy"), _VERSIONS),
    **dict.fromkeys(("--enable-istio", "--enableIstio", "--expose-service", "--exposeService"), _GATEWAY),
    **dict.fromkeys(("--gpumemory", "--gpucore"), _SHARED),
    **dict.fromkeys(
        (
            *("--model-config-file", "--modelConfigFile", "--monitoring-config-file", "--metric-port"),
            *("--allow-metrics", "--command"),
        ),
        _ARGUMENT,
    ),
    **dict.fromkeys(
        ("--data-subpath-expr", "--empty-dir", "--empty-dir-subpath-expr", "--config-file"),
        _IN_FILE,
    ),
}
