"""Files in which there is nothing to do: that is no error beside others, and one where no file has anything.

>>> from planish.core.diagnostic import Diagnostic
>>> idle = IdleFiles()
>>> error = PlanishError(Diagnostic("E0105", "there is no loop in the file"))
>>> idle.takes(ProjectFile("b.c"), error), idle.settle(done=True), idle.names
(True, [], ['b.c'])
"""

from __future__ import annotations

from dataclasses import dataclass, field

from planish.build.project import LENDING, NOTHING, ProjectFile
from planish.core.diagnostic import PlanishError


@dataclass(slots=True)
class IdleFiles:
    """The `names` of such files so far, and those that were named, each with what is wrong if no other has anything."""

    names: list[str] = field(default_factory=list)
    barren: list[tuple[str, PlanishError]] = field(default_factory=list)

    def takes(self, file: ProjectFile, error: PlanishError) -> bool:
        """Whether an error says that there is nothing to do in a file; it is then noted."""
        if file.found and error.diagnostic.code in NOTHING:
            self.names.append(file.name)
        elif error.diagnostic.code in LENDING:
            self.barren.append((file.name, error))
        else:
            return False
        return True

    def settle(self, done: bool) -> list[PlanishError]:
        """The errors after all files, of which one was `done`, or failed otherwise, or none had anything."""
        if not done:
            return [error for _, error in self.barren]
        self.names += [name for name, _ in self.barren]
        return []

    def describe(self) -> str:
        """A line on them; "" where there is none."""
        return f"there is no loop in {', '.join(self.names)}" if self.names else ""
