"""The files of a build as one project: each is read with functions that it calls of the others.

>>> files = (ProjectFile("a.c"), ProjectFile("b.c"))
>>> texts = {"a.c": "int f(int i); int g(int n) { return f(n); }", "b.c": "int f(int i) { return 2 * i; }"}
>>> joined = JoinedFiles(files, Options(target="generic"), lambda name: Source(name, texts[name]))
>>> joined.read(files[0], Source("a.c", texts["a.c"])).borrowed.files
('b.c',)
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from planish.build.project import ProjectFile
from planish.build.read import preprocess_for
from planish.build.several_targets import per_target
from planish.core.diagnostic import PlanishError
from planish.core.files import read_input
from planish.core.span import Source
from planish.frontend.c.other_files.project import Project, Unit
from planish.frontend.c.text.preprocess import included_files
from planish.options import Options
from planish.run.toolchains.cross import preprocessor_for
from planish.target.load import load_target


def read_source(name: str) -> Source:
    """The text of a file. Raises PlanishError as of `read_input`."""
    return read_input(name).source


class JoinedFiles:
    """The C files of a build, whose texts `load` gives. With options for several targets, whose compilers may make
    several texts of a file, each is read by itself."""

    def __init__(
        self, files: Sequence[ProjectFile], options: Options, load: Callable[[str], Source] = read_source
    ) -> None:  # fmt: skip
        self._files = [x for x in files if x.name.endswith(".c")]
        self._options, self._load = options, load
        self._project: Project | None = None
        self._alone = len(self._files) < 2 or len(per_target(options)) > 1

    def read(self, file: ProjectFile, source: Source) -> Source:
        """A file's text with what it has of the others."""
        if self._alone or file not in self._files:
            return source
        if self._project is None:
            self._project = Project([*self._units()])
        return self._project.read_with(self._unit(file, source))

    def depends_on(self, source: Source) -> tuple[str, ...]:
        """The files, with their headers, whose functions stand behind a text that was read."""
        names: dict[str, None] = {}
        for file in (x for x in self._files if x.name in source.borrowed.files):
            own = self._load(file.name)
            text = preprocess_for(own, file.options(self._options))
            names |= dict.fromkeys((file.name, *included_files(text, own.name)))
        return tuple(names)

    def _units(self) -> list[Unit]:
        units = []
        for file in self._files:
            try:
                units.append(self._unit(file, self._load(file.name)))
            except PlanishError:
                continue  # that is said of the file itself
        return units

    def _unit(self, file: ProjectFile, source: Source) -> Unit:
        options = file.options(self._options)
        compiler = preprocessor_for(load_target(options.target), options.compiler)
        plain = replace(source, borrowed=type(source.borrowed)())
        return Unit(plain, options.macros, options.include_dirs, tuple(compiler), file.flags)
