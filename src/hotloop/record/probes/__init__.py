"""What is watched inside TensorFlow and Keras: one file per thing, put in once its library is there."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from hotloop.record.log import Log

Install = Callable[[Log], None]


def install_all(log: Log, installs: Sequence[tuple[str, Install]]) -> None:
    """A symbol that moved costs one sentence in `unseen`; everything else goes on."""
    for what, install in installs:
        try:
            install(log)
        except LookupError as missing:
            log.note(unseen(what, missing))
        except Exception as error:  # noqa: BLE001  a probe that cannot be put in must not stop the program
            log.note(f"Not visible: {what} ({type(error).__name__}: {error}).")


def unseen(what: str, missing: LookupError) -> str:
    return f"Not visible in this version of TensorFlow: {what} (no {missing})."
