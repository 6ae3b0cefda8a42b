"""Source as rules see it: files -> Project. Nothing that is read here is ever executed or imported."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from hotloop.source.files import Files, Unread, read
from hotloop.source.module import Module
from hotloop.source.project import Project

__all__ = ["Files", "Module", "Project", "Unread", "load_project", "project_of", "read"]


def load_project(files: Sequence[Path], root: Path) -> tuple[Project, Unread]:
    """The project of these files, and what of them could not be read."""
    found = read(files, root)
    project = Project(found, found.relevant())
    return project, found.unread


def project_of(contents: dict[str, bytes]) -> Project:
    """A project of texts that need not lie on disk, by relative path; what does not parse raises SyntaxError."""
    files = Files({Path("/", name): data for name, data in contents.items()}, Path("/"))
    project = Project(files, files.contents)
    for sentence in files.unread.notes:
        raise SyntaxError(sentence)
    return project
