"""Linear regression with MultiWorkerMirroredStrategy: every worker holds all weights, gradients are summed.

Every worker saves, because TensorFlow wants it so, but only worker 0 into the directory that survives.
"""

import tempfile

import numpy  # type: ignore[import-not-found,unused-ignore]
import tensorflow as tf  # type: ignore[import-untyped]

from tests.e2e.training.workloads.pace import Pace

ROWS = 64


def main() -> None:
    tf.get_logger().setLevel("ERROR")  # it advises on every save
    pace = Pace.from_environment()
    ring = tf.distribute.experimental.CommunicationImplementation.RING
    strategy = tf.distribute.MultiWorkerMirroredStrategy(
        communication_options=tf.distribute.experimental.CommunicationOptions(implementation=ring)
    )
    training = Training(strategy, pace)
    training.resume()
    while training.goes_on():
        training.step()
    training.conclude()


class Training:
    """One worker's part of the training."""

    def __init__(self, strategy: tf.distribute.MultiWorkerMirroredStrategy, pace: Pace) -> None:
        self._strategy, self._pace = strategy, pace
        self._index, workers = strategy.cluster_resolver.task_id, strategy.num_replicas_in_sync
        print(f"worker {self._index} of {workers}", flush=True)
        inputs = numpy.random.RandomState(0).randn(ROWS, 3).astype("float32")
        targets = inputs @ numpy.array([[1.0], [-2.0], [3.0]], "float32") + numpy.float32(0.5)
        self._inputs = tf.constant(inputs[self._index :: workers])
        self._targets = tf.constant(targets[self._index :: workers])
        with strategy.scope():
            self._weights = tf.Variable(tf.zeros([3, 1]))
            self._bias = tf.Variable(tf.zeros([1]))
            self._done = tf.Variable(0, dtype=tf.int64)
            self._first_loss = tf.Variable(float("inf"))
        self._loss = float("inf")
        self._checkpoint = tf.train.Checkpoint(
            weights=self._weights, bias=self._bias, done=self._done, first_loss=self._first_loss
        )
        own = str(pace.directory) if self._index == 0 else tempfile.mkdtemp()
        self._saves = tf.train.CheckpointManager(self._checkpoint, own, max_to_keep=2)
        self._train = tf.function(self._train_everywhere)
        self._sum = tf.function(self._sum_everywhere)

    def resume(self) -> None:
        """Go on from worker 0's last checkpoint; nobody saves before all have made a step together."""
        latest = tf.train.latest_checkpoint(str(self._pace.directory))
        if latest:
            self._checkpoint.restore(latest).assert_consumed()
        done = int(self._done.numpy())
        print(f"resumed at step {done}" if done else "started at step 0", flush=True)

    def goes_on(self) -> bool:
        """What worker 0 says: the others add nothing to the sum."""
        wish = self._index == 0 and self._pace.goes_on(int(self._done.numpy()))
        return float(self._sum(tf.constant(float(wish)))) > 0

    def step(self) -> None:
        self._loss = float(self._train(self._inputs, self._targets))
        done = int(self._done.numpy())
        if done == 1:
            self._first_loss.assign(self._loss)
        print(f"step {done} loss {self._loss:.9f}", flush=True)
        self._saves.save(checkpoint_number=done)
        if self._index == 0:
            self._pace.saved(done)
        self._pace.rest()

    def conclude(self) -> None:
        """Fail unless the loss fell."""
        first = float(self._first_loss.numpy())
        weights = [round(float(weight), 3) for weight in self._weights.numpy().ravel()]
        print(
            f"finished after step {int(self._done.numpy())}: loss {first:.6f} -> {self._loss:.9f}, "
            f"weights {weights}, bias {float(self._bias.numpy()[0]):.3f}",
            flush=True,
        )
        if not self._loss < first / 100:
            raise SystemExit("the loss did not fall")

    def _train_everywhere(self, inputs: tf.Tensor, targets: tf.Tensor) -> tf.Tensor:
        loss = self._strategy.run(self._step_here, args=(inputs, targets))
        return self._strategy.reduce(tf.distribute.ReduceOp.SUM, loss, axis=None)

    def _step_here(self, inputs: tf.Tensor, targets: tf.Tensor) -> tf.Tensor:
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum((inputs @ self._weights + self._bias - targets) ** 2) / ROWS
        own = tape.gradient(loss, [self._weights, self._bias])
        sums = tf.distribute.get_replica_context().all_reduce(tf.distribute.ReduceOp.SUM, own)
        self._weights.assign_sub(0.2 * sums[0])
        self._bias.assign_sub(0.2 * sums[1])
        self._done.assign_add(1)
        return loss

    def _sum_everywhere(self, value: tf.Tensor) -> tf.Tensor:
        return self._strategy.reduce(tf.distribute.ReduceOp.SUM, self._strategy.run(tf.identity, (value,)), axis=None)


if __name__ == "__main__":
    main()
