"""Sessions: how many are made, which runs had to prepare first, and how large the graph was each time."""

from __future__ import annotations

import sys
import weakref
from typing import Any

from hotloop.record.log import Alike, Log
from hotloop.record.memory import rss_reader
from hotloop.record.probes.watch import FAILED, operations, part, watch

_KEYS = 1000  # distinct (fetches, feeds) remembered per session


class _Seen:
    """Where one session was made, and what it has run already."""

    def __init__(self, made: str = "") -> None:
        self.made = made
        self.keys: set[Any] = set()
        self.graph_ops = -1
        self.latest: tuple[Any, dict[int, weakref.ref[Any]]] = ((), {})  # fetched last, and what was fed
        self.updated = False  # by what was fetched last: an operation, not a value
        self.alike = Alike()  # runs that fetch `fetched`, and nothing else was ever fetched
        self.fetched: Any = None

    def passes(self, args: tuple[Any, ...]) -> bool:
        return len(args) > 1 and _mark(args[1]) == self.fetched and self.alike.passes()


def install(log: Log) -> None:
    session = part("tensorflow.python.client.session:BaseSession")
    sessions: weakref.WeakKeyDictionary[Any, _Seen] = weakref.WeakKeyDictionary()
    resting: dict[int, _Seen] = {}
    graphs: weakref.WeakKeyDictionary[Any, int] = weakref.WeakKeyDictionary()  # ops at the last run
    living: dict[str, weakref.WeakSet[Any]] = {}  # by where they were made: sessions neither closed nor dropped
    rss = rss_reader()

    def made(state: Any, seconds: float, result: Any) -> None:
        if result is not FAILED:
            stack = log.frames.here()
            where = f"{stack[0][0]}:{stack[0][1]}" if stack else ""
            sessions[state] = _Seen(where)
            resting.pop(id(state), None)  # of a session that was there before
            alive = living.setdefault(where, weakref.WeakSet())
            alive.add(state)
            log.emit("session", seconds=seconds, stack=stack, example={"alive": len(alive), "rss": rss()})

    def close_begins(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        for alive in living.values():
            alive.discard(args[0])
        collected = sys._getframe(2).f_code.co_name == "__del__"  # dropped, not closed
        return None if collected or getattr(args[0], "_closed", False) else True

    def closed(state: Any, seconds: float, result: Any) -> None:
        log.emit("session.close", seconds=seconds)

    def run_begins(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        this = args[0]
        rested = resting.get(id(this))
        if rested is not None and rested.passes(args):
            return None
        fetches = args[1] if len(args) > 1 else kwargs.get("fetches")
        feeds = args[2] if len(args) > 2 else kwargs.get("feed_dict")
        ops = operations(this.graph)
        seen = sessions.get(this) or sessions.setdefault(this, _Seen())
        log.handed += _elements(feeds) * seen.alike.stands_for
        key = (_key(fetches), tuple([_key(fed) for fed in feeds]) if feeds else ())
        cold = key not in seen.keys or ops != seen.graph_ops
        if not cold and len(seen.keys) == 1:  # as the run before, and there is no other value that could be computed
            seen.fetched = _mark(fetches)
            resting[id(this)] = seen
            return seen
        seen.alike.wake()
        if cold and len(seen.keys) < _KEYS:
            seen.keys.add(key)
        seen.graph_ops = ops
        grown = ops - graphs.get(this.graph, ops)
        if grown or cold:
            graphs[this.graph] = ops
        again = updated = False
        if len(seen.keys) > 1:  # else there is no other value that could be computed
            again = _is_again(seen, key[0], feeds)
            updated, seen.updated = seen.updated and again, _updates(fetches)
        before, log.doing = log.doing, "setup" if cold else log.doing
        numbers = {"graph_ops": ops, "grown": grown, "again": again, "updated": updated}
        return cold, before, seen.made, numbers if cold or grown or again else None

    def run_ends(state: Any, seconds: float, result: Any) -> None:
        if isinstance(state, _Seen):
            state.alike.add(log.tally("session.run", state.made, log.frames.here()), seconds)
            return
        cold, log.doing, where, numbers = state
        tally = log.tally("session.cold" if cold else "session.run", where, log.frames.here())
        tally.add(seconds, numbers, {**numbers, "seconds": round(seconds, 6)} if cold else None)

    watch(log, session, "__init__", lambda args, kwargs: args[0], made)
    watch(log, session, "close", close_begins, closed)
    watch(log, session, "run", run_begins, run_ends)


def _is_again(seen: _Seen, fetched: Any, feeds: Any) -> bool:
    """Whether another value is computed from the very arrays that the run before was fed."""
    feeds = feeds if isinstance(feeds, dict) else {}
    before, fed = seen.latest
    same = bool(fed) and len(fed) == len(feeds) and before != fetched
    same = same and all(id(key) in fed and fed[id(key)]() is value for key, value in feeds.items())
    try:
        seen.latest = fetched, {id(key): weakref.ref(value) for key, value in feeds.items()}
    except TypeError:  # a number or a list, of which there may be two alike
        seen.latest = (), {}
    return same


def _elements(feeds: Any) -> int:
    """Of the arrays that are fed. A picture's `size` is a pair, and that of other libraries' tensors a method."""
    sizes = [getattr(fed, "size", 1) for fed in feeds.values()] if isinstance(feeds, dict) else []
    return sum([size for size in sizes if isinstance(size, int)])


def _updates(fetches: Any) -> bool:
    """Asked of the class: what a tensor lacks, it takes long to say so."""
    parts = fetches if isinstance(fetches, list | tuple) else [fetches]
    return any(hasattr(type(one), "node_def") and not hasattr(type(one), "dtype") for one in parts)


def _mark(fetches: Any) -> Any:
    """What tells at once that the same is fetched again; a list is made anew for each run, its tensors are not."""
    return tuple(map(id, fetches)) if fetches.__class__ in (list, tuple) else id(fetches)


def _key(fetches: Any) -> Any:
    """What identifies a fetch or feed: a name by its text, a tensor by being that tensor."""
    if isinstance(fetches, str):
        return fetches
    if isinstance(fetches, list | tuple):
        return tuple(_key(item) for item in fetches)
    if isinstance(fetches, dict):
        return tuple((str(name), _key(item)) for name, item in fetches.items())
    return id(fetches)
