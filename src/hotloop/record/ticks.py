"""Loop iterations: rewrites the user's own modules so that each loop reports its steps."""

from __future__ import annotations

import ast
import types
import warnings
from collections.abc import Callable
from time import perf_counter_ns
from typing import Any

from hotloop.model import Place
from hotloop.record.track import Track

# Functions under these decorators are compiled from their bytecode, which must stay as it was written.
BYTECODE_COMPILERS = frozenset({"jit", "njit", "vectorize", "guvectorize", "stencil", "cfunc", "generated_jit"})
# A generator expression that is all one of these is given runs there and then, like a comprehension.
CONSUMERS = frozenset(
    {"all", "any", "dict", "frozenset", "join", "list", "max", "min", "set", "sorted", "sum", "tuple"}
)

# Constants cannot hold callables until the code is compiled: names no program uses stand in for them.
_CLOCK = "\0hotloop clock"
_TICK = "\0hotloop tick "
_MARK = "\0hotloop mark "
_CALL = "\0hotloop call"
_SWITCH = "\0hotloop switch "
_OVER = "\0hotloop over "

Loop = ast.For | ast.AsyncFor | ast.While
Comprehension = ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp


def instrument(source: bytes, filename: str, shown: str) -> tuple[types.CodeType, list[Track]]:
    """The module's code with ticks, and where they arrive. `shown`: its path in the recording."""
    tree = ast.parse(source, filename)
    rewriter = _Rewriter(shown)
    tree = rewriter.visit(tree)
    constants: dict[str, Any] = {_CLOCK: perf_counter_ns}
    for number, track in enumerate(rewriter.tracks):
        constants[f"{_TICK}{number}"] = track.ticks.append
        constants[f"{_MARK}{number}"] = track.marks.append
        constants[f"{_SWITCH}{number}"] = track.switch
        constants[f"{_OVER}{number}"] = track.over
    return _put_in(_compile(tree, filename), constants), rewriter.tracks


def with_last_call(source: bytes, filename: str, callback: Callable[[], None]) -> types.CodeType:
    """The module's code with `callback()` as its last statement: no frame of ours around the import."""
    tree = ast.parse(source, filename)
    tree.body.append(_at(ast.Expr(ast.Call(ast.Constant(_CALL), [], [])), tree.body[-1]))
    return _put_in(_compile(tree, filename), {_CALL: callback})


def _compile(tree: ast.Module, filename: str) -> types.CodeType:
    with warnings.catch_warnings():
        # Our stand-ins look like calls of a string; the program's own warnings still come through.
        warnings.filterwarnings("ignore", "'str' object is not callable", SyntaxWarning)
        return compile(tree, filename, "exec", dont_inherit=True)


def _put_in(code: types.CodeType, constants: dict[str, Any]) -> types.CodeType:
    def replaced(constant: Any) -> Any:
        if isinstance(constant, types.CodeType):
            return _put_in(constant, constants)
        return constants.get(constant, constant) if isinstance(constant, str) else constant

    return code.replace(co_consts=tuple(replaced(constant) for constant in code.co_consts))


class _Rewriter(ast.NodeTransformer):
    def __init__(self, shown: str) -> None:
        self.shown = shown
        self.tracks: list[Track] = []
        self.scope: list[str] = []
        self.in_loop = False  # of the function at hand

    # -- scopes ------------------------------------------------------------------------------------

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        return self._function(node)

    def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> ast.AST:
        return self._function(node)

    def _function(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> ast.AST:
        if any(_last_name(decorator) in BYTECODE_COMPILERS for decorator in node.decorator_list):
            return node
        return self._inside(node, node.name, "<locals>")

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.AST:
        return self._inside(node, node.name)

    def visit_Lambda(self, node: ast.Lambda) -> ast.AST:
        return node  # Keras marshals the code of lambdas when it saves a model

    def _inside(self, node: ast.AST, *names: str) -> ast.AST:
        around, self.in_loop = self.in_loop, False
        self.scope += names
        self.generic_visit(node)
        del self.scope[-len(names) :]
        self.in_loop = around
        return node

    # -- loops -------------------------------------------------------------------------------------

    def visit_For(self, node: ast.For) -> list[ast.stmt]:
        return self._loop(node, "for")

    def visit_AsyncFor(self, node: ast.AsyncFor) -> list[ast.stmt]:
        return self._loop(node, "for")

    def visit_While(self, node: ast.While) -> list[ast.stmt]:
        return self._loop(node, "while")

    def _loop(self, node: Loop, kind: str) -> list[ast.stmt]:
        number = self._track(node, kind, yields=any(_yields(statement) for statement in node.body))
        alone, self.in_loop = not self.in_loop, True
        self.generic_visit(node)
        self.in_loop = not alone
        if alone and isinstance(node, ast.For) and _is_range(node.iter):
            node = _in_stretches(number, node)
        else:
            node.body.insert(0, _at(ast.If(_awake(number), [ast.Expr(_tick(number))], []), node))
        entered = _at(ast.If(_marking(number), [ast.Expr(_enter(number))], []), node)
        left = _at(ast.If(_marking(number), [ast.Expr(_leave(number))], []), node)
        return [entered, _at(ast.Try([node], [], [], [left]), node)]

    # -- comprehensions ----------------------------------------------------------------------------

    def visit_ListComp(self, node: ast.ListComp) -> ast.expr:
        return self._comprehension(node, node)

    def visit_SetComp(self, node: ast.SetComp) -> ast.expr:
        return self._comprehension(node, node)

    def visit_DictComp(self, node: ast.DictComp) -> ast.expr:
        return self._comprehension(node, node)

    def visit_GeneratorExp(self, node: ast.GeneratorExp) -> ast.expr:
        self._tick_elements(node, self._track(node, "comprehension", yields=True))
        return node

    def visit_Call(self, node: ast.Call) -> ast.expr:
        match node.args:
            case [ast.GeneratorExp() as inner] if _last_name(node.func) in CONSUMERS:
                node.func = self.visit(node.func)
                node.keywords = [self.visit(keyword) for keyword in node.keywords]
                return self._comprehension(node, inner)
        self.generic_visit(node)
        return node

    def _comprehension(self, whole: ast.expr, inner: Comprehension) -> ast.expr:
        number = self._track(inner, "comprehension")
        self._tick_elements(inner, number)
        enter, leave = (ast.BoolOp(ast.And(), [_marking(number), mark(number)]) for mark in (_enter, _leave))
        parts = ast.Tuple([enter, whole, leave], ast.Load())
        chosen: ast.expr = _at(ast.Subscript(parts, ast.Constant(1), ast.Load()), whole)
        return chosen

    def _tick_elements(self, node: Comprehension, number: int) -> None:
        self.generic_visit(node)
        # `append` returns None, so that this condition always holds: a tick without a change of shape.
        tick = ast.BoolOp(ast.And(), [_awake(number), _tick(number)])
        node.generators[-1].ifs.insert(0, _at(ast.UnaryOp(ast.Not(), tick), node))

    def _track(self, node: ast.stmt | ast.expr, kind: str, *, yields: bool = False) -> int:
        end_line, end_col = node.end_lineno or node.lineno, node.end_col_offset or 0
        place = Place(self.shown, node.lineno, node.col_offset, end_line, end_col)
        name = ".".join(self.scope).removesuffix(".<locals>")
        self.tracks.append(Track(place, kind, name, yields=yields))
        return len(self.tracks) - 1


def _tick(number: int) -> ast.expr:
    return ast.Call(ast.Constant(f"{_TICK}{number}"), [_now()], [])


def _in_stretches(number: int, node: ast.For) -> ast.For:
    """A loop over a range goes over one part of it after the other, which tick or do not: then a step costs nothing.

        for stretch in over(range(...)):
            for target in stretch:
                body
            else:
                continue
            break
        else:
            what follows the loop unless it breaks

    To begin such a loop costs more than to begin another: one inside a loop, which may be short, ticks as all do.
    """
    stretches = ast.Call(ast.Constant(f"{_OVER}{number}"), [node.iter], [])
    inner = ast.For(node.target, _stretch(number, ast.Load()), node.body, [ast.Continue()], None)
    outer: ast.For = _at(
        ast.For(_stretch(number, ast.Store()), stretches, [inner, ast.Break()], node.orelse, None), node
    )
    return outer


def _stretch(number: int, context: ast.expr_context) -> ast.expr:
    """Kept on an object of ours: the program's own names stay its own."""
    return ast.Attribute(ast.Constant(f"{_SWITCH}{number}"), "stretch", context)


def _is_range(node: ast.expr) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "range"


def _awake(number: int) -> ast.expr:
    return ast.Attribute(ast.Constant(f"{_SWITCH}{number}"), "on", ast.Load())


def _marking(number: int) -> ast.expr:
    return ast.Attribute(ast.Constant(f"{_SWITCH}{number}"), "marks", ast.Load())


def _enter(number: int) -> ast.expr:
    return ast.Call(ast.Constant(f"{_MARK}{number}"), [_now()], [])


def _leave(number: int) -> ast.expr:
    return ast.Call(ast.Constant(f"{_MARK}{number}"), [ast.UnaryOp(ast.USub(), _now())], [])


def _now() -> ast.expr:
    return ast.Call(ast.Constant(_CLOCK), [], [])


def _at(new: Any, old: ast.AST) -> Any:
    """Every new node stands where the loop's header stands: tracebacks and warnings keep their lines."""
    return ast.fix_missing_locations(ast.copy_location(new, old))


def _last_name(node: ast.expr) -> str:
    match node:
        case ast.Call(func=function):
            return _last_name(function)
        case ast.Attribute(attr=name) | ast.Name(id=name):
            return name
    return ""


def _yields(node: ast.AST) -> bool:
    if isinstance(node, ast.Yield | ast.YieldFrom):
        return True
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda | ast.ClassDef):
        return False
    return any(_yields(child) for child in ast.iter_child_nodes(node))
