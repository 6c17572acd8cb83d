"""Batching is written where a server looks for it, and nothing else of the model changes."""

import json
from pathlib import Path

import pytest

from kubedl.serving.loader import server_config
from kubedl.serving.loader.errors import LoadingError

CONFIG = """name: "resnet"
platform: "onnxruntime_onnx"
max_batch_size: 4
input [ { name: "x" data_type: TYPE_FP32 dims: [ 3 ] } ]
# dynamic_batching { is not read here }
dynamic_batching {
  preferred_batch_size: [ 4 ]
  priority_queue_policy { key: 1 value: { max_queue_size: 2 } }
}
parameters { key: "max_batch_size: 9" value: { string_value: "} dynamic_batching {" } }
"""


@pytest.fixture
def places(tmp_path: Path) -> tuple[Path, Path]:
    """The mounted model, and the directory of links that the server sees."""
    source, target = tmp_path / "image", tmp_path / "target"
    (source / "resnet" / "1").mkdir(parents=True)
    (source / "resnet" / "1" / "model.onnx").write_text("weights")
    target.mkdir()
    (target / "resnet").symlink_to(source / "resnet")
    return source, target


def test_triton(places: tuple[Path, Path]) -> None:
    """What was said before is kept, but for the two settings; the image is as it was."""
    source, target = places
    (source / "resnet" / "config.pbtxt").write_text(CONFIG)
    server_config.triton(target, 32, 500)
    text = (target / "resnet" / "config.pbtxt").read_text()
    assert text.endswith("\nmax_batch_size: 32\ndynamic_batching { max_queue_delay_microseconds: 500 }\n")
    assert text.startswith('name: "resnet"\nplatform: "onnxruntime_onnx"\ninput [ {')
    assert ("preferred_batch_size" in text, "max_batch_size: 4" in text) == (False, False)
    assert 'parameters { key: "max_batch_size: 9" value: { string_value: "} dynamic_batching {" } }' in text
    assert (target / "resnet" / "1" / "model.onnx").read_text() == "weights"
    assert (source / "resnet" / "config.pbtxt").read_text() == CONFIG


def test_triton_without_a_configuration(places: tuple[Path, Path]) -> None:
    """It completes the rest by itself."""
    server_config.triton(places[1], 8, None)
    assert (places[1] / "resnet" / "config.pbtxt").read_text() == "max_batch_size: 8\ndynamic_batching {}\n"


ENSEMBLE = """name: "whole"
platform: "ensemble"
max_batch_size: 8
ensemble_scheduling { step [ { model_name: "resnet" model_version: -1 } ] } # } is a comment
"""


@pytest.mark.parametrize(
    "own",
    [
        ENSEMBLE,
        'platform: "ensemble"',
        "max_batch_size: 8\nsequence_batching { max_sequence_idle_microseconds: 5000000 }",
        "sequence_batching: {\n # {\n}",
        "max_batch_size: 0\ninput [ ]",
        'name: "x" max_batch_size: 0',
    ],
)
def test_triton_models_that_cannot_be_batched_are_left_alone(places: tuple[Path, Path], own: str) -> None:
    """Triton loads no model with two schedulers; the others of the repository are batched."""
    source, target = places
    (source / "whole").mkdir()
    (source / "whole" / "config.pbtxt").write_text(own)
    (target / "whole").symlink_to(source / "whole")
    server_config.triton(target, 8, None)
    assert (target / "whole" / "config.pbtxt").read_text() == own
    assert (target / "whole").is_symlink()
    assert (target / "resnet" / "config.pbtxt").read_text() == "max_batch_size: 8\ndynamic_batching {}\n"


def test_triton_batching_that_no_model_can_have_is_refused(places: tuple[Path, Path]) -> None:
    (places[0] / "resnet" / "config.pbtxt").write_text(ENSEMBLE)
    with pytest.raises(LoadingError, match="no model supports dynamic batching"):
        server_config.triton(places[1], 8, None)


@pytest.mark.parametrize(
    "own",
    [
        "max_batch_size: 08",
        "max_batch_size: 10",
        "# sequence_batching {",
        'parameters { key: "sequence_batching {" value: { string_value: "platform: \\"ensemble\\"" } }',
        "optimization { sequence_batching { } }",
        'platform: "onnxruntime_onnx"',
    ],
)
def test_other_triton_models_are_batched(own: str) -> None:
    assert server_config.can_batch(own)


def test_triton_needs_a_repository(tmp_path: Path) -> None:
    with pytest.raises(LoadingError, match="has no directory"):
        server_config.triton(tmp_path, 8, None)


def test_mlserver(places: tuple[Path, Path]) -> None:
    """At the root as well as in a directory of its own."""
    source, target = places
    for path in (source / "resnet" / "model-settings.json", source / "model-settings.json"):
        path.write_text(json.dumps({"name": "sk", "max_batch_size": 1}))
    (target / "model-settings.json").symlink_to(source / "model-settings.json")
    server_config.mlserver(target, 8, 0.5)
    for path in (target / "resnet" / "model-settings.json", target / "model-settings.json"):
        assert json.loads(path.read_text()) == {"name": "sk", "max_batch_size": 8, "max_batch_time": 0.5}
    assert json.loads((source / "model-settings.json").read_text()) == {"name": "sk", "max_batch_size": 1}


def test_mlserver_with_a_file_that_is_none(places: tuple[Path, Path]) -> None:
    (places[1] / "model-settings.json").write_text("[]")
    with pytest.raises(LoadingError, match="cannot be read"):
        server_config.mlserver(places[1], 8, 0.5)
