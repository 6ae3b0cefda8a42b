"""Stands here so that pytest puts this folder on the import path, for tests/tf too."""
