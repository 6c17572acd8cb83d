#!/usr/bin/python3
"""A stand-in for TensorFlow Serving, whose program is in no registry at hand: its documented flags and REST contract.

https://www.tensorflow.org/tfx/serving/api_rest: the highest numbered directory below the base path is served; an
unknown flag ends the program; a batching file must be the text of its BatchingParameters. The model itself is
TensorFlow's own, loaded and run.
"""

import argparse
import json
import re
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import numpy as np  # type: ignore[import-not-found,unused-ignore]
import tensorflow as tf  # type: ignore[import-untyped]

BATCHING = {"max_batch_size", "batch_timeout_micros", "num_batch_threads", "max_enqueued_batches"}
PARAMETER = re.compile(r"^(\w+) \{ value: (\d+) \}$")


def flags() -> argparse.Namespace:
    """As `tensorflow_model_server --help` has them; an unknown one is an error there too."""
    parser = argparse.ArgumentParser(prog="tensorflow_model_server", allow_abbrev=False)
    parser.add_argument("--port", type=int, default=8500)
    parser.add_argument("--rest_api_port", type=int, default=0)
    parser.add_argument("--model_name", default="default")
    parser.add_argument("--model_base_path", type=Path, required=True)
    parser.add_argument("--enable_batching", choices=("true", "false"), default="false")
    parser.add_argument("--batching_parameters_file", type=Path)
    return parser.parse_args()


def batching(given: argparse.Namespace) -> dict[str, int]:
    """The parameters of a batching file."""
    if given.batching_parameters_file is None:
        return {}
    if given.enable_batching != "true":
        sys.exit("server.batching_parameters_file is set without server.enable_batching")
    lines = given.batching_parameters_file.read_text().splitlines()
    found = {match[1]: int(match[2]) for match in map(PARAMETER.match, lines) if match}
    if len(found) != len(lines) or not found.keys() <= BATCHING:
        sys.exit(f"Invalid protobuf file: {lines}")
    return found


class Model:
    """The newest version below a base path."""

    def __init__(self, name: str, base: Path, parameters: dict[str, int]) -> None:
        versions = [int(path.name) for path in base.iterdir() if path.name.isdigit()]
        if not versions:
            sys.exit(f"No versions of servable {name} found under base path {base}")
        self.name, self.version, self.parameters = name, max(versions), parameters
        self._loaded = tf.saved_model.load(str(base / str(self.version)))  # keeps the variables
        self._run = self._loaded.signatures["serving_default"]
        inputs = self._run.structured_input_signature[1]
        (self._input,), (self._kind,) = zip(*((key, spec.dtype) for key, spec in inputs.items()), strict=True)

    def predict(self, instances: list[Any]) -> list[Any]:
        """What the model makes of each."""
        if len(instances) > self.parameters.get("max_batch_size", len(instances)):
            raise ValueError("Task size is larger than maximum batch size")
        given = tf.constant(np.array(instances, self._kind.as_numpy_dtype))
        (output,) = self._run(**{self._input: given}).values()
        predictions: list[Any] = output.numpy().tolist()
        return predictions


class Rest(BaseHTTPRequestHandler):
    """One connection."""

    protocol_version = "HTTP/1.1"
    model: Model

    def do_GET(self) -> None:
        place = f"/v1/models/{self.model.name}"
        if self.path not in (place, f"{place}/versions/{self.model.version}"):
            self._say(404, {"error": f"Malformed request: GET {self.path}"})
            return
        good = {"error_code": "OK", "error_message": ""}
        said = {"version": str(self.model.version), "state": "AVAILABLE", "status": good}
        self._say(200, {"model_version_status": [said]})

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        if self.path != f"/v1/models/{self.model.name}:predict":
            self._say(404, {"error": f"Servable not found for request: {self.path}"})
            return
        try:
            self._say(200, {"predictions": self.model.predict(json.loads(body)["instances"])})
        except (ValueError, LookupError, TypeError, tf.errors.OpError) as error:
            self._say(400, {"error": str(error)})

    def _say(self, status: int, content: dict[str, Any]) -> None:
        body = json.dumps(content).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


def main() -> None:
    given = flags()
    if not given.rest_api_port:
        sys.exit("nobody would be asked here without --rest_api_port")
    Rest.model = Model(given.model_name, given.model_base_path, batching(given))
    print(f"serving {given.model_name} {Rest.model.version} {Rest.model.parameters}", flush=True)
    ThreadingHTTPServer(("", given.rest_api_port), Rest).serve_forever()


if __name__ == "__main__":
    main()
