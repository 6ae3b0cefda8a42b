"""Module -> changed Module: moves and replaces syntax with LibCST, so that all else stays byte for byte."""

from __future__ import annotations

import ast
import builtins
import difflib
import functools
import re
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from hotloop.model import Edit, Fix, Place, Refusal, Safety
from hotloop.source.module import Module, Scope, place_of

if TYPE_CHECKING:
    import libcst as cst


Point = tuple[int, int]  # line and column

UTF8 = {"utf-8", "utf8", "utf-8-sig", "ascii", "us-ascii"}
LARGEST = 500_000  # bytes: LibCST needs a minute for a generated file of twice that


class Refused(Exception):  # noqa: N818 - it carries an answer, not an error
    """Raised where a precondition of a fix fails: why, and the code in the way (`module`: if in another file)."""

    def __init__(self, reason: str, node: ast.AST | None = None, module: Module | None = None) -> None:
        super().__init__(reason)
        self.reason, self.node, self.module = reason, node, module

    def refusal(self, module: Module, place: Place) -> Refusal:
        return Refusal(self.reason, place_of(module, self.node) if self.node is not None else place)


@functools.lru_cache(maxsize=4)
def _read(data: bytes) -> tuple[cst.Module, dict[Point, list[tuple[Point, Any]]]]:
    """The tree, which nobody changes, and its nodes by where they start: one file may have many findings."""
    import libcst
    from libcst.metadata import MetadataWrapper, PositionProvider

    if len(data) > LARGEST:
        raise Refused("the file is too large to be rewritten")
    try:
        tree = libcst.parse_module(data)
    except (SyntaxError, libcst.ParserSyntaxError) as error:
        raise Refused("the file is written in a way that cannot be rewritten") from error
    if tree.bytes != data or tree.encoding.lower().replace("_", "-") not in UTF8:
        raise Refused("the file is not plain UTF-8, or does not survive being read and written back")
    by_start: dict[Point, list[tuple[Point, Any]]] = {}
    for node, span in MetadataWrapper(tree, unsafe_skip_copy=True).resolve(PositionProvider).items():
        by_start.setdefault((span.start.line, span.start.column), []).append(((span.end.line, span.end.column), node))
    return tree, by_start


class Rewriter:
    """One file being changed. Syntax is found by the place of its `ast` node; changes are made in one go at the end."""

    def __init__(self, module: Module) -> None:
        self.module = module
        self.tree, self._by_start = _read(module.data)
        self._lines = re.split(r"\r\n|\r|\n", module.data.decode("utf-8-sig", "replace"))
        self._changes: dict[Any, list[Any]] = {}

    # -- finding -------------------------------------------------------------------------------------------------------

    def expression(self, node: ast.expr) -> cst.BaseExpression:
        import libcst

        end = self._point(node.end_lineno or 0, node.end_col_offset or 0)
        for stop, found in self._by_start.get(self._point(node.lineno, node.col_offset), []):
            if stop == end and isinstance(found, libcst.BaseExpression):
                return found
        if isinstance(node, ast.Tuple) and node.elts:  # `ast` counts its parentheses, LibCST does not
            first = node.elts[0]
            for _, found in self._by_start.get(self._point(first.lineno, first.col_offset), []):
                if isinstance(found, libcst.Tuple) and len(found.elements) == len(node.elts):
                    return found
        raise Refused("the expression is written in a way that cannot be rewritten", node)

    def statement(self, node: ast.stmt) -> cst.SimpleStatementLine | cst.BaseCompoundStatement:
        """The statement with all its lines; one of several on a line (`a; b`) is refused."""
        import libcst

        for _, found in self._by_start.get(self._point(node.lineno, node.col_offset), []):
            if isinstance(found, libcst.BaseCompoundStatement):
                return found
            if isinstance(found, libcst.SimpleStatementLine):
                if len(found.body) > 1:
                    raise Refused("several statements share a line", node)
                return found
        raise Refused("the statement is written in a way that cannot be rewritten", node)

    def _point(self, line: int, column: int) -> tuple[int, int]:
        """`ast` counts UTF-8 bytes, LibCST characters."""
        text = self._lines[line - 1] if line <= len(self._lines) else ""
        return line, len(text.encode()[:column].decode("utf-8", "replace"))

    # -- changing ------------------------------------------------------------------------------------------------------

    def replace(self, old: cst.CSTNode, *new: cst.CSTNode) -> None:
        """Put nothing, one node or several statements in the place of `old`."""
        self._changes[old] = list(new)

    def before(self, statement: cst.CSTNode, *new: cst.CSTNode) -> None:
        """Put statements before one that stays."""
        self._changes[statement] = [*new, *self._changes.get(statement, [statement])]

    def after(self, statement: cst.CSTNode, *new: cst.CSTNode) -> None:
        """Put statements after one that stays."""
        self._changes[statement] = [*self._changes.get(statement, [statement]), *new]

    def require_import(self, name: str) -> None:
        """`import name`, once, before the first plain import of the file unless it is there already."""
        import libcst

        bound = self.module.scope.bindings.get(name, [])
        if any(b.kind == "import" and b.imported == name for b in bound):
            return
        if bound:
            raise Refused(f"the file uses the name `{name}` for something else")
        line: Any = libcst.parse_statement(f"import {name}\n", config=self.tree.config_for_parsing)
        imports = self._leading_imports()
        standard = [n for n in imports if _imported(n) in sys.stdlib_module_names]
        later = next((n for n in standard if isinstance(n, ast.ImportFrom) or _imported(n) > name), None)
        if later is None and standard:
            last = self.statement(standard[-1])
            self._changes[last] = [*self._changes.get(last, [last]), line]
            return
        anchor = self.statement(later or next(iter(imports), self._first_statement()))
        line = line.with_changes(leading_lines=anchor.leading_lines)
        blank = [] if later else [libcst.EmptyLine(indent=False)]
        self._changes[anchor] = [line, anchor.with_changes(leading_lines=blank)]

    def _leading_imports(self) -> list[ast.stmt]:
        """The plain imports above the first code: one further down would come too late."""
        found: list[ast.stmt] = []
        for node in self.module.tree.body:
            if _is_plain_import(node):
                found.append(node)
            elif isinstance(
                node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.For | ast.While | ast.With
            ):
                break
        return found

    def _first_statement(self) -> ast.stmt:
        """The first that is neither the docstring nor a `__future__` import."""
        for node in self.module.tree.body:
            docstring = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
            future = isinstance(node, ast.ImportFrom) and node.module == "__future__"
            if not docstring and not future:
                return node
        raise Refused("the file has no statement to put an import before")

    def new_name(self, wanted: str, *scopes: Scope) -> str:
        """`wanted`, or with a number behind it where that name is taken."""
        taken = set(self.module.scope.bindings)
        taken |= {n.id for n in ast.walk(self.module.tree) if isinstance(n, ast.Name)}
        for scope in scopes:
            taken |= set(scope.bindings)
        number, name = 1, wanted
        while name in taken or name in dir(builtins):
            number += 1
            name = f"{wanted}_{number}"
        return name

    def parse_block(self, text: str) -> list[cst.SimpleStatementLine | cst.BaseCompoundStatement]:
        """Statements from text, in the file's own indentation and line endings."""
        import libcst

        unit = self.tree.default_indent
        lines = [_reindent(line, unit) for line in text.splitlines()]
        parsed = libcst.parse_module("\n".join(lines) + "\n", config=self.tree.config_for_parsing)
        body = list(parsed.body)
        if body and parsed.header:
            body[0] = body[0].with_changes(leading_lines=[*parsed.header, *body[0].leading_lines])
        return body

    def parse_expression(self, text: str) -> cst.BaseExpression:
        import libcst

        return libcst.parse_expression(text, config=self.tree.config_for_parsing)

    def code(self, node: cst.CSTNode) -> str:
        return self.tree.code_for_node(node)

    # -- the result ----------------------------------------------------------------------------------------------------

    def data(self) -> bytes:
        changed: cst.Module = substituted(self.tree, self._changes)
        return changed.bytes

    def fix(self, title: str, safety: Safety) -> Fix:
        new = self.data()
        compile(new, self.module.path, "exec", dont_inherit=True)  # one that does not is our defect: fail here, loudly
        return Fix(title, tuple(edits_between(self.module.path, self.module.data, new)), safety)


def substituted(root: Any, changes: dict[Any, list[Any]]) -> Any:
    """The tree with other nodes in the place of some, all in one pass: a second one would no longer know its nodes."""
    import libcst

    class Apply(libcst.CSTTransformer):
        def on_leave(self, original_node: Any, updated_node: Any) -> Any:
            if original_node not in changes:
                return updated_node
            # A node that stays among its replacements stays as its own children were changed.
            new = [updated_node if node is original_node else node for node in changes[original_node]]
            if not new:
                return libcst.RemoveFromParent()
            return new[0] if len(new) == 1 else libcst.FlattenSentinel(new)

    return root.visit(Apply())


def edits_between(path: str, old: bytes, new: bytes) -> list[Edit]:
    """The line spans that changed, as byte edits."""
    before, after = old.splitlines(keepends=True), new.splitlines(keepends=True)
    starts = [0]
    for line in before:
        starts.append(starts[-1] + len(line))
    matcher = difflib.SequenceMatcher(a=before, b=after, autojunk=False)
    return [
        Edit(path, starts[i1], starts[i2], b"".join(after[j1:j2]).decode("utf-8"))
        for tag, i1, i2, j1, j2 in matcher.get_opcodes()
        if tag != "equal"
    ]


def apply_edits(data: bytes, edits: Sequence[Edit]) -> bytes:
    for edit in sorted(edits, key=lambda e: e.start, reverse=True):
        data = data[: edit.start] + edit.text.encode("utf-8") + data[edit.end :]
    return data


def body_of(block: Any) -> list[Any]:
    """The statements of a compound statement; `if x: y` on one line is refused."""
    import libcst

    if not isinstance(block.body, libcst.IndentedBlock):
        raise Refused("the block stands on one line with its header")
    return list(block.body.body)


def with_body(block: Any, statements: Sequence[Any]) -> Any:
    """The same compound statement around other statements; an empty body gets a `pass`."""
    import libcst

    body = list(statements) or [libcst.SimpleStatementLine([libcst.Pass()])]
    return block.with_changes(body=block.body.with_changes(body=body))


def without_blank_lines(statement: Any) -> Any:
    """The statement with the comments above it, but not the blank lines."""
    kept = [line for line in statement.leading_lines if line.comment is not None]
    return statement.with_changes(leading_lines=kept)


def _reindent(line: str, unit: str) -> str:
    stripped = line.lstrip(" ")
    return unit * ((len(line) - len(stripped)) // 4) + stripped


def _is_plain_import(node: ast.stmt) -> bool:
    return isinstance(node, ast.Import) or (
        isinstance(node, ast.ImportFrom) and node.module != "__future__" and node.level == 0
    )


def _imported(node: ast.stmt) -> str:
    name = node.names[0].name if isinstance(node, ast.Import) else getattr(node, "module", "") or ""
    return name.partition(".")[0]
