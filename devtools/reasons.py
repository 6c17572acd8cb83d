"""The page with every reason of a condition or event, from the source and from the meanings in reasons.toml.

A reason reaches a condition through constants, tuples, errors and functions, so the place of a literal does not show
that it is one. Therefore every CamelCase literal counts, unless it is listed as another word: a new reason cannot be
missed, it has to be listed on one side or the other.
"""

import ast
import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from devtools.tables import table
from kubedl.training.kinds import all_kinds

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "kubedl"
MEANINGS = Path(__file__).with_suffix(".toml")
OTHER, ALL = "other", "All objects"
# Packages whose reasons are those of certain objects; reasons of other packages may be those of any object.
OBJECTS = {
    "cron": ("Crons", "Jobs", ALL),
    "datasets": ("CacheBackends", "Jobs", ALL),
    "models": ("ModelVersions", "Models", ALL),
    "serving": ("Inferences", "Rollouts", ALL),
    "training": ("Jobs", "ScaleIns and ScaleOuts", "Workloads", ALL),
}
ANY = "…"  # an expression in an f-string
READERS = (
    "console/",
    "cli/",
    "client/",
    "why/",
)  # packages that write no conditions and no events, and know those of others

_WORD = re.compile(rf"{ANY}?[A-Z][A-Za-z0-9]*[a-z][A-Za-z0-9]*{ANY}?")
# Of two methods called `event`, one has the type where the other has the reason.
_EVENT_TYPES = frozenset({"Normal", "Warning"})

Meanings = Mapping[str, Mapping[str, Mapping[str, str]]]  # object → page → reason → meaning


@dataclass(frozen=True)
class Listed:
    """What reasons.toml has."""

    meanings: Meanings
    others: frozenset[str]

    def reasons(self, module: str = "") -> set[str]:
        """Reasons of the objects that a module works for; by default all."""
        names = OBJECTS.get(module.partition("/")[0], self.meanings)
        found = [pages for name, pages in self.meanings.items() if name in names]
        return {reason for pages in found for reasons in pages.values() for reason in reasons}


def read(text: str) -> Listed:
    """Parse reasons.toml."""
    content = tomllib.loads(text)
    others = {word for words in content.pop(OTHER).values() for word in words.split()}
    return Listed(content, frozenset(others | _of_kinds()))


def _of_kinds() -> set[str]:
    """Names that each kind of job brings along: adding one must not need a line here."""
    kinds = list(all_kinds())
    return {kind.kind for kind in kinds} | {role.name for kind in kinds for role in kind.roles}


def describe_reasons() -> str:
    """The page; raises ValueError if it would not have every reason."""
    listed = read(MEANINGS.read_text())
    if wrong := list(complaints(sources(), listed)):
        raise ValueError("\n".join(wrong))
    sections = "".join(f"\n## {name}\n\n{_table(pages)}" for name, pages in listed.meanings.items())
    return (
        "# All reasons\n\n"
        "Every reason that KubeDL writes into a condition, a status or an event, by object. If a meaning begins with "
        "a name, such as `PreWarmed`, that is the condition; *in messages* means that the word is part of a message. "
        "Other reasons of the scheduler, the kubelet, the gateway and the API server are passed on unchanged, with "
        "their message.\n"
        f"{sections}"
    )


def complaints(trees: Mapping[str, ast.AST], listed: Listed) -> Iterator[str]:
    """What reasons.toml lacks, and what it has that the source has not."""
    found: set[str] = set()
    nodes = {module: _nodes(tree) for module, tree in trees.items()}
    for module in trees:
        words, known = _literals(nodes[module]), listed.reasons(module) | listed.others
        found |= words.keys()
        for word, line in words.items():
            if word not in known:
                hint = f"if it is no reason, list it as `{OTHER}`"
                yield f"{module}:{line}: {word} has no meaning in {MEANINGS.name} for this object; {hint}"
    for word in sorted((listed.reasons() | listed.others) - found - _of_kinds()):
        yield f"{MEANINGS.name}: {word} is not in the source any more"
    for word in sorted(listed.reasons() & listed.others):
        yield f"{MEANINGS.name}: {word} is listed both as a reason and as another word"
    for place, word in passed_as_reason(nodes):
        if word in listed.others - _EVENT_TYPES:
            yield f"{place}: {word} is used as a reason, and {MEANINGS.name} lists it as another word"


def sources(root: Path = SOURCE) -> dict[str, ast.AST]:
    """The syntax tree of every module that may write a reason, by its path."""
    found = {str(path.relative_to(root)): path for path in sorted(root.rglob("*.py"))}
    return {name: ast.parse(path.read_text()) for name, path in found.items() if not name.startswith(READERS)}


def literals(tree: ast.AST) -> dict[str, int]:
    """Every CamelCase literal of a module that could be a reason, with the first line where it stands."""
    return _literals(_nodes(tree))


def _literals(nodes: Iterable[ast.AST]) -> dict[str, int]:
    left_out = {id(part) for node in nodes for whole in _no_values(node) for part in _nodes(whole)}
    found: dict[str, int] = {}
    for node in nodes:
        if isinstance(node, ast.Constant | ast.JoinedStr) and id(node) not in left_out:
            text = _text(node)
            if _WORD.fullmatch(text):
                found.setdefault(text, node.lineno)
    return found


def _nodes(tree: ast.AST) -> list[ast.AST]:
    """As ast.walk, in half the time: the source has hundreds of thousands of them."""
    found = [tree]
    for node in found:
        for value in vars(node).values():
            if isinstance(value, ast.AST):
                found.append(value)
            elif isinstance(value, list):
                found += (part for part in value if isinstance(part, ast.AST))
    return found


def passed_as_reason(nodes: Mapping[str, Iterable[ast.AST]]) -> Iterator[tuple[str, str]]:
    """Literals in the place of a parameter or field that is called reason, with where they stand."""
    slots: dict[str, set[int]] = {}
    calls: list[tuple[str, ast.Call]] = []
    for module, inside in nodes.items():
        for node in inside:
            if isinstance(node, ast.Call):
                calls.append((module, node))
            elif (signature := _signature(node)) is not None and "reason" in signature[1]:
                slots.setdefault(signature[0], set()).add(signature[1].index("reason"))
    for module, call in calls:
        called = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
        given = [argument for index, argument in enumerate(call.args) if index in slots.get(called, ())]
        given += [keyword.value for keyword in call.keywords if keyword.arg == "reason"]
        yield from ((f"{module}:{call.lineno}", _text(value)) for value in given if _text(value))


def _signature(node: ast.AST) -> tuple[str, list[str]] | None:
    """A function, or a class by its constructor or its fields, with the names of its parameters."""
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        return node.name, _parameters(node)
    if not isinstance(node, ast.ClassDef):
        return None
    fields = [ast.unparse(part.target) for part in node.body if isinstance(part, ast.AnnAssign)]
    made = [part for part in node.body if isinstance(part, ast.FunctionDef) and part.name == "__init__"]
    return node.name, _parameters(made[0]) if made else fields


def _parameters(function: ast.FunctionDef | ast.AsyncFunctionDef) -> list[str]:
    return [one.arg for one in function.args.args if one.arg not in ("self", "cls")]


def _text(node: ast.AST) -> str:
    if isinstance(node, ast.JoinedStr):
        return "".join(_text(part) if isinstance(part, ast.Constant) else ANY for part in node.values)
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else ""


def _no_values(node: ast.AST) -> Iterator[ast.AST]:
    """Parts of a node whose literals are written nowhere: types, exported names, what is compared, parts of a text."""
    match node:
        case ast.Compare(left=left, comparators=others):
            yield from (side for side in (left, *others) if isinstance(side, ast.Constant | ast.Tuple | ast.Set))
        case ast.Subscript(value=ast.Name(id="Literal")):
            yield node
        case ast.AnnAssign(annotation=annotation) | ast.arg(annotation=ast.expr() as annotation):
            yield annotation
        case ast.FunctionDef(returns=ast.expr() as returns) | ast.AsyncFunctionDef(returns=ast.expr() as returns):
            yield returns
        case ast.Assign(targets=[ast.Name(id="__all__")]):
            yield node
        case ast.JoinedStr(values=values):
            yield from (part for part in values if isinstance(part, ast.Constant))


def _table(pages: Mapping[str, Mapping[str, str]]) -> str:
    rows = [(reason, meaning, page) for page, reasons in pages.items() for reason, meaning in reasons.items()]
    return table(
        ("reason", "meaning", "page"),
        [(f"`{reason}`", meaning, f"[{_title(page)}]({page})") for reason, meaning, page in sorted(rows)],
    )


def _title(page: str) -> str:
    """The title of a page, given by its path from docs/troubleshooting."""
    text = (ROOT / "docs" / "troubleshooting" / page.partition("#")[0]).read_text()
    return text.partition("\n")[0].removeprefix("# ")
