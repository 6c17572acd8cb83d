"""The component of Kubeflow Pipelines that runs a step. It is text: neither the client nor the cluster needs `kfp`."""

_COMPONENT = """\
name: KubeDL training job
description: Submits a training job, waits until it has succeeded, and hands on the model version that it made.
inputs:
- {{name: job, type: String, description: The manifest of the job as YAML or JSON}}
- {{name: run, type: String, default: '', description: 'The run of the pipeline: dsl.PIPELINE_JOB_ID_PLACEHOLDER'}}
- {{name: namespace, type: String, default: '', description: Namespace of the job; by default that of the step}}
- {{name: timeout, type: String, default: '', description: 'How long to wait, such as 6h'}}
outputs:
- {{name: job_name, type: String}}
- {{name: model_version, type: String}}
- {{name: model_image, type: String}}
implementation:
  container:
    image: {image}
    command: [python3, -m, kubedl.entrypoints.command, pipeline-step]
    args:
    - --job
    - {{inputValue: job}}
    - --run
    - {{inputValue: run}}
    - --namespace
    - {{inputValue: namespace}}
    - --timeout
    - {{inputValue: timeout}}
    - --write-job-name
    - {{outputPath: job_name}}
    - --write-model-version
    - {{outputPath: model_version}}
    - --write-model-image
    - {{outputPath: model_image}}
"""


def component(image: str) -> str:
    """Return the component for `kfp.components.load_component_from_text`; `image` is the image of KubeDL."""
    if not image or not all(letter.isascii() and (letter.isalnum() or letter in "-_./:@") for letter in image):
        raise ValueError(f"{image!r} is no image")
    return _COMPONENT.format(image=image)
