"""Tests that let code run once or seldom, so that the loop around them says nothing of how often it runs."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import TypeGuard

from hotloop.source.module import Binding, Context, Scope


def is_guarded(where: Context, once: bool = False) -> bool:
    """Where it runs once or seldom: under `if x is None`, `if k not in cache`, `if step % 100 == 0`, or on an error.

    Asked for `once`, what runs again after so many steps is none of these.
    """
    guards = (test for test in where.tests if _is_guard(test, where.scope))
    return where.attempt == "handled" or any(not (once and every(test, where.scope)) for test in guards)


def every(test: ast.expr, scope: Scope) -> ast.expr | None:
    """The `100` of a test that lets something run again after so many steps: `step % 100 == 0 and step > 0`."""
    match test:
        case ast.Compare(left=ast.BinOp(op=ast.Mod(), right=period), ops=[ast.Eq()]):
            return period
        case ast.UnaryOp(op=ast.Not(), operand=ast.BinOp(op=ast.Mod(), right=period)):
            return period
        case ast.BoolOp(values=parts):
            periods = [every(part, scope) for part in parts]
            others = (part for part, period in zip(parts, periods, strict=True) if period is None)
            if isinstance(test.op, ast.And) and any(_is_guard(part, scope) for part in others):
                return None
            return next((period for period in periods if period is not None), None)
    return None


def _is_guard(test: ast.expr, scope: Scope) -> bool:
    if (isinstance(test, ast.Name) and _is_off(test.id, scope)) or _waits(test, scope):
        return True
    for node in ast.walk(test):
        if isinstance(node, ast.Compare):
            for operator, right in zip(node.ops, node.comparators, strict=True):
                if isinstance(operator, ast.Is) and isinstance(right, ast.Constant) and right.value is None:
                    return True
                if _is_unset(node.left, operator, right) and not _is_drawn(node.left, scope):
                    return True
                if isinstance(operator, ast.NotIn):
                    return True
                number = isinstance(right, ast.Constant) and type(right.value) is int
                if isinstance(operator, ast.Eq) and number:
                    return True
        elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            if isinstance(node.operand, ast.Name | ast.Attribute):
                return not _is_drawn(node.operand, scope)
            if isinstance(node.operand, ast.BinOp) and isinstance(node.operand.op, ast.Mod):
                return True
            if isinstance(node.operand, ast.Call) and isinstance(node.operand.func, ast.Name):
                return node.operand.func.id == "hasattr"
    return False


def _is_unset(left: ast.expr, operator: ast.cmpop, right: ast.expr) -> TypeGuard[ast.Name | ast.Attribute]:
    """`if self.compiled is False`, or `== False`."""
    says_false = isinstance(right, ast.Constant) and right.value is False
    return says_false and isinstance(operator, ast.Is | ast.Eq) and isinstance(left, ast.Name | ast.Attribute)


def _waits(test: ast.expr, scope: Scope) -> bool:
    """`if step - last_saved >= 1000: last_saved = step`, also of `self`; or `if step == following: following = ...`."""
    set_there: Sequence[Binding] = ()
    match test:
        case ast.Compare(left=ast.BinOp(op=ast.Sub(), right=ast.Name(id=last)), ops=[ast.Gt() | ast.GtE()]):
            set_there = scope.names.get(last, ())
        case ast.Compare(left=ast.BinOp(op=ast.Sub(), right=ast.Attribute(attr=last)), ops=[ast.Gt() | ast.GtE()]):
            set_there = scope.parent.set_names.get(last, ()) if scope.parent else ()
        case (
            ast.Compare(left=ast.Name(id=counter), ops=[ast.Eq()], comparators=[ast.Name(id=at)])
            | ast.Compare(left=ast.Name(id=counter), ops=[ast.Eq()], comparators=[ast.BinOp(left=ast.Name(id=at))])
        ) if any(binding.kind in ("augment", "target") for binding in scope.names.get(counter, ())):
            set_there = scope.names.get(at, ())
    return any(test in binding.where.tests for binding in set_there)


def _is_off(flag: str, scope: Scope) -> bool:
    """`debug = False` and nothing else: the code under `if debug` does not run."""
    owner = scope.owner(flag)
    values = [binding.value for binding in owner.bound(flag)] if owner else []
    return bool(values) and all(isinstance(value, ast.Constant) and value.value is False for value in values)


def _is_drawn(flag: ast.Name | ast.Attribute, scope: Scope) -> bool:
    """`for state, done in batch: if not done`: another one in each step, and no memory of an earlier one."""
    owner = scope.owner(flag.id) if isinstance(flag, ast.Name) else None
    return owner is not None and any(b.kind in ("target", "other") for b in owner.bound(flag.id))  # type: ignore[union-attr]
