"""The files of a project before they are parsed: their bytes, which words stand in which, and what they import."""

from __future__ import annotations

import itertools
import math
import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from hotloop.source import notebooks
from hotloop.source.aside import above
from hotloop.source.building import parse
from hotloop.source.imports import Imports, imports_in
from hotloop.source.module import NOT_IN_WORDS, Module, says

MENTIONS = re.compile(rb"tensorflow|keras|tf_")
TENSORFLOW = re.compile(r"(tensorflow|keras|tf)(_|\b)")  # also tensorflow_hub, tf_agents
PRETRAINED = re.compile(rb"TF[A-Z]\w+\.from_pretrained\(")  # a library that has them for several frameworks
HANDLES = re.compile(rb"\.(predict|fit|evaluate|run|compile|restore|make_\w+_(function|iterator))\(")
DEFINITIONS = (re.compile(rb"def[ \t]+(\w+)"), re.compile(rb"class[ \t]+(\w+)"))  # apart: each starts with a literal
DECORATED = re.compile(rb"@[\w.]*function\b.*\n(?:[ \t]*[@)\w\]'\"].*\n)*?[ \t]*(?:async[ \t]+)?def[ \t]+(\w+)")
MADE = re.compile(rb"function\(")
GIVEN = re.compile(rb"(\w+)[ \t]*(?::[^=\n]+)?=[^=\n]*$")
ASSIGNED = re.compile(rb"\n(\w+)[ \t]*(?:=(?!=)|:)")
WORD = re.compile(r"\w+")
LEFT_WHOLE = 1.25  # times the size of a part: a folder up to that is not cut
SMALL = 1_000_000  # bytes of source that one process reads as fast as two
MANY = 20  # files: a name that stands in more of them is followed only into those that import where it is defined


@dataclass(frozen=True)
class Unread:
    """What is not in a project that should be: a sentence each, by path."""

    unreadable: dict[str, str] = field(default_factory=dict)
    unparsed: dict[str, str] = field(default_factory=dict)

    @property
    def notes(self) -> list[str]:
        return [*self.unreadable.values(), *self.unparsed.values()]


class Files:
    """Parses what is asked for, once."""

    def __init__(self, contents: dict[Path, bytes], root: Path) -> None:
        self.root = root.resolve()
        self.contents = dict(zip(resolved(contents), contents.values(), strict=True))
        self.unread = Unread()
        self._modules: dict[Path, Module | None] = {}
        self._at: dict[str, Module | None] = {}
        self._shown: dict[Path, str] = {}
        self._imported_by: dict[Path, frozenset[str]] = {}
        self._assigned: dict[Path, frozenset[bytes]] = {}

    def without_modules(self) -> Files:
        """The same files, none of them parsed."""
        other = Files({}, self.root)
        other.__dict__.update(self.__dict__ | {"unread": Unread(), "_modules": {}, "_at": {}})
        return other

    def __contains__(self, file: Path) -> bool:
        return file in self.contents

    def path(self, file: Path) -> str:
        """A file as the user is shown it: relative to the root where it lies below it."""
        if file not in self._shown:
            self._shown[file] = shown(file, self.root)
        return self._shown[file]

    def module(self, file: Path, whole: bool = False) -> Module | None:
        """The parsed file, its functions when they are asked for; None where there is none, or it cannot be parsed."""
        if file not in self._modules:
            self._modules[file] = self._parse(file, whole) if file in self.contents else None
        return self._modules[file]

    def module_at(self, path: str) -> Module | None:
        """The same, by the path that the user is shown."""
        if path not in self._at:
            self._at[path] = self.module(self.root / path)
        return self._at[path]

    def _parse(self, file: Path, whole: bool) -> Module | None:
        path = self.path(file)
        try:
            module = parse(self.contents[file], path, file, dotted(path), whole)
        except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
            self.unread.unparsed[path] = f"{path} {_fault(error)}; skipped."
            return None
        self.unread.unparsed.update(notebooks.notes(module.cells, path))
        module.above = self.above
        return module

    def prepare(self) -> None:
        """Know the words now, so that processes forked from this one need not find out each for itself."""
        self.above, self.imports, self._importers, self._spelled, self.standing, self.compiled  # noqa: B018

    @cached_property
    def above(self) -> str:
        return above(map(self.path, self.contents))

    # -- words -------------------------------------------------------------------------------------------------------

    @cached_property
    def imports(self) -> dict[Path, frozenset[str]]:
        """The words of each file's import statements."""
        return {
            file: frozenset(word for base, names in said for part in (base, *names) for word in WORD.findall(part))
            for file, said in self._said.items()
        }

    @cached_property
    def _said(self) -> dict[Path, list[tuple[str, list[str]]]]:
        return {file: list(imports_in(data)) for file, data in self.contents.items()}

    @cached_property
    def _import(self) -> Imports:
        return Imports(self._spelled, self.root)

    def imported(self, dotted: str, folder: str) -> Path | None:
        """The project's own file behind an import in a file of that folder."""
        found = self._import.find(dotted, folder)
        return self._spelled[found] if found else None

    @cached_property
    def _importers(self) -> dict[str, list[str]]:
        """Which files say a word in their imports. Files go by their spelling here: paths are slow to compare."""
        found: dict[str, list[str]] = {}
        for file, words in self.imports.items():
            for word in words:
                found.setdefault(word, []).append(str(file))
        return found

    @cached_property
    def _spelled(self) -> dict[str, Path]:
        return {str(file): file for file in self.contents}

    @cached_property
    def standing(self) -> dict[bytes, list[str]]:
        """Which files a word stands in, of the words that name a function or a class of the project."""
        defined = {name for data in self.contents.values() for kind in DEFINITIONS for name in kind.findall(data)}
        found: dict[bytes, list[str]] = {}
        for file, data in self.contents.items():
            spelled = str(file)
            for word in defined.intersection(data.translate(NOT_IN_WORDS).split()):
                found.setdefault(word, []).append(spelled)
        return found

    @cached_property
    def compiled(self) -> frozenset[str]:
        """The names that may be those of tf.functions: decorated, or given the result of a call of `function`."""
        found = {name for data in self.contents.values() for name in DECORATED.findall(data)}
        for data in self.contents.values():
            for match in MADE.finditer(data):
                line = data[data.rfind(b"\n", 0, match.start()) + 1 : match.start()]
                found.update(GIVEN.findall(line))
        return frozenset(name.decode("utf-8", "replace") for name in found)

    def speaking_of(self, name: str, home: Path) -> list[Path]:
        """The files that may use what `home` defines under that name, itself first: its neighbours and importers."""
        standing = self.standing.get(name.encode(), ())
        folder = str(home.parent)
        above = str(home.parent.parent)
        near = [
            file
            for file in standing
            if (beside := file.rpartition(os.sep)[0]) == folder
            or beside == above
            or beside.rpartition(os.sep)[0] == folder
        ]
        if len(near) > MANY:
            near = []
        importers = self._importing(home)
        found = dict.fromkeys([*near, *(file for file in standing if file in importers)])
        found.pop(str(home), None)
        return [home, *(self._spelled[file] for file in found)] if len(found) <= MANY else [home]

    def holding(self, name: str, home: Path) -> list[Path]:
        """The files that import `home` and say a name that it gives to something: an attribute, most often."""
        word = name.encode()
        found = [self._spelled[file] for file in self._importing(home) - {str(home)}]
        return sorted(file for file in found if says(self.contents[file], word)) if len(found) <= MANY else []

    def assigns(self, file: Path, name: str) -> bool:
        """Whether a line of the file begins by giving the name a value."""
        if file not in self._assigned:
            self._assigned[file] = frozenset(ASSIGNED.findall(b"\n" + self.contents[file]))
        return name.encode() in self._assigned[file]

    def _importing(self, home: Path) -> frozenset[str]:
        if home not in self._imported_by:
            words = {home.stem, home.parent.name} if home.stem == "__init__" else {home.stem}
            self._imported_by[home] = frozenset(file for word in words for file in self._importers.get(word, ()))
        return self._imported_by[home]

    def folder(self, file: Path) -> str:
        """The outermost folder that a file lies in; of a file at the root, the root."""
        path = self.path(file)
        return path.partition("/")[0] if "/" in path else ""

    def size(self, files: Iterable[Path]) -> int:
        return sum(len(self.contents[file]) for file in files)

    def relevant(self) -> list[Path]:
        """Files that import TensorFlow, those that import one of them, and farther off those that use what it gives."""
        found, importers = self._importing_tensorflow()
        found |= {file for one in found for file in importers.get(one, ())}
        fresh = found
        while fresh:
            more = {file for one in fresh for file in importers.get(one, ())} - found
            fresh = {file for file in more if self._uses_what_it_imports(self._spelled[file])}
            found |= fresh
        return sorted(self._spelled[file] for file in found)

    def _uses_what_it_imports(self, file: Path) -> bool:
        """Whether it may use a model or a session, calls a tf.function by name, or hands on what others use."""
        said = HANDLES.search(self.contents[file]) is not None
        return said or file.name == "__init__.py" or not self.compiled.isdisjoint(self.imports[file])

    def _importing_tensorflow(self) -> tuple[set[str], dict[str, list[str]]]:
        """Those that do so themselves; and of each file, which others import it."""
        found: set[str] = set()
        importers: dict[str, list[str]] = {}
        for file, data in self.contents.items():
            spelled, folder = str(file), str(file.parent)
            # A notebook, a template, no Python at all; or a library that brings TensorFlow along under its own name.
            if MENTIONS.search(data) and (not self._said[file] or HANDLES.search(data)):
                found.add(spelled)
            if PRETRAINED.search(data):
                found.add(spelled)
            for base, names in self._said[file]:
                files, others = self._import.meant(base, names, folder)
                if any(map(TENSORFLOW.match, others)):
                    found.add(spelled)
                for other in files:
                    importers.setdefault(other, []).append(spelled)
        return found, importers


def read(files: Iterable[Path], root: Path, known: Mapping[Path, bytes] | None = None) -> Files:
    """Their contents, as far as they are not known already."""
    contents: dict[Path, bytes] = {}
    unreadable: dict[str, str] = {}
    for file in files:
        try:
            contents[file] = known[file] if known and file in known else file.read_bytes()
        except OSError as error:
            path = shown(file.resolve(), root.resolve())
            unreadable[path] = f"{path} cannot be read: {error.strerror or error}."
    found = Files(contents, root)
    found.unread.unreadable.update(unreadable)
    return found


def shards(files: Files, chosen: Iterable[Path], size: int, least: int) -> list[list[Path]]:
    """What shall be checked together: an outermost folder each, a large one in equal parts, `least` parts if it pays.

    What a part leads to is parsed for it anew, and held: a folder is cut only if it is much larger than `size`. Of
    `least` that are checked at a time none is left alone in the end.
    """
    parts: list[list[Path]] = []
    for _, inside in itertools.groupby(chosen, files.folder):
        folder = list(inside)
        whole = files.size(folder)
        full = max(1, whole // math.ceil(whole / size)) if whole > LEFT_WHOLE * size else whole + 1
        filled = full
        for file in folder:
            if filled >= full:
                parts.append([])
                filled = 0
            parts[-1].append(file)
            filled += len(files.contents[file])
    if sum(files.size(part) for part in parts) < SMALL:
        return [[file for part in parts for file in part]] if parts else []
    while len(parts) < least and len(parts[-1]) > 1:
        parts.sort(key=len)
        parts += _halves(parts.pop())
    smallest = min(parts, key=files.size)
    if len(parts) % least == 1 and len(smallest) > 1:
        parts.remove(smallest)
        parts += _halves(smallest)
    return parts


def _halves(part: list[Path]) -> list[list[Path]]:
    return [part[: len(part) // 2], part[len(part) // 2 :]]


def resolved(files: Iterable[Path]) -> list[Path]:
    """What `Path.resolve` makes of each, with one look at a file and one at a folder."""
    folders: dict[str, str] = {}
    found = []
    for file in files:
        folder, name = os.path.split(file)
        if name in ("", os.curdir, os.pardir) or os.path.islink(file):
            found.append(file.resolve())
            continue
        if folder not in folders:
            folders[folder] = os.path.realpath(folder)
        found.append(Path(folders[folder], name))
    return found


def shown(file: Path, root: Path) -> str:
    spelled, above = file.as_posix(), root.as_posix().rstrip("/") + "/"  # `relative_to` takes ten times as long
    return spelled.removeprefix(above) if spelled.startswith(above) else spelled


def dotted(path: str) -> str:
    parts = Path(path).with_suffix("").parts
    return ".".join(part for part in parts if part not in ("/", "__init__"))


def _fault(error: Exception) -> str:
    if isinstance(error, RecursionError | MemoryError):  # what the parser raises depends on what is nested
        return "is nested too deeply to be read"
    if isinstance(error, notebooks.NotebookError):
        return f"is {error}"
    reason = f"line {error.lineno}: {error.msg}" if isinstance(error, SyntaxError) and error.lineno else str(error)
    return f"is not Python {_python()} ({reason})"


def _python() -> str:
    import sys

    return f"{sys.version_info.major}.{sys.version_info.minor}"
