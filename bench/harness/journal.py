"""A journal: what was found out for a key by this very compiler, so that a long run goes on where it was stopped.

>>> import tempfile
>>> with tempfile.TemporaryDirectory() as folder:
...     journal = Journal(Path(folder) / "cases.jsonl")
...     journal.keep("bytes --fp strict", ["wrong"])
...     Journal(journal.path).recall()
{'bytes --fp strict': ['wrong']}
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bench.harness.contest import compiler_state
from bench.harness.progress import Progress


@dataclass(frozen=True, slots=True)
class Journal:
    """A file of JSON, a line for each key and `state`, of the compiler or of a part of it; the last line of a key
    counts."""

    path: Path
    state: str = field(default_factory=compiler_state)

    def recall(self) -> dict[str, Any]:
        """The values of this state of the compiler, by key."""
        lines = self.path.read_text().splitlines() if self.path.exists() else ()
        found = [json.loads(x) for x in lines]
        return {x["key"]: x["value"] for x in found if x["state"] == self.state}

    def keep(self, key: str, value: object) -> None:
        """Appends a value that JSON can hold."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self.path.open("a") as file:
            file.write(json.dumps({"key": key, "state": self.state, "value": value}) + "\n")

    def run(
        self, work: Mapping[str, Callable[[], Any]], fresh: bool = True, again: bool = False
    ) -> Iterator[tuple[str, Any]]:
        """Each key with its value: what is kept, and where `fresh` what the others come to, with the rate and the time
        that is left on stderr; `again`: nothing of what is kept counts."""
        known = {} if again else self.recall()
        progress = Progress(len(work), len(work.keys() & known.keys()), fresh)
        try:
            for key, find in work.items():
                if key not in known:
                    if not fresh:
                        continue
                    progress.begin(key)
                    known[key] = find()
                    self.keep(key, known[key])
                    progress.finish(key)
                yield key, known[key]
        finally:
            progress.close()
