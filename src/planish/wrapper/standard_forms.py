"""Tokens in one form, whichever headers of C's library made them: those of the system, or the front-end's shorter ones.

Numbers are told by their values and types, and the library's macros by their names.

>>> same_form(["x", "<", "3.40282347e+38F"]) == same_form(["x", "<", "3.4028234663852886e+38f"])
True
>>> same_form(["0x7fff"]) == same_form(["32767U"])
False
>>> same_form("if ( __builtin_isnan ( x ) ) e = ( * __errno_location ( ) ) ;".split())
'if ( isnan ( x ) ) e = errno ;'
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from fractions import Fraction

_WHOLE = re.compile(r"(?P<digits>0[xX][0-9a-fA-F]+|0[0-7]*|[1-9]\d{0,99})(?P<suffix>[uUlL]*)")
_REAL = re.compile(r"(?P<digits>\d{1,99}\.?\d{0,99}|\.\d{1,99})(?:[eE](?P<power>[+-]?\d{1,4}))?(?P<suffix>[fFlL]?)")
_SIZES = {"": 31, "u": 32, "l": 63, "ul": 64, "ll": 63, "ull": 64}
"""The types of whole numbers by their suffixes, the lower ones first, and the bits of their values."""
_SINGLE, _DOUBLE, _EXTENDED = (24, -149), (53, -1074), (64, -16445)
"""Bits of floating-point numbers, and the exponent of the least."""
_BUILT_IN = {
    f"__builtin_{x}": x
    for x in (
        "alloca", "isfinite", "isgreater", "isgreaterequal", "isless", "islessequal", "islessgreater", "isnan",
        "isnormal", "isunordered", "offsetof", "signbit", "va_arg", "va_copy", "va_end", "va_start",
    )
} | {"__builtin_isinf_sign": "isinf"}  # fmt: skip
_TEXT = r'"(?:\\.|[^"\\])*"'
_FAILED = rf"__assert_fail \( {_TEXT} , {_TEXT} , \d+ , \w+ \)"
_ASSERTED = r"( ( void ) sizeof ( ! ( \1 ) ) )"
_FORMS = tuple(
    (re.compile(pattern, re.DOTALL), form)
    for pattern, form in (
        (rf"\( \( void \) sizeof \( \( (.*?) \) \? 1 : 0 \) , \( {{ if \( \1 \) ; else {_FAILED} ; }} \) \)",
         _ASSERTED),
        (rf"\( \( ((?:{_TEXT}|[^;\"])*?) \) \? \( void \) \( 0 \) : {_FAILED} \)", _ASSERTED),
        (r"\( \( void \) \( 0 \) \)", "( ( void ) 0 )"),
        (r"\( \* __errno_location \( \) \)", "errno"),
        (r"\( \( \* __ctype_b_loc \( \) \) \[ \( int \) \( \( ([^;]*?) \) \) \] & \( unsigned short int \) _IS(\w+) \)",
         r"is\2 ( \1 )"),
        (r"__builtin_fpclassify \( 0 , 1 , 4 , 3 , 2 , ", "fpclassify ( "),
        (r"\( 1.0iF \)", "planish_imaginary_unit"),
        (r"\( \( __clock_t \) (\d+) \)", r"\1l"),
    )
)  # fmt: skip
"""What C's library defines macros as, and how these are read."""
_STRING = re.compile(_TEXT, re.DOTALL)
_OPEN = re.compile(r'\\(?:x[0-9a-fA-F]*|[0-7]{1,2})"$')
"""The end of a string whose last character might take in what follows."""
_CAST = re.compile(r"\( \( double \) #([\da-f]+)p(-?\d+)L \)")
_NUMBER = r"-?\d+(?:u|l|ul|ll|ull)?"
_BEFORE = r"(?:(?<=[^\w)\]] )|(?<=\breturn )|(?<=\bcase )|^)"
_CONSTANT = re.compile(rf"{_BEFORE}\( ((?:- )?{_NUMBER}(?: [-+*] {_NUMBER})*) \)(?= |$)")


def same_form(tokens: Sequence[str]) -> str:
    """The tokens in that form, with blanks between them."""
    out: list[str] = []
    for token in tokens:
        if out and _STRING.fullmatch(token) and _STRING.fullmatch(out[-1]) and not _OPEN.search(out[-1]):
            out[-1] = out[-1][:-1] + token[1:]
        else:
            out.append(_BUILT_IN.get(token, token) if token[:1].isalpha() or token[:1] == "_" else _number(token))
    text = " ".join(out)
    for pattern, form in _FORMS:
        text = pattern.sub(form, text)
    text = _CAST.sub(lambda x: _real(int(x[1], 16) * Fraction(2) ** int(x[2]), _DOUBLE), text)
    folded = _CONSTANT.sub(_folded, text)
    while folded != text:
        text, folded = folded, _CONSTANT.sub(_folded, folded)
    return text


def _number(token: str) -> str:
    """A number by its value and type; another token as it is.

    >>> _number("0xffffffff"), _number("4294967295"), _number("017LU"), _number("1e1"), _number("10.")
    ('4294967295u', '4294967295l', '15ul', '#5p1', '#5p1')
    """
    if (found := _WHOLE.fullmatch(token)) is not None:
        return _whole(found) or token
    if (found := _REAL.fullmatch(token)) is None:
        return token
    value = Fraction(found["digits"]) * Fraction(10) ** int(found["power"] or 0)
    match found["suffix"].lower():
        case "f":
            return _real(value, _SINGLE) + "f"
        case "l":
            return _real(value, _EXTENDED) + "L"
        case _:
            return _real(value, _DOUBLE)


def _whole(found: re.Match[str]) -> str | None:
    suffix = "".join(sorted((found["suffix"] or "").lower(), reverse=True))
    base = 16 if found["digits"][:2].lower() == "0x" else 8 if found["digits"].startswith("0") else 10
    value = int(found["digits"], base)
    # A number in tens has no type without a sign, unless it says so.
    wider = [x for x in _SIZES if x.replace("u", "") >= suffix.replace("u", "")]
    fitting = [x for x in wider if "u" in x or "u" not in suffix]
    if base == 10 and "u" not in suffix:
        fitting = [x for x in fitting if "u" not in x]
    return next((f"{value}{x}" for x in fitting if value < 1 << _SIZES[x]), None)


def _real(value: Fraction, form: tuple[int, int]) -> str:
    """The number of some bits that is next to a value, the even one of two: digits in sixteens and a power of two,
    behind a sign that no name has."""
    bits, least = form
    if not value:
        return "#0p0"
    power = value.numerator.bit_length() - value.denominator.bit_length() - bits
    while value >= Fraction(2) ** (power + bits):
        power += 1
    unit = Fraction(2) ** max(power, least)
    rounded = round(value / unit) * unit
    odd = max(rounded.numerator & -rounded.numerator, 1)
    return f"#{rounded.numerator // odd:x}p{odd.bit_length() - rounded.denominator.bit_length()}"


def _folded(found: re.Match[str]) -> str:
    """The value of sums of products of whole numbers, each step in the type that C gives it; the text where one does
    not fit its type.

    >>> [_CONSTANT.sub(_folded, x) for x in ("( -2147483647 - 1 )", "( 2l * 3ul + 1ul )", "( 1u - 2 + 0l )")]
    ['-2147483648', '7ul', '4294967295l']
    """
    terms: list[list[str]] = [[]]
    signs = [""]
    for word in found[1].split():
        if word in "+-":
            signs.append(word)
            terms.append([])
        elif word != "*":
            terms[-1].append(word)
    total: _Typed | None = None
    for sign, words in zip(signs, terms, strict=True):
        if not words:
            continue  # the sign of the first number follows
        term: _Typed | None = None
        for word in words:
            typed = int(word.rstrip("ul")), word.lstrip("-0123456789")
            term = typed if term is None else _operate("*", term, typed)
            if term is None:
                return found[0]
        assert term is not None
        if total is None:
            total = _operate("-", (0, ""), term) if sign == "-" else term
        else:
            total = _operate(sign, total, term)
        if total is None:
            return found[0]
    return found[0] if total is None else f"{total[0]}{total[1]}"


_Typed = tuple[int, str]


def _operate(op: str, a: _Typed, b: _Typed) -> _Typed | None:
    """What an operator makes of two numbers with their types; None where that does not fit the type of both."""
    kind = max(a[1], b[1], key=list(_SIZES).index)
    bits = _SIZES[kind]
    x, y = ((v % (1 << bits) if "u" in kind else v) for v in (a[0], b[0]))
    value = x * y if op == "*" else x + y if op == "+" else x - y
    if "u" in kind:
        return value % (1 << bits), kind
    return (value, kind) if -(1 << bits) <= value < 1 << bits else None
