"""Operations that xDSL does not know, or whose own syntax it does not read, such as named ones of linalg.

>>> sorted(x.name for x in OWN_OPERATIONS if x.name.startswith("affine"))
['affine.if', 'affine.max']
"""

from __future__ import annotations

from typing import Self

from xdsl.dialects import affine, arith, scf
from xdsl.dialects.builtin import AffineMapAttr, AffineSetAttr, IndexType, MemRefType
from xdsl.ir import Attribute, Block, Region, SSAValue
from xdsl.irdl import (
    AttrSizedOperandSegments,
    IRDLOperation,
    ParsePropInAttrDict,
    irdl_op_definition,
    operand_def,
    opt_prop_def,
    prop_def,
    region_def,
    result_def,
    var_operand_def,
    var_region_def,
    var_result_def,
)
from xdsl.parser import Parser

from planish.frontend.mlir.named import NAMES


def _operands(parser: Parser) -> list[SSAValue]:
    """`(%d0, %d1)[%s0]`: what dimensions and symbols stand for."""

    def one() -> SSAValue:
        return parser.parse_operand(IndexType())

    dims = parser.parse_optional_comma_separated_list(Parser.Delimiter.PAREN, one) or []
    return [*dims, *(parser.parse_optional_comma_separated_list(Parser.Delimiter.SQUARE, one) or [])]


def _types_after_arrow(parser: Parser) -> list[Attribute]:
    if parser.parse_optional_punctuation("->") is None:
        return []
    many = parser.parse_optional_comma_separated_list(Parser.Delimiter.PAREN, parser.parse_type)
    return [parser.parse_type()] if many is None else list(many)


def _ended(region: Region) -> Region:
    """The region with the `affine.yield` that its text leaves out."""
    if not region.blocks:
        region.add_block(Block())
    block = region.blocks[-1]
    if not isinstance(block.last_op, affine.YieldOp):
        block.add_op(affine.YieldOp.get())
    return region


@irdl_op_definition
class IfOp(IRDLOperation):
    """`affine.if #set(%i)[%n] { … } else { … }`."""

    name = "affine.if"

    args = var_operand_def(IndexType)
    res = var_result_def()
    condition = prop_def(AffineSetAttr)
    then_region = region_def()
    else_region = region_def()

    @classmethod
    def parse(cls, parser: Parser) -> IfOp:
        """The operation behind its name."""
        place = parser.pos
        condition = parser.parse_attribute()
        if not isinstance(condition, AffineSetAttr):
            parser.raise_error("expected an integer set", place)
        args = _operands(parser)
        types = _types_after_arrow(parser)
        then = _ended(parser.parse_region())
        otherwise = _ended(parser.parse_region()) if parser.parse_optional_keyword("else") is not None else Region()
        attributes = parser.parse_optional_attr_dict()
        return cls.build(
            operands=[args], result_types=[types], properties={"condition": condition}, attributes=attributes,
            regions=[then, otherwise],
        )  # fmt: skip


@irdl_op_definition
class MaxOp(IRDLOperation):
    """`affine.max #map(%i)[%n]`: the greatest result of a map."""

    name = "affine.max"

    arguments = var_operand_def(IndexType)
    result = result_def(IndexType)
    map = prop_def(AffineMapAttr)

    @classmethod
    def parse(cls, parser: Parser) -> MaxOp:
        """The operation behind its name."""
        place = parser.pos
        map = parser.parse_attribute()
        if not isinstance(map, AffineMapAttr):
            parser.raise_error("expected an affine map", place)
        return cls.build(operands=[_operands(parser)], properties={"map": map}, result_types=[IndexType()])


class ParallelOp(scf.ParallelOp):
    """`scf.parallel (%i, %j) = (%a, %b) to (%c, %d) step (%e, %f) { … }`."""

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        """The operation behind its name, without reductions."""
        iterators = parser.parse_comma_separated_list(
            Parser.Delimiter.PAREN, lambda: parser.parse_argument(expect_type=False)
        )
        parser.parse_punctuation("=")
        lower = _operands(parser)
        parser.parse_keyword("to")
        upper = _operands(parser)
        parser.parse_keyword("step")
        step = _operands(parser)
        body = parser.parse_region([x.resolve(IndexType()) for x in iterators])
        if not isinstance(body.block.last_op, scf.ReduceOp):
            body.block.add_op(scf.ReduceOp())
        return cls(lower, upper, step, body)


@irdl_op_definition
class TransposeOp(IRDLOperation):
    """`memref.transpose %a (i, j) -> (j, i) : type to type`."""

    name = "memref.transpose"

    source = operand_def(MemRefType)
    result = result_def(MemRefType)
    permutation = prop_def(AffineMapAttr)

    @classmethod
    def parse(cls, parser: Parser) -> TransposeOp:
        """The operation behind its name."""
        source = parser.parse_unresolved_operand()
        permutation = AffineMapAttr(parser.parse_affine_map())
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        operand = parser.resolve_operand(source, parser.parse_type())
        parser.parse_keyword("to")
        result = parser.parse_type()
        return cls.build(
            operands=[operand], result_types=[result], properties={"permutation": permutation}, attributes=attributes
        )


@irdl_op_definition
class CastOp(IRDLOperation):
    """`memref.cast %a : type to type`."""

    name = "memref.cast"

    source = operand_def(MemRefType)
    result = result_def(MemRefType)
    assembly_format = "$source attr-dict `:` type($source) `to` type($result)"


@irdl_op_definition
class SpaceCastOp(IRDLOperation):
    """`memref.memory_space_cast %a : type to type`."""

    name = "memref.memory_space_cast"

    source = operand_def(MemRefType)
    result = result_def(MemRefType)
    assembly_format = "$source attr-dict `:` type($source) `to` type($result)"


@irdl_op_definition
class MemoryCopyOp(IRDLOperation):
    """`memref.copy %a, %b : type to type`."""

    name = "memref.copy"

    source = operand_def(MemRefType)
    target = operand_def(MemRefType)
    assembly_format = "$source `,` $target attr-dict `:` type($source) `to` type($target)"


@irdl_op_definition
class RankOp(IRDLOperation):
    """`memref.rank %a : type`."""

    name = "memref.rank"

    source = operand_def(MemRefType)
    result = result_def(IndexType)
    assembly_format = "$source attr-dict `:` type($source)"


@irdl_op_definition
class UnsignedIndexCastOp(IRDLOperation):
    """`arith.index_castui %a : type to type`."""

    name = "arith.index_castui"

    source = operand_def()
    result = result_def()
    assembly_format = "$source attr-dict `:` type($source) `to` type($result)"


@irdl_op_definition
class RemainderOp(arith.FloatingPointLikeBinaryOperation):
    """`arith.remf %a, %b : type`."""

    name = "arith.remf"


class NamedOp(IRDLOperation):
    """A named operation of linalg: `linalg.matmul {attributes} ins(%a, %b : types) outs(%c : types)`.

    What it computes is told by its name (see `named`), so that the region of its generic form is not looked at.
    """

    inputs = var_operand_def()
    outputs = var_operand_def()
    res = var_result_def()
    strides = opt_prop_def(Attribute)
    dilations = opt_prop_def(Attribute)
    cast = opt_prop_def(Attribute)
    indexing_maps = opt_prop_def(Attribute)
    hidden = var_region_def()

    irdl_options = (AttrSizedOperandSegments(as_property=True), ParsePropInAttrDict())

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        """The operation behind its name."""
        attributes = parser.parse_optional_attr_dict()
        inputs, outputs = _group(parser, "ins"), _group(parser, "outs")
        if parser.parse_optional_keyword("attrs") is not None:
            parser.parse_punctuation("=")
            attributes |= parser.parse_optional_attr_dict()
        known = cls.get_irdl_definition().properties
        return cls.build(
            operands=[inputs, outputs], result_types=[_types_after_arrow(parser)], regions=[[]],
            properties={k: v for k, v in attributes.items() if k in known},
            attributes={k: v for k, v in attributes.items() if k not in known},
        )  # fmt: skip


def _group(parser: Parser, keyword: str) -> list[SSAValue]:
    """`ins(%a, %b : type, type)`."""
    if parser.parse_optional_keyword(keyword) is None:
        return []
    place = parser.pos
    parser.parse_punctuation("(")
    operands = parser.parse_comma_separated_list(Parser.Delimiter.NONE, parser.parse_unresolved_operand)
    parser.parse_punctuation(":")
    types = parser.parse_comma_separated_list(Parser.Delimiter.NONE, parser.parse_type)
    parser.parse_punctuation(")")
    return list(parser.resolve_operands(operands, types, place))


def _define(name: str) -> type[IRDLOperation]:
    return irdl_op_definition(type(name, (NamedOp,), {"name": f"linalg.{name}", "__doc__": NamedOp.__doc__}))


OWN_OPERATIONS: tuple[type[IRDLOperation], ...] = (
    IfOp, MaxOp, ParallelOp, TransposeOp, CastOp, SpaceCastOp, MemoryCopyOp, RankOp, UnsignedIndexCastOp, RemainderOp,
    *(_define(name) for name in NAMES),
)  # fmt: skip
"""They are read in place of xDSL's operations of the same names."""
