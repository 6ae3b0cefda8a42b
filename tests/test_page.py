"""The page shows what was measured, loads nothing, and in a real browser runs nothing that it was not meant to."""

from __future__ import annotations

import math
import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from recordings import loop

from hotloop import rules
from hotloop.diagnose import diagnose_recording
from hotloop.model import (
    Cost,
    Event,
    Evidence,
    Finding,
    Fix,
    LineCost,
    LoopSummary,
    Place,
    Problem,
    Recording,
    Refusal,
    Report,
    Series,
    Symptom,
    Trial,
)
from hotloop.report import html, phrases, render
from hotloop.report.svg import MOST, ticks

HOSTILE = "</script><img src=x onerror=\"document.title='taken'\"><script>document.title='taken'</script>"
HOSTILE += "<!-- \u2028 ' \" `<b onclick=x>` &lt; \u202e</style></title></svg>"
TAGS = (
    "html head meta title style body main header h1 h2 h3 p section article div span code b i ul li pre mark "
    "dl dt dd table thead tbody tr th td a details summary footer script "
    "svg line text polyline polygon path rect"
)
SOURCE = """import tensorflow as tf


def train(batches):
    for batch in batches:
        step = tf.function(model)
        step(batch)
"""
RULES = Path(rules.__file__).parent
RUN = loop(5, 7, [0.9] + [0.1] * 100, path="train.py")
MEMORY = Series("rss", "bytes", (0.0, 4.0, 8.0, 10.9), (3e8, 4e8, math.nan, 5e8))
PHASES = (Series("trace", "s", (0.0, 5.0), (4.0, 4.0)), Series("compute", "s", (0.0, 5.0), (1.0, 1.0)))
STACK = (Place("train.py", 6),)
EVENTS = (
    Event(
        "trace.value",
        STACK,
        "step",
        54,
        2.0,
        1.0,
        9.0,
        examples=({"argument": "lr", "now": "0.2", "before": "0.1", "defined": "train.py:2", "user_defined": True},),
        times=tuple(1.0 + n / 8 for n in range(54)),
    ),
    Event("call", STACK, "step", 54),
    Event("epoch", STACK, count=3, times=(0.0, 4.0, 8.0)),
    Event(
        "pipeline",
        STACK,
        count=9,
        totals={"read": 12.0, "0:Root seconds": 0.1, "1:ParallelMap seconds": 3.0, "1:ParallelMap elements": 12.0}
        | {"2:Range seconds": 1.0, "2:Range elements": 120.0},
        examples=(
            {
                "stages": [{"stage": "Root"}, {"stage": "ParallelMap", "parallel": 4.0, "buffered": 7}, "odd"],
                "made": [{"stage": "Map", "line": "train.py:3"}, {"stage": "Range", "line": "train.py:2"}],
            },
        ),
    ),
    Event("python", (Place("train.py", 3),), "load train.py:1", 120, 2.5),
    Event("input", STACK, "train.py:6", 12, 3.75),
    Event("session", STACK, "", 3, 0.5),
)
LINES = (LineCost(STACK[0], 8.0, {"trace": 6.0, "compute": 2.0}), LineCost(Place("train.py", 7), 1.0, {"python": 1.0}))
FINDING = Finding(
    rule="made-up",
    place=Place("train.py", 6, 8, 6, 26),
    message="`step` was traced 54 times.",
    basis="both",
    confidence="high",
    loop=RUN.place,
    cost=Cost(8.0, 0.667),
    evidence=(Evidence("traces", 54),),
)
SLOWING = Symptom("degrading", RUN.place, 0.2, "seconds/1000 steps", "step time grows", (0.1, 0.3))
TRIAL = Trial("before", "after", "faster", True, 10.9, (9.8, 12.1), 41.2, 3.78, 5)


class Page(HTMLParser):
    """What a browser would see: the tags and attributes, the text, the scripts, and what each picture is called."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: set[str] = set()
        self.scripts: list[str] = []
        self.pictures: list[str] = []
        self.text = ""
        self._open: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self._open.append(tag)
        self.attributes |= {name for name, _ in attrs}
        given = dict(attrs)
        if given.get("role") == "img":
            self.pictures.append(given.get("aria-label") or "")

    def handle_endtag(self, tag: str) -> None:
        while self._open and self._open.pop() != tag:
            pass

    def handle_data(self, data: str) -> None:
        if "script" in self._open:
            self.scripts.append(data)
        elif "style" not in self._open:
            self.text += data


@pytest.fixture
def report(tmp_path: Path) -> Report:
    (tmp_path / "train.py").write_text(SOURCE)
    meta = {"root": str(tmp_path), "argv": ["train.py"], "seconds": 12.0, "import_seconds": 2.0}
    epochs = Series("epoch", "seconds", (0.0, 31.0, 71.0), (4.0, 4.0, 3.0))
    loops = (LoopSummary(RUN, 0.1, {"compute": 2.0, "trace": 8.0, "python": 0.9}, epochs, ("epoch 2 is odd",)),)
    more = {"memory": MEMORY, "phases": PHASES, "events": EVENTS, "lines": LINES, "meta": meta}
    return Report("run", (FINDING,), (SLOWING,), loops, **more)  # type: ignore[arg-type]


@pytest.fixture
def hostile(tmp_path: Path) -> Report:
    """Everything that comes from outside says the worst it can."""
    (tmp_path / "x.py").write_text(f"{HOSTILE}\n")
    place = Place(HOSTILE, 1)
    finding = replace(
        FINDING,
        place=Place("x.py", 1),
        message=HOSTILE,
        rule=HOSTILE,
        loop=place,
        chain=(place,),
        evidence=(Evidence(HOSTILE, 1, HOSTILE),),
        fix=Refusal(HOSTILE, place),
    )
    example: dict[str, Any] = {
        "argument": HOSTILE,
        "now": HOSTILE,
        "before": HOSTILE,
        "defined": HOSTILE,
        "user_defined": True,
    }
    example |= {"made": [{"stage": HOSTILE, "line": HOSTILE}], "stages": [HOSTILE, {"parallel": HOSTILE}]}
    kinds = ("trace.value", f"trace.{HOSTILE}", "pipeline", "input", "python", HOSTILE, "epoch")
    totals = {HOSTILE: 1.0, "0:<script> seconds": 1.0, "1:<script> elements": 1.0}
    events = [Event(kind, (place,), HOSTILE, 3, 1.0, 0.1, 0.9, totals, (example,)) for kind in kinds]
    return Report(
        "run",
        (finding, replace(finding, place=place, fix=Fix(HOSTILE, (), "advice"))),
        (replace(SLOWING, loop=place, message=HOSTILE),),
        (LoopSummary(replace(RUN, place=place, kind=HOSTILE), 0.1, {HOSTILE: 1.0}, remarks=(HOSTILE,)),),
        (replace(TRIAL, before=HOSTILE, after=HOSTILE, notes=(HOSTILE,)),),
        (Refusal(HOSTILE, place),),
        (Problem(HOSTILE, HOSTILE, HOSTILE),),
        (HOSTILE,),
        HOSTILE,
        replace(MEMORY, name=HOSTILE, unit=HOSTILE),
        (replace(PHASES[0], name=HOSTILE),),
        tuple(events),
        (LineCost(Place("x.py", 1), 5.0, {HOSTILE: 5.0}),),
        {
            "root": str(tmp_path),
            "argv": [HOSTILE],
            "versions": {"tensorflow": HOSTILE},
            "machine": {HOSTILE: HOSTILE},
        },
    )


# -- what it shows -------------------------------------------------------------------------------------------


def test_the_page_shows_loops_causes_and_the_whole_run(report: Report) -> None:
    page = Page(render(replace(report, trials=(TRIAL,), diff="--- a\n+++ b\n-x\n+y\n"), "html"))
    for part in ("train.py:6", "made-up", "8.00 s of 12.0 s (67%)", "trace 73%", "step time grows", "10.9x", "+y"):
        assert part in page.text
    assert any("Time per step of the loop at train.py:5, over 101 steps" in told for told in page.pictures)
    assert any("memory over" in told for told in page.pictures)


def test_the_steps_have_epochs_and_traces_marked_on_them(report: Report) -> None:
    text = render(report, "html")
    chart = text[text.index("<svg") : text.index("</svg>")]
    assert re.findall(r"epoch \d", chart) == ["epoch 1", "epoch 2", "epoch 3"]
    assert chart.count('class="epoch"') == 3
    assert "54 traces" in chart
    (marks,) = re.findall(r'class="mark" d="([^"]*)"', chart.partition("54 traces")[2].partition("<text")[0])
    assert 50 <= marks.count("M") <= 54
    assert 'class="line memory"' in chart
    page = Page(text).text
    assert "Epochs took 4.00 s, 4.00 s, 3.00 s." in page
    assert "epoch 2 is odd" in page


@pytest.mark.parametrize(
    ("kind", "times", "corners"),
    [("degrading", [0.1 + n / 200 for n in range(100)], 2), ("slowed", [0.1] * 50 + [0.2] * 50, 4)],
)
def test_a_loop_that_got_slower_has_the_line_or_the_levels_drawn(
    report: Report, kind: str, times: list[float], corners: int
) -> None:
    summary = LoopSummary(loop(5, 7, times, path="train.py"), 0.1, {})
    text = render(replace(report, loops=(summary,), symptoms=(replace(SLOWING, kind=kind),)), "html")
    (drawn,) = re.findall(r'<polyline class="line alarm" points="([^"]*)"', text)
    assert len(drawn.split()) == corners
    assert 'class="line alarm"' not in render(replace(report, loops=(summary,), symptoms=()), "html")


def test_many_epochs_are_drawn_without_names_and_summed_up(report: Report) -> None:
    many = Series("epoch", "seconds", tuple(map(float, range(0, 100, 4))), (2.0, 3.0, *[1.0] * 23))
    text = render(replace(report, loops=(replace(report.loops[0], epochs=many),)), "html")
    assert "Epochs took 1.00 s to 3.00 s, half of them up to 1.00 s." in text
    assert text.count('class="epoch"') == 25
    assert "epoch 7" not in text


def test_the_source_has_costs_in_its_margin_and_leads_to_the_causes(report: Report) -> None:
    text = render(report, "html")
    listing = text[text.index('<table class="source">') :]
    row = next(row for row in listing.split("<tr") if "tf.function(model)" in row)
    assert "8.00 s" in row
    assert 'aria-label="trace 6.00 s, compute 2.00 s"' in row
    assert 'href="#cause-0"' in row
    assert text.count('id="cause-0"') == 1


def test_traces_say_why_and_how_often(report: Report) -> None:
    words = " ".join(Page(render(report, "html")).text.split())
    assert "a Python value changed: lr, 0.1 → 0.2" in words
    assert "on every call" in words


def test_pipelines_show_their_stages_from_the_source_on(report: Report) -> None:
    text = render(report, "html")
    (shown,) = re.findall(r"<h2>Input pipelines</h2>(.*?)</section>", text, re.DOTALL)
    page = Page(re.sub(r"(</t[dh]>)", r" \1", shown)).text
    assert "12 elements read, 3.75 s waited for" in page
    assert page.index("Range 120 1.00 s") < page.index("ParallelMap 12 3.00 s")
    assert "250 ms 4 7" in page
    assert "As written: Range (train.py:2) → Map (train.py:3)" in page
    assert "Python inside: load train.py:1 120 calls, 2.50 s" in page
    assert "Root" not in page


def test_a_warm_up_step_does_not_hide_the_others_in_the_chart() -> None:
    run = loop(5, 7, [50.0] + [0.1] * 100)
    text = render(Report("run", loops=(LoopSummary(run, 0.1, {}),)), "html")
    assert "1 step above the chart, up to 50.0 s." in text
    assert "100 ms" in text.partition("<svg")[2]


def test_a_million_steps_are_drawn_with_a_few_hundred_points(report: Report) -> None:
    steps = 1_000_000
    series = Series("step", "s", tuple(map(float, range(steps))), tuple(0.001 + n % 7 * 1e-4 for n in range(steps)))
    clock = replace(series, values=tuple(n * 1e-3 for n in range(steps)))
    many = replace(RUN, steps=steps, seconds=1000.0, step_seconds=series, clock=clock)
    text = render(replace(report, loops=(LoopSummary(many, 0.001, {}),)), "html")
    assert "over 1,000,000 steps" in text
    assert len(re.findall(r'data-x="([^"]*)"', text)[0].split()) <= MOST
    assert len(text) < 300_000


@pytest.mark.parametrize(
    ("low", "high", "expected"),
    [(0.0, 1.0, [0, 0.5, 1]), (3e8, 5e8, [3e8, 4e8, 5e8]), (0.0, 0.0, [0]), (0, 99, [0, 50])],
)
def test_ticks_are_round_numbers(low: float, high: float, expected: list[float]) -> None:
    assert ticks(low, high, most=3) == pytest.approx(expected)


@pytest.mark.parametrize("values", [(), (1.0,), (0.0, 0.0), (math.nan, math.inf), (math.nan, 1.0, 2.0, math.inf)])
def test_odd_series_make_no_odd_numbers_on_the_page(values: tuple[float, ...], report: Report) -> None:
    odd = Series("x", "s", tuple(map(float, range(len(values)))), values)
    run = replace(RUN, steps=len(values), step_seconds=odd, clock=odd)
    text = render(replace(report, loops=(LoopSummary(run, 0.0, {}),), memory=odd, phases=(odd,), symptoms=()), "html")
    assert not re.search(r'[" ](nan|inf)\b', text)


def test_every_color_stands_out_from_its_ground_in_both_schemes() -> None:
    style = (Path(html.__file__).with_name("page.css")).read_text(encoding="utf-8")
    light, dark = (dict(re.findall(r"--(\w+): (#\w{6})", part)) for part in style.split("@media screen")[:2])
    for scheme in (light, light | dark):
        assert (
            min(_contrast(scheme[name], scheme["card"]) for name in ("ink", "soft", "accent", "alarm", "good")) >= 4.5
        )
        assert _contrast(scheme["soft"], scheme["page"]) >= 4.5
        drawn = (*phrases.PHASES, "steps", "memory", "other")
        assert min(_contrast(scheme[name], scheme["card"]) for name in drawn) >= 3  # what WCAG asks of graphics


def _contrast(one: str, other: str) -> float:
    """The ratio of luminances, as WCAG 2 defines it."""
    levels = []
    for color in (one, other):
        parts = [int(color[at : at + 2], 16) / 255 for at in (1, 3, 5)]
        red, green, blue = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
        levels.append(0.2126 * red + 0.7152 * green + 0.0722 * blue + 0.05)
    return max(levels) / min(levels)


@pytest.mark.parametrize("path", sorted(RULES.glob("*/*.json.gz")), ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_the_recording_of_every_specimen_has_a_page_and_fits_a_terminal(path: Path) -> None:
    report = diagnose_recording(Recording.load(path))
    page = Page(render(report, "html"))
    assert set(page.tags) <= set(TAGS.split())
    assert len([told for told in page.pictures if told.startswith("Time per step")]) == len(report.loops) > 0
    assert max(map(len, render(report, "terminal", width=80).splitlines())) <= 80


# -- what it must not do -------------------------------------------------------------------------------------


def test_hostile_text_is_inert_on_the_page(hostile: Report, report: Report) -> None:
    text = render(hostile, "html")
    page = Page(text)
    assert set(page.tags) <= set(TAGS.split())
    assert not any(name.startswith("on") or name in ("src", "srcset", "formaction") for name in page.attributes)
    assert page.tags.count("script") == 1
    assert page.scripts == Page(render(report, "html")).scripts
    assert page.text.count("<img src=x onerror=") >= 20
    assert "\u202e" not in text
    assert not re.search(r'href="(?!#cause-\d+")|url\(|@import', text)


# -- in a browser --------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def browser() -> str:
    found = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome", "chrome"))), None)
    if found is None and shutil.which("apt-get") and os.geteuid() == 0:  # a container; nobody else's machine is touched
        install = "apt-get update && apt-get install -y --no-install-recommends chromium"
        subprocess.run(install, shell=True, timeout=400, capture_output=True)
        found = shutil.which("chromium")
    if found is None:
        pytest.skip("no browser is to be had here: install chromium or google-chrome to try the page in one")
    return found


@pytest.fixture
def profile(tmp_path: Path) -> Iterator[Path]:
    yield tmp_path / "profile"
    shutil.rmtree(tmp_path / "profile", ignore_errors=True)


def shown(browser: str, profile: Path, page: Path, *options: str) -> str:
    """The document as the browser has it, after scripts ran; with what they complained of."""
    command = [browser, "--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={profile}", *options]
    done = subprocess.run([*command, page.as_uri()], capture_output=True, text=True, timeout=110)
    assert done.returncode == 0, done.stderr
    return done.stdout + "\n".join(line for line in done.stderr.splitlines() if "CONSOLE" in line)


def test_a_browser_draws_the_charts_and_runs_no_script_but_ours(
    hostile: Report, browser: str, profile: Path, tmp_path: Path
) -> None:
    (tmp_path / "page.html").write_text(render(hostile, "html"), encoding="utf-8")
    document = shown(browser, profile, tmp_path / "page.html", "--dump-dom", "--enable-logging=stderr")
    page = Page(document)
    assert document.count('<svg class="chart"') == 2
    assert document.count('class="tip"') == 2  # our own script ran: it gave each chart a place for its words
    assert "CONSOLE" not in document
    assert page.tags.count("script") == 1
    assert "img" not in page.tags
    assert re.findall(r"<title>([^<]*)", document)[0].startswith("hotloop run ")


def test_a_browser_shows_it_light_and_dark(report: Report, browser: str, profile: Path, tmp_path: Path) -> None:
    (tmp_path / "page.html").write_text(render(report, "html"), encoding="utf-8")
    size = "--window-size=800,600"
    for scheme in ("1", "0"):
        picture = f"--screenshot={tmp_path / scheme}.png"
        shown(
            browser, profile, tmp_path / "page.html", picture, size, f"--blink-settings=preferredColorScheme={scheme}"
        )
    light, dark = (_brightness(tmp_path / f"{scheme}.png") for scheme in ("1", "0"))
    assert light > 200
    assert dark < 60


def _brightness(path: Path) -> float:
    from PIL import Image, ImageStat

    with Image.open(path) as image:
        return float(ImageStat.Stat(image.convert("L")).mean[0])
