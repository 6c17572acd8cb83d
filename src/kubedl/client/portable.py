"""The source of a function and of what it refers to, so that another Python can run it. Source, never pickles.

Names are found in the syntax tree and looked up in the function's module: imports are imported there, functions and
classes of the same module come along, constants that are JSON are written out. Anything else is refused by name, before
a job waits in a queue for an error.
"""

import ast
import builtins
import inspect
import json
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any

from kubedl.client.errors import FunctionNotPortable

MODULE = "kubedl_function"
MOST_PARTS = 500
_CONSTANTS = (str, int, float, bool, type(None), list, dict, tuple)


def source_of(func: Callable[..., object], *, with_code: bool = False) -> str:
    """Return a module that defines the function. With `with_code`, modules of the shipped directory may be imported."""
    if not isinstance(func, FunctionType) or func.__name__ == "<lambda>":
        raise FunctionNotPortable(f"{func!r:.100} is no function with a name", "", ("def train(): …",))
    if inspect.iscoroutinefunction(func) or inspect.isgeneratorfunction(func):
        raise FunctionNotPortable(f"{func.__name__} is a coroutine or a generator", "", ("a plain function",))
    if "." in func.__qualname__ and "<locals>" not in func.__qualname__:
        raise FunctionNotPortable(f"{func.__qualname__} is a method", "", ("a function of its own",))
    collected = _Collected(func, with_code=with_code)
    collected.add(func.__name__, func)
    return "\n\n".join([*dict.fromkeys(collected.imports), *collected.parts]) + "\n"


class _Collected:
    """What a module needs, in the order in which it must stand."""

    def __init__(self, func: FunctionType, *, with_code: bool) -> None:
        self.imports: list[str] = ["from __future__ import annotations"]
        self.parts: list[str] = []
        self._seen: set[str] = set()
        self._with_code = with_code
        self._module = func.__module__
        self._root = func.__name__

    def add(self, name: str, value: object) -> None:
        """Add what a name means, and what that refers to."""
        if name in self._seen:
            return
        self._seen.add(name)
        if len(self._seen) > MOST_PARTS:
            raise FunctionNotPortable(f"{self._root} refers to more than {MOST_PARTS} names", "", ('code="."',))
        if isinstance(value, ModuleType):
            self._add_module(name, value)
        elif isinstance(value, FunctionType | type):
            self._add_definition(name, value)
        elif (module := _defined_in(value)) and module != self._module and callable(value):
            self._add_import(name, value, module)
        else:
            self._add_constant(name, value)

    def _add_module(self, name: str, module: ModuleType) -> None:
        self._check_module(name, module)
        self.imports.append(f"import {module.__name__} as {name}")

    def _add_import(self, name: str, value: object, module: str) -> None:
        found = sys.modules.get(module)
        if found is not None:
            self._check_module(name, found)
        self.imports.append(f"from {module} import {getattr(value, '__name__', name)} as {name}")

    def _check_module(self, name: str, module: ModuleType) -> None:
        """Refuse a module of this machine: the image does not have it."""
        file = getattr(module, "__file__", None)
        if self._with_code or file is None:
            return
        path = Path(file).resolve()
        if path.is_relative_to(Path.cwd()) and "site-packages" not in path.parts:
            raise FunctionNotPortable(
                f"{self._root} uses {name}, which is the local module {module.__name__}",
                "the image does not have it",
                ('code="." ships this directory', "install it into the image"),
            )

    def _add_definition(self, name: str, value: FunctionType | type) -> None:
        if value.__module__ != self._module:
            self._add_import(name, value, value.__module__)
            return
        source = _source(name, value, self._root)
        tree = ast.parse(source)
        scope: dict[str, Any] = dict(vars(sys.modules[self._module])) if self._module in sys.modules else {}
        if isinstance(value, FunctionType):
            scope = {**value.__globals__, **_closure(value)}
        for used, line in _free_names(tree).items():
            if used in scope:
                self.add(used, scope[used])
            elif not hasattr(builtins, used):
                raise FunctionNotPortable(f"{name}, line {line}: {used} is not defined", "", (f"define {used} first",))
        self.parts.append(source.rstrip())

    def _add_constant(self, name: str, value: object) -> None:
        if not _is_json(value):
            raise FunctionNotPortable(
                f"{self._root} uses {name}, a {type(value).__name__} of this session",
                "only imports, functions, classes and JSON go along",
                (f"make {name} inside the function", f"pass it in args={{'{name}': …}}"),
            )
        self.parts.append(f"{name} = {value!r}")


def _is_json(value: object) -> bool:
    if not isinstance(value, _CONSTANTS):
        return False
    try:
        json.dumps(value, allow_nan=False)
    except (TypeError, ValueError, RecursionError):
        return False
    return True


def _defined_in(value: object) -> str:
    found = getattr(value, "__module__", None)
    return found if isinstance(found, str) else ""


def _closure(func: FunctionType) -> dict[str, Any]:
    cells = zip(func.__code__.co_freevars, func.__closure__ or (), strict=True)
    found: dict[str, Any] = {}
    for name, cell in cells:
        try:
            found[name] = cell.cell_contents
        except ValueError:  # not assigned yet
            continue
    return found


def _source(name: str, value: FunctionType | type, root: str) -> str:
    try:
        source = textwrap.dedent(inspect.getsource(value))
    except (OSError, TypeError) as error:
        raise FunctionNotPortable(
            f"{root} uses {name}, whose source is not known", str(error), ("define it in a cell or a file",)
        ) from error
    tree = ast.parse(source)
    definition = tree.body[0]
    if not isinstance(definition, ast.FunctionDef | ast.ClassDef):
        raise FunctionNotPortable(f"{root} uses {name}, which is no definition", "", (f"def {name}(…): …",))
    return source


def _free_names(tree: ast.AST) -> dict[str, int]:
    """Return names that are read and nowhere bound in the tree, with their line; annotations do not count."""
    bound: set[str] = set()
    read: dict[str, int] = {}
    skipped = {id(part) for node in ast.walk(tree) for note in _annotations(node) for part in ast.walk(note)}
    for node in ast.walk(tree):
        if id(node) in skipped:
            continue
        if isinstance(node, ast.Name):
            if isinstance(node.ctx, ast.Load):
                read.setdefault(node.id, node.lineno)
            else:
                bound.add(node.id)
        else:
            bound |= _bound_by(node)
    return {name: line for name, line in read.items() if name not in bound}


def _annotations(node: ast.AST) -> list[ast.AST]:
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        return [node.returns] if node.returns is not None else []
    if isinstance(node, ast.arg):
        return [node.annotation] if node.annotation is not None else []
    return [node.annotation] if isinstance(node, ast.AnnAssign) else []


def _bound_by(node: ast.AST) -> set[str]:
    if isinstance(node, ast.Import | ast.ImportFrom):
        return {(alias.asname or alias.name).partition(".")[0] for alias in node.names}
    if isinstance(node, ast.Global | ast.Nonlocal):
        return set(node.names)
    if isinstance(node, ast.arg):
        return {node.arg}
    named = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.ExceptHandler, ast.MatchAs, ast.MatchStar)
    return {node.name} if isinstance(node, named) and node.name else set()
