"""One sum over all processes, by JAX's own collectives: each gives one more than its number."""

import os

import jax  # type: ignore[import-not-found]
import numpy  # type: ignore[import-not-found,unused-ignore]
from jax.sharding import Mesh, NamedSharding, PartitionSpec  # type: ignore[import-not-found]


def main() -> None:
    # The coordinator's address it finds by itself.
    jax.distributed.initialize(
        num_processes=int(os.environ["JAX_NUM_PROCESSES"]),
        process_id=int(os.environ["JAX_PROCESS_ID"]),
        initialization_timeout=300,  # while images may still be on their way to a node
    )
    number, processes = jax.process_index(), jax.process_count()
    mesh = Mesh(numpy.array(jax.devices()), ("processes",))
    split, whole = PartitionSpec("processes"), PartitionSpec()
    mine = numpy.array([number + 1.0], dtype="float32")
    given = jax.make_array_from_process_local_data(NamedSharding(mesh, split), mine)
    add = jax.shard_map(lambda part: jax.lax.psum(part, "processes"), mesh=mesh, in_specs=split, out_specs=whole)
    total = float(jax.jit(add)(given).addressable_data(0)[0])
    print(f"process {number} of {processes}: the sum is {total}", flush=True)
    if total != processes * (processes + 1) / 2:
        raise SystemExit("the sum is wrong")
    jax.distributed.shutdown()


if __name__ == "__main__":
    main()
