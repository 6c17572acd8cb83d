"""Patterns of image names, shared by the CEL rules and the packer, so that both reject the same names.

They mean the same in Go's RE2 and in Python. The part before the first slash is a host if it has a dot or a port or is
localhost, as in `docker push`; a name without a host is on Docker Hub.
"""

_PART = r"[a-z0-9]+(?:(?:[._]|__|-+)[a-z0-9]+)*"
_FIRST = r"[a-z0-9]+(?:(?:__?|-+)[a-z0-9]+)*"  # of a name without a host: a dot would make it a host
_NAME = r"[A-Za-z0-9](?:[A-Za-z0-9.-]*[A-Za-z0-9])?"
_PORT = r":[0-9]{1,5}"

HOST = rf"(?:(?:localhost|{_NAME}\.{_NAME}|\[[0-9A-Fa-f:.]+\])(?:{_PORT})?|{_NAME}{_PORT})"
REPOSITORY = rf"(?:{HOST}/{_PART}(?:/{_PART})*|{_PART}|{_FIRST}(?:/{_PART})+)"
TAG = r"[A-Za-z0-9_][A-Za-z0-9._-]{0,127}"
REFERRERS = r"^sha256-[0-9a-f]{64}"  # tags with this prefix are reserved for referrers of other images
