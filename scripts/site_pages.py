"""The pages of the site that lie elsewhere in the repository, and what their links and fences become there.

mkdocs calls the functions `on_…` (mkdocs.yml names this file). All pages of the site lie side by side.

>>> rewrite("See [CMake](docs/cmake.md#x), [how](CONTRIBUTING.md), [code](src/a.py).", Path("README.md"))
'See [CMake](cmake.md#x), [how](contributing.md), code.'
>>> rewrite("```c add.c\\nint x;\\n```\\n", Path("docs/c.md"))
'```c title="add.c"\\nint x;\\n```\\n'
"""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.structure.files import Files
    from mkdocs.structure.pages import Page

ROOT = Path(__file__).resolve().parents[1]
ELSEWHERE = {
    "README.md": "index.md", "CONTRIBUTING.md": "contributing.md", "CHANGELOG.md": "changelog.md",
    "SECURITY.md": "security.md", "examples/README.md": "examples.md", "bench/README.md": "benchmarks.md",
    "docs/notebooks/first-kernel.ipynb": "first-kernel.md",
}  # fmt: skip
_LINK = re.compile(r"(?<!!)\[([^\]\n]*(?:\n[^\]\n]+)?)\]\((?!\w+:)([^)#\s]+)(#[^)\s]*)?\)")
_IMAGE = re.compile(r"!\[([^\]]*)\]\(docs/([^)\s]+)\)")
_FENCE = re.compile(r"^```(\w+) (\S+)$", re.MULTILINE)


def rewrite(text: str, place: Path) -> str:
    """The text of a page that lies at a place in the repository, as the site has it."""

    def link(found: re.Match[str]) -> str:
        target = os.path.normpath(place.parent / found[2])
        if target in ELSEWHERE:
            return f"[{found[1]}]({ELSEWHERE[target]}{found[3] or ''})"
        if target.startswith("docs/") and (ROOT / target).is_file():
            return f"[{found[1]}]({target.removeprefix('docs/')}{found[3] or ''})"
        return found[1]

    def fence(found: re.Match[str]) -> str:
        return f'```{found[1]} title="{found[2]}"' if "." in found[2] else f"```{found[1]}"

    return _IMAGE.sub(r"![\1](\2)", _FENCE.sub(fence, _LINK.sub(link, text)))


def text_of(name: str) -> str:
    """A page's text; of a notebook, that of its cells."""
    text = (ROOT / name).read_text()
    if not name.endswith(".ipynb"):
        return text
    parts = []
    for cell in json.loads(text)["cells"]:
        source = "".join(cell["source"])
        parts.append(source if cell["cell_type"] == "markdown" else f"```python\n{source}\n```")
    return "\n\n".join(parts) + "\n"


def on_files(files: Files, config: MkDocsConfig) -> Files:
    from mkdocs.structure.files import File  # noqa: PLC0415

    for name, page in ELSEWHERE.items():
        files.append(File.generated(config, page, content=text_of(name)))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    origins = {y: x for x, y in ELSEWHERE.items()}
    return rewrite(markdown, Path(origins.get(page.file.src_uri, f"docs/{page.file.src_uri}")))
