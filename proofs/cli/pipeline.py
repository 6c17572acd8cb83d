"""A pipeline with the component of KubeDL, compiled by Kubeflow Pipelines: `python -m proofs.cli.pipeline`.

`kfp` is installed into an environment of its own; the product does not need it. The arguments that the compiled
pipeline gives its container are then read by the process that it starts. The last line is JSON.
"""

import json
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import yaml

import harness  # noqa: F401 - finds the product's source
from kubedl.client.pipeline_component import component
from kubedl.entrypoints.pipeline_step import parser

UV = (sys.executable, "-m", "uv")
KFP = "kfp>=2,<3"
PROGRAM = """import sys
from pathlib import Path
from kfp import __version__, compiler, components, dsl

train = components.load_component_from_text(Path(sys.argv[1]).read_text())


@dsl.component(base_image="python:3.13")
def serve(version: str, image: str) -> None:
    print(version, image)


@dsl.pipeline(name="train-and-serve")
def pipeline(job: str) -> None:
    trained = train(job=job, run=dsl.PIPELINE_JOB_ID_PLACEHOLDER)
    serve(version=trained.outputs["model_version"], image=trained.outputs["model_image"])


compiler.Compiler().compile(pipeline, sys.argv[2])
print(__version__)
"""


def main() -> int:
    """Print the version of kfp, how many outputs reach the next step, and whether the arguments are understood."""
    with TemporaryDirectory() as directory:
        place = Path(directory)
        python = place / "environment" / "bin" / "python"
        subprocess.run([*UV, "venv", "--quiet", "--python", sys.executable, str(place / "environment")], check=True)
        subprocess.run([*UV, "pip", "install", "--quiet", "--python", str(python), KFP], check=True)
        (place / "component.yaml").write_text(component("registry.example/kubedl:0.1"))
        (place / "program.py").write_text(PROGRAM)
        words = [str(python), "program.py", "component.yaml", "pipeline.yaml"]
        done = subprocess.run(words, cwd=place, capture_output=True, text=True, check=True)
        compiled = next(iter(yaml.safe_load_all((place / "pipeline.yaml").read_text())))
    print(json.dumps({"kfp": done.stdout.split()[-1], **_judged(compiled)}))
    return 0


def _judged(compiled: dict[str, Any]) -> dict[str, object]:
    container = compiled["deploymentSpec"]["executors"]["exec-kubedl-training-job"]["container"]
    tasks = compiled["root"]["dag"]["tasks"]
    handed = [one for one in tasks["serve"]["inputs"]["parameters"].values() if "taskOutputParameter" in one]
    # A pipeline passes texts; a placeholder is none that the time limit could be.
    words = ["" if "timeout" in word and "$" in word else word for word in container["args"]]
    read = parser().parse_args(words)
    understood = container["command"][-1] == "pipeline-step" and read.job is not None and read.timeout is None
    return {"outputs handed on": len(handed), "arguments": "understood" if understood else "not understood"}


if __name__ == "__main__":
    sys.exit(main())
