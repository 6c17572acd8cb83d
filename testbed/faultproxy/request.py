"""What a request asks of the API server, read from its method and address alone.

The reading agrees with the API server's own, so a rule sees the verb and resource that RBAC and audit see. Only a dry
run, which is a question and writes nothing, has a verb of its own here: `try`.
"""

from dataclasses import dataclass
from urllib.parse import parse_qs, unquote, urlsplit

_VERB_OF_METHOD = {
    "GET": "get",
    "HEAD": "get",
    "POST": "create",
    "PUT": "update",
    "PATCH": "patch",
    "DELETE": "delete",
}
WRITES = ("create", "update", "patch", "delete", "deletecollection")
_VERB_ON_COLLECTION = {"get": "list", "delete": "deletecollection"}
# /namespaces/{name}/status is about the namespace; any other word there is a resource inside it.
_SUBRESOURCES_OF_NAMESPACES = ("status", "finalize")


@dataclass(frozen=True, kw_only=True)
class ApiRequest:
    """A call in Kubernetes words; `resource` is empty for addresses such as /version that name none."""

    verb: str
    group: str = ""
    version: str = ""
    resource: str = ""
    subresource: str = ""
    namespace: str = ""
    name: str = ""
    follows_log: bool = False

    @property
    def streams(self) -> bool:
        """The answer has no foreseeable end and is passed on as it comes."""
        return self.verb == "watch" or self.follows_log


def parse_request(method: str, target: str) -> ApiRequest:
    """Read a request line's method and target (path with query)."""
    parts = urlsplit(target)
    query = parse_qs(parts.query, keep_blank_values=True)
    match [unquote(segment) for segment in parts.path.split("/") if segment]:
        case ["api", version, *rest] if rest:
            return _parse_resource(method, "", version, rest, query)
        case ["apis", group, version, *rest] if rest:
            return _parse_resource(method, group, version, rest, query)
        case _:
            return ApiRequest(verb=method.lower())


def _parse_resource(
    method: str, group: str, version: str, segments: list[str], query: dict[str, list[str]]
) -> ApiRequest:
    namespace, resource, name, subresource = _parse_segments(segments)
    verb = _VERB_OF_METHOD.get(method, method.lower())
    if not name:
        verb = _VERB_ON_COLLECTION.get(verb, verb)
    if verb == "list" and _is_true(query, "watch"):
        verb = "watch"
    if verb in WRITES and "dryRun" in query:
        verb = "try"
    if verb in ("list", "watch"):
        name = _selected_name(query)
    return ApiRequest(
        verb=verb,
        group=group,
        version=version,
        resource=resource,
        subresource=subresource,
        namespace=namespace,
        name=name,
        follows_log=subresource == "log" and _is_true(query, "follow"),
    )


def _parse_segments(segments: list[str]) -> tuple[str, str, str, str]:
    """Split the path behind the version into namespace, resource, name and subresource."""
    match segments:
        case ["namespaces", name, subresource] if subresource in _SUBRESOURCES_OF_NAMESPACES:
            return name, "namespaces", name, subresource
        case ["namespaces", name]:
            return name, "namespaces", name, ""
        case ["namespaces", namespace, resource, *rest]:
            return namespace, resource, *_name_and_subresource(rest)
        case [resource, *rest]:
            return "", resource, *_name_and_subresource(rest)
        case _:
            return "", "", "", ""


def _name_and_subresource(rest: list[str]) -> tuple[str, str]:
    # Whatever follows the subresource, as in services/{name}/proxy/some/path, belongs to it.
    name, subresource = [*rest, "", ""][:2]
    return name, subresource


def _is_true(query: dict[str, list[str]], key: str) -> bool:
    # The API server takes every value but these two, even an empty one, for true.
    return key in query and query[key][0].lower() not in ("false", "0")


def _selected_name(query: dict[str, list[str]]) -> str:
    """Return the one name that a field selector narrows a collection to, if it does."""
    for requirement in query.get("fieldSelector", [""])[0].split(","):
        field, equals, value = requirement.replace("==", "=").partition("=")
        if equals and field == "metadata.name":
            return value
    return ""
