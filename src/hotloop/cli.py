"""Every flag hotloop has. Each handler imports its verb inside itself, so that `--help` stays instant."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from hotloop import __version__
from hotloop.model import HotloopError

if TYPE_CHECKING:
    from hotloop.fix import Wanted
    from hotloop.model import Report
    from hotloop.record import Limit

FORMATS = ("terminal", "json")
FINDING_FORMATS = (*FORMATS, "sarif", "github", "junit")
TRIAL_FORMATS = (*FORMATS, "markdown")


def main(argv: Sequence[str] | None = None) -> int:
    given, program = _apart(sys.argv[1:] if argv is None else list(argv))
    arguments = _parsed(build_parser(), given, argparse.Namespace(program=program))
    try:
        return int(arguments.handler(arguments))
    except HotloopError as error:
        _complain(str(error))
        return error.exit_code
    except KeyboardInterrupt:
        _complain("interrupted.")
        return 130
    except BrokenPipeError:  # the reader of our output went away (`| head`)
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0


def _apart(argv: list[str]) -> tuple[list[str], list[str]]:
    """`compare A B -- program args`: what follows `--` is the program's, whatever it looks like."""
    if argv[:1] != ["compare"] or "--" not in argv:
        return argv, []
    at = argv.index("--")
    return argv[:at], argv[at + 1 :]


def _parsed(parser: argparse.ArgumentParser, argv: list[str], into: argparse.Namespace) -> argparse.Namespace:
    """`label MODEL --top-k 1 IMAGES` too: argparse takes flags between positional arguments for their end."""
    arguments, rest = parser.parse_known_args(argv, into)
    if rest and (not hasattr(arguments, "images") or any(word[:1] == "-" != word for word in rest)):
        parser.error(f"unrecognized arguments: {' '.join(rest)}")
    if rest:
        arguments.images += rest
    return arguments


def build_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="hotloop",
        description="Why is this TensorFlow loop slow, slowing or eating memory? And the fix, with proof.",
    )
    parser.add_argument("--version", action="version", version=f"hotloop {__version__}")
    verbs = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)

    check = verbs.add_parser("check", help="read source, run nothing: name the lines that will hurt")
    check.add_argument("paths", nargs="*", default=["."], metavar="PATH", help="files and folders; - is standard input")
    check.add_argument("--all", action="store_true", help="show low-confidence findings too")
    check.add_argument("--select", action="append", default=[], metavar="RULE", help="only these rules")
    check.add_argument("--ignore", action="append", default=[], metavar="RULE", help="not these rules")
    check.add_argument("--baseline", metavar="FILE", help="report only what is not in this file")
    check.add_argument("--write-baseline", action="store_true", help="write what is found into the baseline")
    check.add_argument("--stdin-filename", metavar="FILE", help="what the text from standard input is called")
    _add_output(check, FINDING_FORMATS)
    check.set_defaults(handler=_check)

    run = verbs.add_parser("run", help="run a program, measure every loop, say why it is slow")
    run.add_argument("--html", metavar="FILE", help="also write one offline page with charts")
    run.add_argument("--recording", metavar="FILE", help="also keep the recording here")
    _add_output(run, FINDING_FORMATS)
    _add_fail_on(run)
    run.add_argument("--live", action="store_true", help="say at the foot of the terminal how it is doing meanwhile")
    run.add_argument("--time-limit", metavar="60s", help="end the program after this time (s, m or h), as Ctrl-C would")
    run.add_argument("--steps", type=int, metavar="N", help="end it after N steps of a loop in which TensorFlow works")
    run.add_argument(
        "-m", dest="module", nargs=argparse.REMAINDER, default=[], help="a module, as `python -m` takes it"
    )
    told = (
        "the program and its arguments, as you would give them to python; or, after --, a whole command: -- python ..."
    )
    run.add_argument("command", nargs=argparse.REMAINDER, metavar="program args...", help=told)
    run.set_defaults(handler=_run)

    report = verbs.add_parser("report", help="render the last recording again; nothing runs")
    report.add_argument("recording", nargs="?", metavar="RECORDING")
    report.add_argument("--html", metavar="FILE", help="also write one offline page with charts")
    _add_output(report, FINDING_FORMATS)
    _add_fail_on(report)
    report.set_defaults(handler=_report)

    fix = verbs.add_parser("fix", help="rewrite the source, prove it faster with the same results, then write it")
    fix.add_argument("paths", nargs="*", metavar="PATH", help="files and folders to mend from their source alone")
    fix.add_argument("--run", metavar="'PROGRAM ARGS'", help="the program to measure and to prove on")
    fix.add_argument("--last", action="store_true", help="the program of the last recording, which need not run again")
    fix.add_argument("--budget", metavar="5m", help="how long proving may take (s, m or h; default 10m)")
    fix.add_argument("--write", action="store_true", help="write what is safe or proved; without it, only show")
    fix.add_argument("--unproved", action="store_true", help="with --write: also what would need a proof")
    fix.add_argument("--backup", action="store_true", help="keep the files as they were, as FILE.orig")
    fix.add_argument("--select", action="append", default=[], metavar="RULE", help="only these rules")
    fix.add_argument("--ignore", action="append", default=[], metavar="RULE", help="not these rules")
    fix.add_argument("--html", metavar="FILE", help="also write one offline page")
    _add_output(fix, (*TRIAL_FORMATS, "diff"))
    fix.set_defaults(handler=_fix)

    told = "two programs: which loop is faster, and are the results the same"
    compare = verbs.add_parser("compare", help=told, usage="%(prog)s [options] A B [-- program args...]")
    what = "a program, or 'program args'; before --, a git revision at which to run the program after it"
    compare.add_argument("before", metavar="A", help=what)
    compare.add_argument("after", metavar="B", help="another; as a revision, . is the working tree")
    compare.add_argument("--runs", type=int, default=5, metavar="N", help="at most N runs of each (default 5)")
    compare.add_argument("--steps", type=int, metavar="N", help="compare over the first N steps of the main loop only")
    compare.add_argument("--html", metavar="FILE", help="also write one offline page with both on one chart")
    _add_output(compare, TRIAL_FORMATS)
    compare.set_defaults(handler=_compare)

    label = verbs.add_parser("label", help="a folder of images through a model, at the speed of the machine")
    _add_label(label)
    label.set_defaults(handler=_label)

    explain = verbs.add_parser("explain", help="what a rule means, why it costs, what to do instead")
    explain.add_argument("rule")
    explain.set_defaults(handler=_explain)

    rules = verbs.add_parser("rules", help="list the rules")
    rules.set_defaults(handler=_rules)
    return parser


def _add_output(parser: argparse.ArgumentParser, formats: Sequence[str] = FORMATS) -> None:
    parser.add_argument("--format", choices=formats, default="terminal")
    parser.add_argument("--output", metavar="FILE", help="write the report here instead of printing it")


def _add_fail_on(parser: argparse.ArgumentParser) -> None:
    told = "exit with 1 if any finding or symptom, this symptom (degrading, leaking) or this rule's finding is there"
    parser.add_argument("--fail-on", action="append", default=[], metavar="WHAT", help=told)


def _add_label(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("model", nargs="?", metavar="MODEL", help="a frozen graph (.pb), a SavedModel's folder, a .keras or .h5 file")
    add("images", nargs="*", metavar="IMAGES", help="files, folders, patterns, a .txt or .csv list; -: stdin")
    add("--recursive", action="store_true", help="folders inside folders too")
    add("--labels", metavar="FILE", help="one label a line")
    add("--top-k", type=int, default=5, metavar="K", help="the best K labels of each image (default 5)")
    add("--raw", action="store_true", help="all outputs of the model, instead of labels: embeddings")
    add("--output", metavar="FILE", help="write a row for each image: .jsonl, .csv or .parquet")
    add("--resume", action="store_true", help="go on where a run with this output was interrupted")
    add("--overwrite", action="store_true", help="replace the output of another run")
    add("--fail-fast", action="store_true", help="stop at the first image that cannot be read")
    add("--batch", default="auto", metavar="N", help="images computed at once (default: measured)")
    add("--threads", type=int, metavar="N", help="decode for so many cores (default: all of them)")
    add("--max-pixels", type=int, metavar="N", help="larger images are an error (default 100 million pixels)")
    add("--preprocess", choices=("auto", "label_image", "keras", "none"), default="auto", help="how pixels are scaled")
    resize = ("auto", "bilinear-v1", "bilinear", "nearest", "bicubic", "area", "lanczos3")
    add("--resize", choices=resize, default="auto", help="bilinear-v1: that of TensorFlow 1, for frozen graphs")
    add("--signature", metavar="NAME", help="of a SavedModel")
    add("--trust-model", action="store_true", help="run the Python code and the file access that a model brings along")
    add("--engine", choices=("local", "ray"), default="local", help="ray: on many workers (hotloop[ray])")
    add("--address", metavar="HOST:PORT", help="of a Ray cluster, or auto (default: a Ray of its own, on this machine)")
    add("--workers", type=int, metavar="N", help="of Ray (default: one for each GPU or, without, for each machine)")
    add("--gpus-per-worker", type=float, default=0.0, metavar="N", help="default 0")
    old = parser.add_argument_group("as label_image.py has them")
    old.add_argument("--graph", metavar="MODEL", help="the model")
    old.add_argument("--image", metavar="IMAGE", help="one image: prints its best labels and nothing else")
    for name, kind in (("layer", str), ("height", int), ("width", int), ("mean", float), ("std", float)):
        old.add_argument(f"--input_{name}", f"--input-{name}", type=kind, metavar=name.upper())
    old.add_argument("--output_layer", "--output-layer", metavar="LAYER")


def _check(arguments: argparse.Namespace) -> int:
    from hotloop.gate import STDIN, Request, answer
    from hotloop.report.progress import progress

    request = Request(
        paths=arguments.paths,
        select=arguments.select,
        ignore=arguments.ignore,
        low=arguments.all,
        baseline=arguments.baseline,
        write_baseline=arguments.write_baseline,
        stdin=sys.stdin.buffer.read() if STDIN in arguments.paths else None,
        stdin_filename=arguments.stdin_filename,
    )
    with progress(sys.stderr) as step:
        given = answer(request, step)
    if given.said:
        _complain(given.said)
    else:
        _show(given.report, arguments, texts=given.texts)
    for failure in given.failures:
        _complain(failure)
    return given.exit_code


def _run(arguments: argparse.Namespace) -> int:
    from hotloop.diagnose import run_and_diagnose
    from hotloop.report.failing import conditions
    from hotloop.report.live import watcher

    wanted, limit = conditions(arguments.fail_on), _limit(arguments)
    for path in (arguments.html, arguments.output, arguments.recording):
        _check_writable(path)
    watch = watcher(sys.stderr) if arguments.live else None
    report, code = run_and_diagnose(_command(arguments), watch=watch, keep=_path(arguments.recording), limit=limit)
    try:
        _show(report, arguments, stream=sys.stderr)
    except HotloopError as error:  # a disk that is full now must not cost the report of a run that took hours
        _complain(str(error))
        _show(report, argparse.Namespace(format="terminal", output=None), stream=sys.stderr)
        return error.exit_code
    return _failed(report, wanted) or code


def _check_writable(path: str | None) -> None:
    """Before the program runs, as far as can be told without leaving a trace that it could see."""
    folder = os.path.dirname(os.path.abspath(path)) if path else ""
    if path and os.path.isdir(path):
        raise HotloopError(f"cannot write {path}: it is a directory.")
    if path and not os.path.isdir(folder):
        raise HotloopError(f"cannot write {path}: there is no folder {folder}.")
    if path and not os.access(path if os.path.exists(path) else folder, os.W_OK):
        raise HotloopError(f"cannot write {path}: permission denied.")


def _command(arguments: argparse.Namespace) -> list[str]:
    module = ["-m", *arguments.module] if arguments.module else []
    return [*module, *arguments.command]


def _limit(arguments: argparse.Namespace) -> Limit:
    from hotloop.record import Limit
    from hotloop.words import seconds_in

    if arguments.steps is not None and arguments.steps < 1:
        raise HotloopError("`--steps` is a number of steps: at least 1.")
    if arguments.time_limit is None:
        return Limit(steps=arguments.steps)
    seconds = seconds_in(arguments.time_limit)
    if not seconds:
        raise HotloopError(f"`--time-limit {arguments.time_limit}` is not a time. Write 60s, 5m or 1h.")
    return Limit(seconds, arguments.steps)


def _report(arguments: argparse.Namespace) -> int:
    from hotloop.diagnose import diagnose_recording
    from hotloop.model import Recording
    from hotloop.report.failing import conditions
    from hotloop.settings import latest_recording

    wanted = conditions(arguments.fail_on)
    path = _path(arguments.recording) or latest_recording(Path.cwd())
    if not path.exists():
        raise HotloopError(f"there is no recording at {path}. `hotloop run program.py` makes one.")
    report = diagnose_recording(Recording.load(path))
    _show(report, arguments)
    return _failed(report, wanted)


def _failed(report: Report, wanted: Sequence[str]) -> int:
    from hotloop.report.failing import reasons

    failures = reasons(report, wanted)
    for sentence in failures:
        _complain(sentence)
    return int(bool(failures))


def _fix(arguments: argparse.Namespace) -> int:
    from hotloop.fix import Wanted, fix_paths
    from hotloop.gate import Request

    for path in (arguments.html, arguments.output):
        _check_writable(path)
    wanted = Wanted(arguments.write, arguments.unproved, arguments.backup)
    request = Request(arguments.paths or ["."], arguments.select, arguments.ignore)
    if arguments.run is not None or arguments.last:
        return _prove(arguments, wanted)
    report, failures = fix_paths(request, wanted)
    if report.meta["files"] or not failures:  # of what was not read there is nothing to say
        _show(report, arguments)
    for failure in failures:
        _complain(failure)
    return 2 if failures else 0


def _prove(arguments: argparse.Namespace, wanted: Wanted) -> int:
    from hotloop.fix import chosen_rules
    from hotloop.proving import BUDGET, Job, fix_program, kept_job
    from hotloop.words import seconds_in

    if arguments.last and arguments.run is not None:
        raise HotloopError("`--last` and `--run` both name a program: give one of them.")
    budget = seconds_in(arguments.budget) if arguments.budget else BUDGET
    if not budget:
        raise HotloopError(f"`--budget {arguments.budget}` is not a time. Write 60s, 5m or 1h.")
    rules, within = chosen_rules(arguments.select, arguments.ignore), [Path(path) for path in arguments.paths]
    job = kept_job() if arguments.last else Job(_words(arguments.run))
    job = replace(job, rules=rules, budget=budget, within=within, say=_say)
    _show(fix_program(job, wanted), arguments)
    return 0


def _compare(arguments: argparse.Namespace) -> int:
    from hotloop.compare import compare, compare_revisions, exit_code
    from hotloop.record import Limit
    from hotloop.verify import Terms

    if arguments.steps is not None and arguments.steps < 1:
        raise HotloopError("`--steps` is a number of steps: at least 1.")
    for path in (arguments.html, arguments.output):
        _check_writable(path)
    terms = Terms(runs=arguments.runs, limit=Limit(steps=arguments.steps), say=_say)
    if arguments.program:
        report = compare_revisions(arguments.before, arguments.after, arguments.program, terms)
    else:
        report = compare(_words(arguments.before), _words(arguments.after), terms)
    _show(report, arguments)
    return exit_code(report)


def _label(arguments: argparse.Namespace) -> int:
    from hotloop.label.command import answer

    return answer(arguments, sys.stdin.buffer, sys.stdout, sys.stderr)


def _explain(arguments: argparse.Namespace) -> int:
    from hotloop.report.rulebook import explain
    from hotloop.rules import find_rule

    sys.stdout.write(explain(find_rule(arguments.rule), color=_in_color(sys.stdout)))
    return 0


def _rules(arguments: argparse.Namespace) -> int:
    from hotloop.report.rulebook import listing
    from hotloop.rules import all_rules

    sys.stdout.write(listing(all_rules()))
    return 0


def _words(text: str) -> list[str]:
    """A program and its arguments as a shell would split them; an existing file is taken as it is."""
    import shlex

    if Path(text).is_file():
        return [text]
    try:
        return shlex.split(text) or [""]
    except ValueError as error:
        raise HotloopError(f"cannot split {text!r} into a program and its arguments: {error}.") from error


def _path(text: str | None) -> Path | None:
    return Path(text) if text else None


def _show(
    report: Report,
    arguments: argparse.Namespace,
    stream: TextIO | None = None,
    texts: Mapping[str, bytes] | None = None,
) -> None:
    """The report, where the user asked for it. `run` prints to stderr: stdout belongs to the program."""
    from hotloop.report import render

    if getattr(arguments, "html", None):
        _write(arguments.html, render(report, "html"))
        report = replace(report, meta={**report.meta, "page": arguments.html})
    if arguments.output:
        _write(arguments.output, render(report, arguments.format, texts=texts))
        return
    target = stream or sys.stdout
    text = render(report, arguments.format, color=_in_color(target), width=_width(target), texts=texts)
    encoding = target.encoding or "utf-8"  # not every terminal and pipe can take every character
    target.write(text.encode(encoding, "replace").decode(encoding))


def _in_color(stream: TextIO) -> bool:
    """At a terminal that can, unless its user would rather not (no-color.org)."""
    return stream.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def _width(stream: TextIO) -> int | None:
    """Of the terminal that is written to, which need not be the one on stdout; None: whatever is usual."""
    try:
        return None if os.environ.get("COLUMNS") else os.get_terminal_size(stream.fileno()).columns
    except (OSError, ValueError):
        return None


def _say(sentence: str) -> None:
    """To somebody who waits."""
    if sys.stderr.isatty():
        _complain(sentence)


def _complain(sentence: str) -> None:
    from hotloop.report.phrases import clean

    sys.stderr.write(f"hotloop: {clean(sentence)}\n")


def _write(path: str, text: str) -> None:
    try:
        Path(path).write_text(text, encoding="utf-8")
    except OSError as error:
        raise HotloopError(f"cannot write {path}: {error.strerror or error}") from error
