"""What the flags of two compiler commands say of whether a text means the same under both.

>>> unread_flags(("gcc", "-O2", "-Iinc", "--include", "q.h", "-c", "a.c"))
('--include',)
>>> meaning_flags(("gcc", "-fwrapv", "-Wall", "-fno-wrapv", "-fwrapv", "-g"))
('-fno-wrapv', '-fwrapv')
>>> is_replaceable(("-fPIC",)), is_replaceable(("-fPIC", "-fPIE"))
(True, False)
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

_HARMLESS = re.compile(
    r"--|-[cSsvw]|-o.*|-O[0-3]?|-g(?!cc).*|-W(?![pal],).*|-pedantic.*|-pipe|-save-temps.*|-Qunused-arguments|"
    r"-D.*|-I(?!-).*|-i(?:system|quote|dirafter).*|-M(?:M?D|P|[FTQJ].*)|-[Ll].*|-static.*|-shared.*|-rdynamic|"
    r"-(?:no-)?pie|-f(?:no-)?(?:diagnostics.*|message.*|color.*|PI[CE]|pi[ce])|-fdebug-prefix-map.*|-frandom-seed.*"
)
"""Flags that are read, and those under which a text means the same."""
_MEANING = re.compile(r"-f(?!lto).*|-m.*|-std=.*|-ansi|-Ofast|-O[sgz]|-pthread")
"""Flags under which a text may mean something else, but the same wherever they are given."""
_BEFORE_WORDS = frozenset(
    ("-o", "-D", "-I", "-isystem", "-iquote", "-idirafter", "-MF", "-MT", "-MQ", "-MJ", "-L", "-l")
)
"""Flags whose value is the next word."""
_LEVEL = re.compile(r"-O.*")
_CODE = re.compile(r"-f(?:no-)?(?:PI[CE]|pi[ce])")
_REPLACEABLE = frozenset({"-fPIC", "-fpic"})


def unread_flags(words: Sequence[str]) -> tuple[str, ...]:
    """The flags of a command with which its file is not read here: all that are not known."""
    return tuple(x for x in _flags(words) if not _HARMLESS.fullmatch(x) and not _MEANING.fullmatch(x))


def meaning_flags(words: Sequence[str]) -> tuple[str, ...]:
    """The flags under which a text may mean something else, each where it stands last."""
    flags = [*_flags(words)]
    level = _last(flags, _LEVEL)
    kept = (x for x in flags if _MEANING.fullmatch(x) and not _HARMLESS.fullmatch(x))
    return tuple(dict.fromkeys(x for x in reversed([*kept]) if not _LEVEL.fullmatch(x) or x == level))[::-1]


def is_replaceable(words: Sequence[str]) -> bool:
    """Whether a program may put its own functions in the place of those of the file."""
    if _last(words, _CODE) not in _REPLACEABLE:
        return False
    hidden = _last(words, re.compile(r"-fvisibility=.*")) == "-fvisibility=hidden"
    return not hidden and _last(words, re.compile(r"-f(?:no-)?semantic-interposition")) != "-fno-semantic-interposition"


def same_meaning(one: Sequence[str], other: Sequence[str]) -> bool:
    """Whether a file is the same to two commands, but for macros and folders."""
    return all(x(one) == x(other) for x in (unread_flags, meaning_flags, is_replaceable))


def _flags(words: Sequence[str]) -> Iterator[str]:
    """The flags without their values, and the names of files that hold more of them."""
    rest = iter(words)
    for word in rest:
        if word in _BEFORE_WORDS:
            next(rest, "")
        elif word.startswith(("-", "@")):
            yield word


def _last(words: Sequence[str], wanted: re.Pattern[str]) -> str:
    return next((x for x in reversed(words) if wanted.fullmatch(x)), "")
