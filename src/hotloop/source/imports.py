"""Which of a project's files an import statement means; told from the text, before anything is parsed."""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterator
from pathlib import Path

IMPORT = re.compile(rb"import\b[ \t]*(\([^)]*\)|[^\n#;]+)")
COMMENT = re.compile(r"#[^\n]*")
BOM = b"\xef\xbb\xbf"
# A folder of the project that is called like one of these is the library itself only if it has one of these folders.
LIBRARIES = {"tensorflow": ("python",), "keras": ("src", "layers"), "tf_keras": ("src", "layers")}
FROM = re.compile(rb"from[ \t]+(\.*[ \t]*[\w.]*)[ \t]*")


def _and_above(folder: str) -> Iterator[str]:
    while folder:
        yield folder
        folder = folder.rpartition(os.sep)[0]


def imports_in(data: bytes) -> Iterator[tuple[str, list[str]]]:
    """What the lines that look like imports say: `from a.b import c, d` is a.b with [c, d], `import a.b` is a.b."""
    for match in IMPORT.finditer(data):
        line = data[data.rfind(b"\n", 0, match.start()) + 1 : match.start()]
        before = line.removeprefix(BOM).rpartition(b";")[2].strip()
        source = FROM.fullmatch(before)
        if before and not source:  # a word of a comment
            continue
        told = match[1].decode("utf-8", "replace")
        if told.startswith("("):
            told = COMMENT.sub("", told[1:-1])
        names = [part.split()[0] for part in told.split(",") if part and not part.isspace()]
        if source:
            yield source[1].replace(b" ", b"").decode("utf-8", "replace"), names
        else:
            yield from ((name, []) for name in names)


class Imports:
    """Finds a file by its dotted name, as code in a folder would: relative, beside it, or from a folder above it."""

    def __init__(self, files: Collection[str], root: Path) -> None:
        self._files = files
        self._root = str(root).rstrip(os.sep)
        self._folders = folders = {os.path.dirname(file) for file in files}
        self._homes: dict[str, set[str]] = {}  # of the first word of a name: the folders that have such a module
        for file in files:
            folder, _, name = file.rpartition(os.sep)
            self._homes.setdefault(name.removesuffix(".py"), set()).add(folder)
        for above in {above for folder in folders for above in _and_above(folder)}:
            outer, _, name = above.rpartition(os.sep)
            self._homes.setdefault(name, set()).add(outer)
        self._found: dict[tuple[str, str], str | None] = {}

    def find(self, dotted: str, folder: str) -> str | None:
        key = (folder, dotted)
        if key not in self._found:
            self._found[key] = self._look(dotted, folder.rstrip(os.sep))
        return self._found[key]

    def meant(self, base: str, names: list[str], folder: str) -> tuple[list[str], list[str]]:
        """The files behind one statement, and what else it names: modules among the names are files of their own."""
        separator = "" if base.endswith(".") else "."
        inner = {name: self.find(f"{base}{separator}{name}", folder) for name in names}
        files = [file for file in inner.values() if file]
        others = [name for name, file in inner.items() if not file]
        if others or not names:
            home = self.find(base, folder)
            files += [home] if home else []
            others += [base] if not home else []
        return files, others

    def _look(self, dotted: str, folder: str) -> str | None:
        inner = dotted.lstrip(".")
        level = len(dotted) - len(inner)
        path = inner.strip(".").replace(".", os.sep)
        if level:
            for _ in range(level - 1):
                folder = os.path.dirname(folder)
            return self._at(folder, path)
        homes = self._homes.get(inner.partition(".")[0])
        if homes is None:
            return None
        while True:
            found = self._on_path(folder, path) if folder in homes else None
            if found or folder == self._root:
                return found or self._on_path(f"{self._root}{os.sep}src", path)
            if not folder:
                return None
            folder = folder.rpartition(os.sep)[0]

    def _on_path(self, folder: str, path: str) -> str | None:
        """What it would be if modules were looked for in that folder. An example's folder `tensorflow` is not meant."""
        top = path.partition(os.sep)[0]
        parts = LIBRARIES.get(top)
        meant = parts is None or any(os.sep.join((folder, top, part)) in self._folders for part in parts)
        return self._at(folder, path) if meant else None

    def _at(self, folder: str, path: str) -> str | None:
        if path and (file := f"{folder}{os.sep}{path}.py") in self._files:
            return file
        package = f"{folder}{os.sep}{path}{os.sep}__init__.py" if path else f"{folder}{os.sep}__init__.py"
        return package if package in self._files else None
