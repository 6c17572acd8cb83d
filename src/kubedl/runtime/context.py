"""What the setup of every feature needs."""

from argparse import Namespace
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

from kubedl.kube.watch import ListOptions
from kubedl.runtime.builder import ControllerBuilder
from kubedl.runtime.events import EventRecorder
from kubedl.runtime.manager import Manager
from kubedl.runtime.metrics import Metrics


@dataclass(frozen=True)
class Context:
    """Passed to the `setup` of each feature, which adds its informers and controllers to the manager."""

    manager: Manager
    recorder: EventRecorder
    metrics: Metrics
    options: Namespace  # flags of the operator
    clock: Callable[[], datetime]

    def scope(self, labels: str = "") -> ListOptions:
        """Return the list options for the watched namespaces: all objects, or those with a label."""
        return ListOptions(self.options.namespace, labels=labels)

    def controller(self, name: str = "") -> ControllerBuilder:
        """Return a builder for a controller."""
        return ControllerBuilder(self.manager, self.metrics, name)
