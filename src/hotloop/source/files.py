"""The files of a project before they are parsed: their bytes, which words stand in which, and what they import."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from hotloop.source import notebooks
from hotloop.source.module import Module, parse

MENTIONS = re.compile(rb"tensorflow|keras|tf_")
IMPORT = re.compile(rb"import[ \t]+([^\n#]+)")
DEFINITIONS = (re.compile(rb"def[ \t]+(\w+)"), re.compile(rb"class[ \t]+(\w+)"))  # apart: each starts with a literal
DECORATED = re.compile(rb"@[\w.]*function\b.*\n(?:[ \t]*[@)\w\]'\"].*\n)*?[ \t]*(?:async[ \t]+)?def[ \t]+(\w+)")
MADE = re.compile(rb"function\(")
GIVEN = re.compile(rb"(\w+)[ \t]*(?::[^=\n]+)?=[^=\n]*$")
WORD = re.compile(r"\w+")
NOT_IN_WORDS = bytes(c if c == ord("_") or c > 127 or chr(c).isalnum() else ord(" ") for c in range(256))
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
        self.contents = {file.resolve(): data for file, data in contents.items()}
        self.unread = Unread()
        self._modules: dict[Path, Module | None] = {}
        self._shown: dict[Path, str] = {}

    def without_modules(self) -> Files:
        """The same files, none of them parsed."""
        other = Files({}, self.root)
        other.__dict__.update(self.__dict__ | {"unread": Unread(), "_modules": {}})
        return other

    def __contains__(self, file: Path) -> bool:
        return file in self.contents

    def path(self, file: Path) -> str:
        """A file as the user is shown it: relative to the root where it lies below it."""
        if file not in self._shown:
            self._shown[file] = shown(file, self.root)
        return self._shown[file]

    def module(self, file: Path) -> Module | None:
        """The parsed file; None where there is no such file, or it cannot be parsed."""
        if file not in self._modules:
            self._modules[file] = self._parse(file) if file in self.contents else None
        return self._modules[file]

    def _parse(self, file: Path) -> Module | None:
        path = self.path(file)
        try:
            module = parse(self.contents[file], path, file, dotted(path))
        except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
            self.unread.unparsed[path] = f"{path} {_fault(error)}; skipped."
            return None
        self.unread.unparsed.update(notebooks.notes(module.cells, path))
        return module

    def prepare(self) -> None:
        """Know the words now, so that processes forked from this one need not find out each for itself."""
        self.imports, self._standing, self.compiled  # noqa: B018

    # -- words -------------------------------------------------------------------------------------------------------

    @cached_property
    def imports(self) -> dict[Path, frozenset[str]]:
        """The words of each file's import statements."""
        return {file: _imported_words(data) for file, data in self.contents.items()}

    @cached_property
    def _importers(self) -> dict[str, list[Path]]:
        found: dict[str, list[Path]] = {}
        for file, words in self.imports.items():
            for word in words:
                found.setdefault(word, []).append(file)
        return found

    @cached_property
    def words(self) -> dict[Path, bytes]:
        """The different words of each file, one a line: enough to tell whether a file can be of interest."""
        return {file: b"\n".join(set(_words(data))) for file, data in self.contents.items()}

    @cached_property
    def _standing(self) -> dict[bytes, list[Path]]:
        """Which files a word stands in, of the words that name a function or a class of the project."""
        defined = {name for data in self.contents.values() for kind in DEFINITIONS for name in kind.findall(data)}
        found: dict[bytes, list[Path]] = {}
        for file, words in self.words.items():
            for word in defined.intersection(words.split(b"\n")):
                found.setdefault(word, []).append(file)
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
        found = [file for file in self._standing.get(name.encode(), ()) if file != home]
        around = {home.parent, home.parent.parent}
        near = [file for file in found if file.parent in around or file.parent.parent == home.parent]
        if len(near) > MANY:
            near = []
        importers = self._importing(home)
        found = near + [file for file in found if file not in near and file in importers]
        return [home, *found] if len(found) <= MANY else [home]

    def holding(self, name: str, home: Path) -> list[Path]:
        """The files that import `home` and say a name that it gives to something: an attribute, most often."""
        spelled = b"\n%b\n" % name.encode()
        found = self._importing(home) - {home}
        if len(found) > MANY:
            return []
        return sorted(file for file in found if spelled in b"\n%b\n" % self.words[file])

    def assigns(self, file: Path, name: str) -> bool:
        """Whether a line of the file begins by giving the name a value."""
        data, spelled = b"\n" + self.contents[file], b"\n" + name.encode()
        at = data.find(spelled)
        while at >= 0:
            rest = data[at + len(spelled) : at + len(spelled) + 80].lstrip(b" \t")
            if rest[:1] in (b"=", b":") and rest[:2] != b"==":
                return True
            at = data.find(spelled, at + 1)
        return False

    def _importing(self, home: Path) -> set[Path]:
        words = {home.stem, home.parent.name} if home.stem == "__init__" else {home.stem}
        return {file for word in words for file in self._importers.get(word, ())}

    def folder(self, file: Path) -> str:
        """The outermost folder that a file lies in; of a file at the root, the root."""
        path = self.path(file)
        return path.partition("/")[0] if "/" in path else ""

    def size(self, files: Iterable[Path]) -> int:
        return sum(len(self.contents[file]) for file in files)

    def relevant(self) -> list[Path]:
        """Files that mention TensorFlow, and those that import such a file, however far: their loops count too."""
        chosen = {file for file, data in self.contents.items() if MENTIONS.search(data)}
        rest = {file for file in self.contents if file not in chosen}
        grew = bool(rest)
        while grew:
            words = {word for file in chosen for word in (file.stem, file.parent.name)}
            more = {file for file in rest if self.imports[file] & words}
            grew = bool(more)
            chosen |= more
            rest -= more
        return sorted(chosen)


def read(files: Iterable[Path], root: Path) -> Files:
    contents: dict[Path, bytes] = {}
    unreadable: dict[str, str] = {}
    for file in files:
        try:
            contents[file] = file.read_bytes()
        except OSError as error:
            path = shown(file.resolve(), root.resolve())
            unreadable[path] = f"{path} cannot be read: {error.strerror or error}."
    found = Files(contents, root)
    found.unread.unreadable.update(unreadable)
    return found


def shards(files: Files, chosen: Iterable[Path], size: int, least: int) -> list[list[Path]]:
    """What shall be checked together: an outermost folder each, at most `size` bytes, and `least` parts if it pays."""
    parts: list[list[Path]] = []
    folder, filled = None, 0
    for file in chosen:
        if files.folder(file) != folder or filled >= size:
            parts.append([])
            folder, filled = files.folder(file), 0
        parts[-1].append(file)
        filled += len(files.contents[file])
    if sum(files.size(part) for part in parts) < SMALL:
        return [[file for part in parts for file in part]] if parts else []
    while len(parts) < least and len(parts[-1]) > 1:
        parts.sort(key=len)
        largest = parts.pop()
        parts += [largest[: len(largest) // 2], largest[len(largest) // 2 :]]
    return parts


def shown(file: Path, root: Path) -> str:
    try:
        return file.relative_to(root).as_posix()
    except ValueError:
        return file.as_posix()


def dotted(path: str) -> str:
    parts = Path(path).with_suffix("").parts
    return ".".join(part for part in parts if part not in ("/", "__init__"))


def _imported_words(data: bytes) -> frozenset[str]:
    found: set[str] = set()
    for match in IMPORT.finditer(data):
        before = data[data.rfind(b"\n", 0, match.start()) + 1 : match.start()].lstrip()
        if not before or before.startswith(b"from"):  # else it is a word of a comment
            found.update(WORD.findall((before[4:] + match[1]).decode("utf-8", "replace")))
    return frozenset(found)


def _words(data: bytes) -> list[bytes]:
    return data.translate(NOT_IN_WORDS).split()


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
