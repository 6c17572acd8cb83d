"""Train a line with TensorFlow and leave it as a SavedModel where the job says; only the first worker writes."""

import json
import os

import tensorflow as tf  # type: ignore[import-untyped]

STEPS = 200


class Line(tf.Module):  # type: ignore[misc]
    """y = 3x + 1, once it is trained."""

    def __init__(self) -> None:
        super().__init__()
        self.slope, self.offset = tf.Variable(0.0), tf.Variable(0.0)

    @tf.function(input_signature=[tf.TensorSpec([None], tf.float32)])  # type: ignore[untyped-decorator]
    def __call__(self, inputs: tf.Tensor) -> tf.Tensor:
        return self.slope * inputs + self.offset


def main() -> None:
    line, inputs = Line(), tf.linspace(-1.0, 1.0, 32)
    for _ in range(STEPS):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((line(inputs) - (3 * inputs + 1)) ** 2)
        for variable, gradient in zip(
            line.trainable_variables, tape.gradient(loss, line.trainable_variables), strict=True
        ):
            variable.assign_sub(0.3 * gradient)
    print(f"loss {float(loss):.6f}", flush=True)
    task = json.loads(os.environ.get("TF_CONFIG", "{}")).get("task", {"index": 0})
    if task["index"] == 0:
        tf.saved_model.save(line, os.environ["KUBEDL_MODEL_PATH"])


if __name__ == "__main__":
    main()
