"""The script that makes the least writes makes the objects that the operator makes."""

from benchmarks import objects
from kubedl.kube import codec
from kubedl.training import pods, services
from kubedl.training.job import Replica
from kubedl.training.kinds.tensorflow import TensorFlow, TFJob
from kubedl.training.observed import Settings


def test_services_and_pods_are_those_of_the_operator() -> None:
    kind = TensorFlow()
    body = objects.job(7, 4)
    body["metadata"] |= {"namespace": "somewhere", "uid": "1234"}
    job = kind.job(codec.decode(codec.encode(body), TFJob))
    assert objects.service(body) == codec.plain(services.render(kind, job))
    for index in range(4):
        replica = Replica(objects.ROLE, index)
        rendered = pods.render(kind, job, replica, 0, scope=kind.restart_scope(job), settings=Settings())
        assert objects.pod(body, index, 4) == codec.plain(rendered)
