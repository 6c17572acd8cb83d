"""What is looked for among the objects that the chart makes."""

from testbed.api import Object


def the(objects: list[Object], kind: str) -> Object:
    """The only one of its kind."""
    [found] = [one for one in objects if one["kind"] == kind]
    return found


def arguments(objects: list[Object]) -> list[str]:
    """Those that the operator is started with."""
    [container] = the(objects, "Deployment")["spec"]["template"]["spec"]["containers"]
    given: list[str] = container["args"]
    return given
