"""Rules: one folder each, found by being there. Nothing outside a folder names its rule."""

from __future__ import annotations

import functools
import importlib
import pkgutil
import re
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from hotloop.model import Cost, Finding, Fix, HotloopError, Place, Recording, Refusal

if TYPE_CHECKING:
    from hotloop.source import Project

Check = Callable[["Project"], Iterable[Finding]]
Diagnose = Callable[[Recording], Iterable[Finding]]
Price = Callable[[Finding, Recording], Cost | None]
Blind = Callable[[Recording], bool]
Meant = Callable[[Finding, "Project"], bool]
MakeFix = Callable[[Finding, "Project"], Fix | Refusal]

SECTIONS = ("Why", "Instead", "Not when")


class Rule:
    """One ailment. `RULE = Rule(__name__)` in its folder stamps the name; the rest is read from the folder.

    The folder may define `check(project)`, `diagnose(recording)`, `price(finding, recording)`, `blind(recording)`,
    `meant(finding, project)` and `fix(finding, project)`; what it does not define it does not have. Its docstring is
    its documentation.
    `MEASURED = "memory"` where `fast` is not faster but smaller, `PARALLEL = True` where it is faster only with a
    second core to itself.
    """

    def __init__(self, module_name: str) -> None:
        self.module_name = module_name
        self.name = module_name.rpartition(".")[2].replace("_", "-")

    def __repr__(self) -> str:
        return f"Rule({self.name})"

    def _part(self, name: str) -> Any:
        return getattr(sys.modules[self.module_name], name, None)

    @property
    def check(self) -> Check | None:
        return cast("Check | None", self._part("check"))

    @property
    def diagnose(self) -> Diagnose | None:
        return cast("Diagnose | None", self._part("diagnose"))

    @property
    def price(self) -> Price | None:
        """What a loop cost that the source alone names, where nothing but its samples tells."""
        return cast("Price | None", self._part("price"))

    @property
    def blind(self) -> Blind | None:
        """Whether a recording lacks what `diagnose` looks at: then that it is silent says nothing."""
        return cast("Blind | None", self._part("blind"))

    @property
    def meant(self) -> Meant | None:
        """Whether the source says that it wants what was measured: `check` keeps quiet about it too."""
        return cast("Meant | None", self._part("meant"))

    @property
    def fix(self) -> MakeFix | None:
        """The folder's `fix`, with a precondition that failed (`Refused`) as the answer that it is."""
        make = cast("MakeFix | None", self._part("fix"))
        return functools.partial(_answer, make) if make else None

    @property
    def measured(self) -> str:
        """What its fast program has less of: `speed` is of time, `memory` of that."""
        return str(self._part("MEASURED") or "speed")

    @property
    def parallel(self) -> bool:
        return bool(self._part("PARALLEL"))

    @property
    def folder(self) -> Path:
        return Path(str(sys.modules[self.module_name].__file__)).parent

    @functools.cached_property
    def sections(self) -> dict[str, str]:
        """The docstring by section: `summary`, then each of SECTIONS."""
        doc = sys.modules[self.module_name].__doc__ or ""
        parts = re.split(r"^\*\*(.+?)\*\*\s*$", doc, flags=re.MULTILINE)
        found = {"summary": " ".join(parts[0].split())}
        found.update(zip(parts[1::2], (part.strip() for part in parts[2::2]), strict=True))
        return found

    @property
    def summary(self) -> str:
        return self.sections["summary"]

    def finding(self, place: Place, message: str, **more: Any) -> Finding:
        return Finding(self.name, place, message, **more)

    def complaints(self) -> list[str]:
        """What is wrong with the folder itself, in sentences; empty when all is well."""
        wrong = []
        if not self.summary:
            wrong.append("its docstring has no summary sentence")
        wrong += [f"its docstring has no **{name}** section" for name in SECTIONS if not self.sections.get(name)]
        if not (self.check or self.diagnose):
            wrong.append("it has neither `check` nor `diagnose`")
        for name in ("slow.py", "fast.py", "edge.py"):
            if not (self.folder / name).exists() and not (self.folder / name[:-3]).is_dir():
                wrong.append(f"it has no {name}")
        return wrong


def _answer(make: MakeFix, finding: Finding, project: Project) -> Fix | Refusal:
    from hotloop.source.rewrite import Refused

    try:
        return make(finding, project)
    except Refused as refused:
        module = refused.module or project.modules[finding.place.path]
        return refused.refusal(module, finding.place)
    except RecursionError:  # LibCST visits by recursion; `check` itself does not
        return Refusal("the file is nested too deeply to be rewritten", finding.place)


@functools.cache
def rule_names() -> tuple[str, ...]:
    """What the rules are called: their folders, none of which is imported for it."""
    return tuple(sorted(info.name.replace("_", "-") for info in pkgutil.iter_modules(__path__) if info.ispkg))


@functools.cache
def all_rules() -> tuple[Rule, ...]:
    return tuple(find_rule(name) for name in rule_names())


def find_rule(name: str) -> Rule:
    """A broken folder is our mistake and fails loudly."""
    module = importlib.import_module(f"{__name__}.{known(name).replace('-', '_')}")
    rule = getattr(module, "RULE", None)
    if not isinstance(rule, Rule) or rule.module_name != module.__name__:
        raise TypeError(f"{module.__name__} must define RULE = Rule(__name__)")
    return rule


def known(name: str) -> str:
    """The name, if a rule is called so."""
    if name not in rule_names():
        raise HotloopError(f"there is no rule `{name}`. The rules are: {', '.join(rule_names())}.")
    return name


def select(chosen: Iterable[str] = (), ignore: Iterable[str] = ()) -> tuple[str, ...]:
    """The names of the rules that a user asked for; an unknown name is an error, not silence."""
    asked, dropped = {known(name) for name in chosen}, {known(name) for name in ignore}
    return tuple(name for name in rule_names() if (not asked or name in asked) and name not in dropped)
