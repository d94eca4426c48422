"""Finds places where the order of a set can reach a result.

A set may be asked for membership, for its size, or for an answer that no order changes; to walk
through one, sort it. Found are set displays, comprehensions, calls of set() and frozenset(), set
operations on keys(), and names and attributes that the same file declares to be sets.
"""

import ast
from collections.abc import Iterator

ORDERLESS = frozenset({"sorted", "any", "all", "sum", "min", "max", "len", "set", "frozenset"})
ORDERING = frozenset({"list", "tuple", "iter", "enumerate", "map", "filter", "zip", "dict"})
SET_TYPES = frozenset({"set", "frozenset", "Set", "AbstractSet", "MutableSet"})
SET_OPERATORS = (ast.BitOr, ast.BitAnd, ast.Sub, ast.BitXor)


def iterations_over_sets(module: ast.Module) -> Iterator[tuple[int, str]]:
    """Line and source of each iteration in the order of a set."""
    nodes = list(ast.walk(module))
    declared = declared_sets(nodes)
    harmless = set(harmless_places(nodes))
    for node in nodes:
        for iterated in iterated_by(node, harmless):
            if is_set(iterated, declared):
                yield iterated.lineno, ast.unparse(iterated)


def iterated_by(node: ast.AST, harmless: set[int]) -> list[ast.expr]:
    """The expressions a node walks through in their own order."""
    match node:
        case ast.For(iter=iterated):
            return [iterated]
        case ast.ListComp(generators=parts) | ast.DictComp(generators=parts):
            return [part.iter for part in parts] if id(node) not in harmless else []
        case ast.GeneratorExp(generators=parts) if id(node) not in harmless:
            return [part.iter for part in parts]
        case ast.Call(func=ast.Name(id=name), args=arguments) if name in ORDERING:
            return list(arguments) if id(node) not in harmless else []
        case ast.Starred(value=value) if id(node) not in harmless:
            return [value]
        case _:
            return []


def is_set(node: ast.expr, declared: set[str]) -> bool:
    """Whether an expression is plainly a set."""
    match node:
        case ast.Set() | ast.SetComp():
            return True
        case ast.Call(func=ast.Name(id="set" | "frozenset")):
            return True
        case ast.BinOp(left=left, op=operator, right=right) if isinstance(operator, SET_OPERATORS):
            return is_set_operand(left, declared) or is_set_operand(right, declared)
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name in declared
        case _:
            return False


def is_set_operand(node: ast.expr, declared: set[str]) -> bool:
    """Whether an operator applied to this gives a set: a set, or the keys of a mapping."""
    match node:
        case ast.Call(func=ast.Attribute(attr="keys" | "items")):
            return True
        case _:
            return is_set(node, declared)


def declared_sets(nodes: list[ast.AST]) -> set[str]:
    """Names of variables, parameters and fields that are sets throughout the file."""
    sets: set[str] = set()
    others: set[str] = set()
    for node in nodes:
        match node:
            case ast.AnnAssign(target=ast.Name(id=name) | ast.Attribute(attr=name)):
                (sets if is_set_type(node.annotation) else others).add(name)
            case ast.arg(arg=name, annotation=ast.expr() as annotation):
                (sets if is_set_type(annotation) else others).add(name)
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                (sets if is_set(value, set()) else others).add(name)
            case _:
                pass
    return sets - others


def is_set_type(annotation: ast.expr) -> bool:
    """Whether an annotation is `set[...]` or one of its kin."""
    if isinstance(annotation, ast.Subscript):
        annotation = annotation.value
    return isinstance(annotation, ast.Name) and annotation.id in SET_TYPES


def harmless_places(nodes: list[ast.AST]) -> Iterator[int]:
    """Identities of the expressions that lose their order in what surrounds them."""
    for node in nodes:
        match node:
            case ast.Call(func=ast.Name(id=name), args=arguments) if name in ORDERLESS:
                yield from (id(argument) for argument in arguments)
            case ast.Set(elts=elements):
                yield from (id(element) for element in elements)
            case _:
                pass
