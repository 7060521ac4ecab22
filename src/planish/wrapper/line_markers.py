"""A drop-in with line markers: what is the user's has the user's lines, in diagnostics and for debuggers.

>>> from planish.emit.dropin.patched_file import Patch
>>> text = "int n;\\nvoid f(void) {\\n  for (;;) work();\\n}\\n"
>>> start = text.index("for")
>>> patch = Patch(start, start + 16, "if (n) {\\n    f_0();\\n  } else {\\n  for (;;) work();\\n  }")
>>> print(with_lines(Source("a.c", text), [patch], "static void f_0(void);\\n"), end="")
#line 1 "planish/a.c"
static void f_0(void);
<BLANKLINE>
#line 1 "a.c"
int n;
void f(void) {
  if (n) {
    f_0();
  } else {
#line 3 "a.c"
  for (;;) work();
  }
#line 3 "a.c"
<BLANKLINE>
}
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from planish.core.span import Source
from planish.emit.dropin.patched_file import Patch, as_written, assemble, prologue_offset
from planish.emit.dropin.replacement import Replacement, prologue_of

_GENERATED = "planish/"
"""What stands before the user's name of the file in markers of generated lines."""


def compose_with_lines(source: Source, replacements: Sequence[Replacement]) -> str:
    """The user's text with replacements in place, as `planish.emit.dropin.replacement.compose`, with line markers."""
    return with_lines(source, [r.patch for r in replacements], prologue_of(replacements))


def with_lines(source: Source, patches: Sequence[Patch], prologue: str) -> str:
    """The user's text with its patches and the prologue before them, with line markers."""
    quoted = source.name.replace("\\", "\\\\").replace('"', '\\"')
    if source.made is not None:
        # Lines are the same in all texts; what stands beside what it was rewritten as moves those behind it.
        marked, text = as_written([_marked(source.text, quoted, x) for x in patches], source)
    else:
        marked, text = patches, source.text
    patches = [_marked(text, quoted, x) for x in marked]
    place = prologue_offset(text, min(x.start for x in patches))
    first = _line(text, place)
    # `assemble` sets one line between the prologue and what follows, unless that begins with an empty one.
    after = first if text[place : place + 1] == "\n" else first - 1
    generated = f'#line 1 "{_GENERATED}{quoted}"\n{prologue}\n#line {max(after, 0) if after else 1} "{quoted}"\n'
    if not after:
        generated = generated.rstrip("\n")
    whole = assemble(text, patches, "", generated)
    return whole if place == 0 else f'#line 1 "{quoted}"\n{whole}'


def _marked(text: str, quoted: str, patch: Patch) -> Patch:
    """The patch with markers before the user's lines in it, and behind it."""
    original = text[patch.start : patch.end]
    inside = patch.text
    at = inside.rfind(original) if original.strip() else -1
    begin = inside.rfind("\n", 0, at) + 1 if at > 0 else 0
    if begin > 0:
        inside = f'{inside[:begin]}#line {_line(text, patch.start)} "{quoted}"\n{inside[begin:]}'
    return replace(patch, text=f'{inside}\n#line {_line(text, patch.end)} "{quoted}"\n')


def _line(text: str, offset: int) -> int:
    return text.count("\n", 0, offset) + 1
