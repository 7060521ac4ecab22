"""What is asked of a translation, and what comes of it; both travel between processes and into the cache as JSON.

>>> read_translation(print_translation(Translation("", "no loop"))).reason
'no loop'
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import Any

from planish.ir.types import Floats

CHANGED = "the file, or what it includes, is not what it was a moment ago"
"""Why there is no drop-in where the text after the preprocessor is another one than was asked for."""


@dataclass(frozen=True, slots=True)
class TranslationRequest:
    """A file to make a drop-in of: how the user's command compiles it (`options`: without macros and folders), and how
    many seconds there are (None: any). `predefined`: macros that the compiler defines otherwise than the one that
    preprocesses for the front end; `expanded`: the digest of the text after the preprocessor that a drop-in is for."""

    source: str
    compiler: str
    kind: str
    flags: tuple[str, ...]
    macros: tuple[str, ...]
    folders: tuple[str, ...]
    options: tuple[str, ...]
    floats: Floats
    seconds: float | None
    predefined: tuple[str, ...] = ()
    expanded: str = ""


@dataclass(frozen=True, slots=True)
class TranslatedFunction:
    """What became of a function: `version` names what replaced its nests, `done` says it in words, `reasons` why
    something stays as it is. `unfinished`: there was no time for it."""

    name: str
    line: int
    taken: bool
    version: str = ""
    done: tuple[str, ...] = ()
    reasons: tuple[str, ...] = ()
    unfinished: bool = False


@dataclass(frozen=True, slots=True)
class Translation:
    """The drop-in's text with line markers, "" where nothing was replaced, and `reason` why all stays. `unfinished`:
    there was no time for all of it, namely `seconds`."""

    text: str
    reason: str = ""
    encoding: str = "utf-8"
    functions: tuple[TranslatedFunction, ...] = ()
    unfinished: bool = False
    seconds: float = 0.0

    def suffices(self, seconds: float | None) -> bool:
        """Whether another one with so much time (None: any) would have no more.

        >>> cut = Translation("", "no time", unfinished=True, seconds=5.0)
        >>> cut.suffices(5.0), cut.suffices(None), Translation("", "no loop").suffices(None)
        (True, False, True)
        """
        return not self.unfinished or (seconds is not None and seconds <= self.seconds)


def read_request(found: dict[str, Any]) -> TranslationRequest:
    """A request as JSON has it; TypeError where it is none."""
    read: dict[str, Any] = {x: tuple(y) if isinstance(y, list) else y for x, y in found.items()}
    return TranslationRequest(**read)


def print_translation(translation: Translation) -> bytes:
    """A translation as JSON."""
    return json.dumps(asdict(translation)).encode("utf-8", "surrogatepass")


def read_translation(data: bytes) -> Translation:
    """The translation in a text; ValueError, KeyError or TypeError where it is none."""
    found: dict[str, Any] = json.loads(data.decode("utf-8", "surrogatepass"))
    functions = tuple(map(read_function, found["functions"]))
    return Translation(**{**found, "functions": functions})


def read_function(found: dict[str, Any]) -> TranslatedFunction:
    """A function as JSON has it; KeyError or TypeError where it is none."""
    return TranslatedFunction(**{**found, "done": tuple(found["done"]), "reasons": tuple(found["reasons"])})
