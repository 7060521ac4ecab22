"""A vector extension as schedules see it: registers, and the names of its instructions.

>>> from planish.ir.types import F32
>>> v = find_vectors("avx512", F32)
>>> v.memory, v.lanes, v.registers, v.name("load")
('zmm', 16, 32, 'avx512_load_f32')
>>> find_vectors("avx512", PRODUCTS["u8s8"]).product.group
4
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from planish.core.diagnostic import Diagnostic, PlanishError
from planish.ir.types import BF16, F16, F32, F64, I8, I16, I32, U8, Type
from planish.isa.shipped import extension, extensions
from planish.target.machine import Target


@dataclass(frozen=True, slots=True)
class ProductTypes:
    """The types of two factors, `left` and `right`, and of sums of their products. An instruction adds `group` products
    of neighbours to one sum; `dot` is what it is called where that is more than one. `flushes`: it takes denormal
    numbers for zeros."""

    name: str
    left: Type
    right: Type
    sum: Type
    group: int = 1
    dot: str = ""
    flushes: bool = False


PRODUCTS: Mapping[str, ProductTypes] = {
    **{str(t): ProductTypes(str(t), t, t, t) for t in (F16, F32, F64)},
    "bf16": ProductTypes("bf16", BF16, BF16, F32, 2, "dpbf16_word", flushes=True),
    "i16": ProductTypes("i16", I16, I16, I32, 2, "dpwssd_word"),
    "u8s8": ProductTypes("u8s8", U8, I8, I32, 4, "dpbusd_word"),
    "s8u8": ProductTypes("s8u8", I8, U8, I32, 4, "dpbsud_word"),
}
"""All products by their names."""


@dataclass(frozen=True, slots=True)
class Vectors:
    """A vector extension at one product: the kind of its registers, how many sums one holds, how many there are."""

    extension: str
    memory: str
    lanes: int
    registers: int
    product: ProductTypes

    @property
    def type(self) -> Type:
        """The type of the sums."""
        return self.product.sum

    @property
    def width(self) -> int:
        """The bytes of a register."""
        return self.lanes * self.type.size

    def name(self, operation: str, type: Type | None = None) -> str:
        """The instruction of that extension and type (that of the sums where None): `avx512_load_f32` for "load"."""
        return f"{self.extension}_{operation}_{type or self.type}"

    @property
    def multiply(self) -> str:
        """The instruction that adds products with a scalar, or with a word of neighbours, to sums."""
        dot = self.product.dot
        return f"{self.extension}_{dot}" if dot else self.name("fmadd_scalar")

    def has(self, operation: str, type: Type | None = None) -> bool:
        """Whether there is such an instruction."""
        return self.name(operation, type) in extension(self.extension).instructions


def choose_vectors(target: Target, product: ProductTypes | Type) -> Vectors:
    """The vectors that a machine has for a product; PlanishError E0640 where there are no instructions for it."""
    return find_vectors(_extension_of(target), product)


def choose_movable(target: Target, type: Type) -> Vectors:
    """The vectors that a machine has for elements that are moved only, whether it computes with them or not;
    PlanishError E0640 where there are none."""
    return _find(_extension_of(target), ProductTypes(str(type), type, type, type))


def _extension_of(target: Target) -> str:
    """The vector extension of a machine."""
    name = target.vector_extension
    if name is None:
        message = f"there are no instructions for the target `{target.name}`"
        raise PlanishError(Diagnostic("E0640", message, help=f"there are some for {', '.join(extensions())}"))
    return name


def _find(name: str, product: ProductTypes) -> Vectors:
    """The vectors of an extension at a product."""
    if name not in extensions():
        message = f"there are no instructions for `{name}`"
        raise PlanishError(Diagnostic("E0640", message, help=f"there are {', '.join(extensions())}"))
    kind = next(iter(extension(name).memories.values()))
    return Vectors(name, kind.name, kind.lanes(product.sum), kind.count, product)


def find_vectors(name: str, product: ProductTypes | Type) -> Vectors:
    """The vectors of an extension, for a product or for one of a type by itself; PlanishError E0640 where there is no
    such extension, or no arithmetic for the product."""
    if isinstance(product, Type):
        product = ProductTypes(str(product), product, product, product)
    found = _find(name, product)
    if found.multiply not in extension(name).instructions:
        message = f"`{name}` has no products of {product.name} here"
        raise PlanishError(Diagnostic("E0640", message, help="choose another type or extension"))
    return found
