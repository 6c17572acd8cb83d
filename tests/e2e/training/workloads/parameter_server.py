"""Linear regression with ParameterServerStrategy: the chief hands out steps, workers do them, the weights live on a PS.

Parameter servers and workers serve for ever: whoever runs the job ends them when the chief is done. A
worker may come and go; a chief that comes back goes on from its last checkpoint.
"""

import os
import socket
import sys
from contextlib import suppress
from pathlib import Path

import numpy  # type: ignore[import-not-found,unused-ignore]
import tensorflow as tf  # type: ignore[import-untyped]

from tests.e2e.training.workloads.pace import Pace

ROWS = 64
SILENCE = 10  # seconds after which a peer that acknowledges nothing counts as gone
RETRY_ME = 138  # an exit code that ExitCode restarts: the parameter server went away, and that is not my fault


def main() -> None:
    tf.get_logger().setLevel("ERROR")  # it advises on every save
    resolver = tf.distribute.cluster_resolver.TFConfigClusterResolver()
    if resolver.task_type in ("worker", "ps"):
        serve(resolver)
    try:
        lead(resolver, Pace.from_environment())
    except tf.errors.UnavailableError as error:
        print(f"a parameter server is gone: {error.message}", file=sys.stderr, flush=True)
        os._exit(RETRY_ME)  # the ordinary way out waits for servers that do not answer


def serve(resolver: tf.distribute.cluster_resolver.TFConfigClusterResolver) -> None:
    """Do what the chief asks, for ever."""
    server = tf.distribute.Server(
        resolver.cluster_spec(), job_name=resolver.task_type, task_index=resolver.task_id, protocol="grpc"
    )
    print(f"{resolver.task_type} {resolver.task_id} serves", flush=True)
    server.join()


def lead(resolver: tf.distribute.cluster_resolver.TFConfigClusterResolver, pace: Pace) -> None:
    """The chief's part."""
    strategy = tf.distribute.ParameterServerStrategy(resolver)
    workers = len(resolver.cluster_spec().as_dict()["worker"])
    training = Training(strategy, workers, pace)
    training.resume()
    while pace.goes_on(training.done):
        training.step()
    training.conclude()


def bound_silence() -> None:
    """Let no connection of this process wait for a lost node.

    TensorFlow opens its channels without keepalive: a call to a worker that vanished without a word would end
    when the kernel gives up, after a quarter of an hour.
    """
    for entry in Path("/proc/self/fd").iterdir():
        with suppress(OSError):  # a file, a pipe, or closed meanwhile
            connection = socket.socket(fileno=int(entry.name))
            try:
                connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, SILENCE * 1000)
            finally:
                connection.detach()  # it is gRPC's to close


class Training:
    """The model on the parameter servers and the steps that workers make on it."""

    def __init__(self, strategy: tf.distribute.ParameterServerStrategy, workers: int, pace: Pace) -> None:
        self._strategy, self._workers, self._pace = strategy, workers, pace
        self._coordinator = tf.distribute.coordinator.ClusterCoordinator(strategy)
        inputs = numpy.random.RandomState(0).randn(ROWS, 3).astype("float32")
        targets = inputs @ numpy.array([[1.0], [-2.0], [3.0]], "float32") + numpy.float32(0.5)
        self._shares = [(inputs[share::workers], targets[share::workers]) for share in range(workers)]
        with strategy.scope():
            self._weights = tf.Variable(tf.zeros([3, 1]))
            self._bias = tf.Variable(tf.zeros([1]))
            self._done = tf.Variable(0, dtype=tf.int64)
            self._first_loss = tf.Variable(float("inf"))
        print(f"weights on {self._weights.device}", flush=True)
        self._loss = float("inf")
        self._checkpoint = tf.train.Checkpoint(
            weights=self._weights, bias=self._bias, done=self._done, first_loss=self._first_loss
        )
        self._saves = tf.train.CheckpointManager(self._checkpoint, str(pace.directory), max_to_keep=2)
        self._train = tf.function(self._train_on_worker)

    @property
    def done(self) -> int:
        return int(self._done.numpy())

    def resume(self) -> None:
        if self._saves.latest_checkpoint:
            self._checkpoint.restore(self._saves.latest_checkpoint).assert_consumed()
        print(f"resumed at step {self.done}" if self.done else "started at step 0", flush=True)

    def step(self) -> None:
        """Every worker's share once, by whichever worker is free; a share whose worker dies goes to another."""
        bound_silence()
        losses = [
            self._coordinator.schedule(self._train, args=(tf.constant(inputs), tf.constant(targets)))
            for inputs, targets in self._shares
        ]
        self._coordinator.join()
        self._loss = float(numpy.mean([float(loss.fetch()) for loss in losses]))
        self._done.assign_add(1)
        if self.done == 1:
            self._first_loss.assign(self._loss)
        print(f"step {self.done} loss {self._loss:.9f}", flush=True)
        self._saves.save(checkpoint_number=self.done)
        self._pace.saved(self.done)
        self._pace.rest()

    def conclude(self) -> None:
        """Fail unless the loss fell."""
        first = float(self._first_loss.numpy())
        weights = [round(float(weight), 3) for weight in self._weights.numpy().ravel()]
        print(
            f"finished after step {self.done}: loss {first:.6f} -> {self._loss:.9f}, "
            f"weights {weights}, bias {float(self._bias.numpy()[0]):.3f}",
            flush=True,
        )
        if not self._loss < first / 100:
            raise SystemExit("the loss did not fall")

    def _train_on_worker(self, inputs: tf.Tensor, targets: tf.Tensor) -> tf.Tensor:
        return self._strategy.run(self._step_here, args=(inputs, targets))

    def _step_here(self, inputs: tf.Tensor, targets: tf.Tensor) -> tf.Tensor:
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((inputs @ self._weights + self._bias - targets) ** 2)
        weights, bias = tape.gradient(loss, [self._weights, self._bias])
        self._weights.assign_sub(0.2 * weights)
        self._bias.assign_sub(0.2 * bias)
        tf.print("did a share")  # in the log of the worker that did it
        return loss


if __name__ == "__main__":
    main()
