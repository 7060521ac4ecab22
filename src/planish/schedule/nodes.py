"""Statements of a nest found and replaced by label, the number that stays with each while steps rewrite the nest.

>>> from planish.ir.text.parser import parse_kernel
>>> kernel = label_kernel(parse_kernel("kernel z(n; A: f32[n]) { for i in 0 .. n { A[i] = 0.0:f32 } }"))
>>> [stmt.label for stmt in walk(kernel.body) if not isinstance(stmt, Block)]
[1, 2]
>>> [type(stmt).__name__ for stmt in path_to(kernel.body, 2)]
['For', 'Assign']
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from planish.ir.nest import Alloc, Assign, Barrier, Block, For, If, Kernel, Launch, Let, Reduce, Stmt, While
from planish.ir.traverse import blocks_of, walk, with_blocks, with_body

Node = For | While | If | Assign | Reduce | Alloc | Let | Launch | Barrier
"""A statement that has a label."""

Siblings = tuple[Stmt, ...]


def label_kernel(kernel: Kernel) -> Kernel:
    """The kernel with a label of its own on each statement: those that are there stay (on the first that has one, in
    the order of the text), blocks in blocks are opened where no name is bound in them."""
    seen = {0}
    following = max((stmt.label for stmt in walk(kernel.body) if not isinstance(stmt, Block)), default=0) + 1

    def fresh(label: int) -> int:
        nonlocal following
        if label in seen:
            label, following = following, following + 1
        seen.add(label)
        return label

    def visit(block: Block) -> Block:
        out: list[Stmt] = []
        for stmt in block.body:
            if isinstance(stmt, Block):
                inner = visit(stmt)
                out += [inner] if any(isinstance(x, Alloc | Let) for x in inner.body) else inner.body
            else:
                label = fresh(stmt.label)
                labelled = stmt if label == stmt.label else replace(stmt, label=label)
                out.append(with_blocks(labelled, [visit(part) for part in blocks_of(labelled)]))
        return with_body(block, out)

    return replace(kernel, body=visit(kernel.body))


def nodes(block: Block) -> Iterator[Node]:
    """All statements with labels, in the order of the text."""
    for stmt in walk(block):
        if not isinstance(stmt, Block):
            yield stmt


def path_to(block: Block, label: int) -> tuple[Node, ...]:
    """The statements around the one with a label, outermost first, and itself; empty where there is none."""
    for stmt in block.body:
        own = () if isinstance(stmt, Block) else (stmt,)
        if own and own[0].label == label:
            return own
        for part in blocks_of(stmt):
            inner = path_to(part, label)
            if inner:
                return (*own, *inner)
    return ()


def paths(block: Block, around: tuple[Node, ...] = ()) -> Iterator[tuple[Node, ...]]:
    """The path to each statement with a label, as of `path_to`, in the order of the text."""
    for stmt in block.body:
        own = around if isinstance(stmt, Block) else (*around, stmt)
        if not isinstance(stmt, Block):
            yield own
        for part in blocks_of(stmt):
            yield from paths(part, own)


def siblings_of(block: Block, label: int) -> tuple[Siblings, int] | None:
    """The statements of the block in which the one with a label stands, and its place among them."""
    for place, stmt in enumerate(block.body):
        if not isinstance(stmt, Block) and stmt.label == label:
            return block.body, place
        for part in blocks_of(stmt):
            found = siblings_of(part, label)
            if found is not None:
                return found
    return None


def edit(block: Block, label: int, change: Callable[[Siblings, int], Sequence[Stmt]]) -> Block:
    """The block with what `change` makes of the statements among which the one with a label stands, given them and its
    place."""
    for place, stmt in enumerate(block.body):
        if not isinstance(stmt, Block) and stmt.label == label:
            return Block(tuple(change(block.body, place)))
    return with_body(block, [with_blocks(s, [edit(part, label, change) for part in blocks_of(s)]) for s in block.body])


def exchange(block: Block, label: int, change: Callable[[Node], Sequence[Stmt]]) -> Block:
    """The block with what `change` makes of the one statement with a label."""

    def visit(siblings: Siblings, place: int) -> Sequence[Stmt]:
        stmt = siblings[place]
        assert not isinstance(stmt, Block)
        return (*siblings[:place], *change(stmt), *siblings[place + 1 :])

    return edit(block, label, visit)


def put_in_place(block: Block, label: int, stmts: Sequence[Stmt]) -> Block:
    """The block with statements in place of the one with a label."""
    return exchange(block, label, lambda _: stmts)
