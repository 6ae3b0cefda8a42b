"""Stands here so that pytest puts this folder on the import path, for tests/tf too."""

from __future__ import annotations

import pytest


@pytest.fixture(autouse=True)
def own_home(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """No test leaves anything in the user's cache, or finds it there."""
    monkeypatch.setenv("HOTLOOP_HOME", str(tmp_path_factory.mktemp("home")))
