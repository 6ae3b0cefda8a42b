"""What the HTML page is made of besides its content: its style and the few lines that draw its charts."""

from __future__ import annotations

# Nothing may be loaded: the page is one file, and what it shows came from someone's program.
POLICY = "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data: blob:"

STYLE = """
:root { color-scheme: light dark; --page: #f6f6f3; --card: #ffffff; --ink: #1d1f23; --soft: #666b75;
  --line: #e3e3dd; --accent: #c2410c; --alarm: #b91c1c; --good: #15803d; --code: #f1f1ec; --mark: #fff1d6;
  --series: #1d6fa5; --setup: #c2410c; --trace: #a21caf; --input: #ca8a04; --compute: #15803d; --fetch:
  #0e7490; --library: #4f6d9a; --python: #94a3b8; --other: #888888; }
@media (prefers-color-scheme: dark) { :root { --page: #15171b; --card: #1d2026; --ink: #e8e8e3; --soft:
  #9aa0ab; --line: #30343c; --accent: #fb923c; --alarm: #f87171; --good: #4ade80; --code: #16181c; --mark:
  #3a2f1a; --series: #5fb3e6; --setup: #f0783c; --trace: #d65fe0; --input: #eab308; --compute: #3fbf6b;
  --fetch: #2bb3cc; --library: #7d9fd0; --python: #64748b; } }
* { box-sizing: border-box; }
body { margin: 0; background: var(--page); color: var(--ink); font: 16px/1.5 system-ui, sans-serif; }
main { max-width: 62rem; margin: 0 auto; padding: 2.5rem 1.25rem 4rem; }
h1 { font-size: 1.5rem; margin: 0; overflow-wrap: anywhere; }
h2 { font-size: .8rem; letter-spacing: .08em; text-transform: uppercase; color: var(--soft); margin:
  2.5rem 0 .75rem; }
h3 { font-size: 1.05rem; margin: 0; overflow-wrap: anywhere; }
code, pre, h1, .place { font-family: ui-monospace, SFMono-Regular, Menlo, Consolas, monospace; }
h3 code { font-weight: 400; color: var(--soft); font-size: .9rem; }
.soft { color: var(--soft); margin: .25rem 0 0; }
.verdict { font-size: 1.2rem; font-weight: 600; margin: 1.25rem 0 0; }
.card { background: var(--card); border: 1px solid var(--line); border-radius: 10px; padding: 1.1rem
  1.25rem; margin: 0 0 1rem; }
.card p { margin: .5rem 0; overflow-wrap: anywhere; }
.symptom { color: var(--alarm); font-weight: 600; }
.rule { color: var(--accent); }
.chip { font: 600 .72rem system-ui, sans-serif; border: 1px solid var(--line); border-radius: 99px;
  padding: .1rem .55rem; color: var(--soft); vertical-align: middle; }
.bar { display: flex; height: .8rem; border-radius: 4px; overflow: hidden; background: var(--line);
  margin: .75rem 0 .4rem; }
.bar i, .legend i { background: var(--other); }
.legend { display: flex; flex-wrap: wrap; gap: .2rem 1.1rem; font-size: .85rem; color: var(--soft);
  padding: 0; margin: 0; list-style: none; }
.legend i { display: inline-block; width: .7rem; height: .7rem; border-radius: 2px; margin-right: .4rem; }
i.setup { background: var(--setup); }
i.trace { background: var(--trace); }
i.input { background: var(--input); }
i.compute { background: var(--compute); }
i.fetch { background: var(--fetch); }
i.library { background: var(--library); }
i.python { background: var(--python); }
i.cost { background: var(--accent); }
.chart { height: 260px; margin: .5rem -.5rem 0; }
pre { background: var(--code); border-radius: 8px; padding: .7rem .9rem; overflow-x: auto; font-size:
  .84rem; line-height: 1.45; margin: .75rem 0; }
pre mark { background: var(--mark); color: inherit; display: inline-block; min-width: 100%; }
pre .add { color: var(--good); }
pre .del { color: var(--alarm); }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .25rem 1rem; margin: .5rem 0 0;
  font-size: .92rem; }
dt { color: var(--soft); }
dd { margin: 0; overflow-wrap: anywhere; }
table { border-collapse: collapse; width: 100%; font-size: .92rem; }
th { text-align: left; color: var(--soft); font-weight: 500; }
th, td { padding: .35rem .75rem .35rem 0; border-bottom: 1px solid var(--line); }
footer { color: var(--soft); font-size: .85rem; margin-top: 3rem; overflow-wrap: anywhere; }
"""

# The charts' colors are the page's own, read when drawn and again when the reader's scheme changes.
SCRIPT = """
(function () {
  var charts = JSON.parse(document.getElementById("charts").textContent);
  function color(name) {
    return getComputedStyle(document.documentElement).getPropertyValue("--" + name).trim();
  }
  function axis(given) {
    var title = { text: given.title, standoff: 8, font: { color: color("soft"), size: 12 } };
    return Object.assign({ gridcolor: color("line"), linecolor: color("line"), zeroline: false,
      tickfont: { color: color("soft") }, automargin: true }, given, { title: title });
  }
  function draw() {
    charts.forEach(function (chart) {
      var traces = chart.traces.map(function (trace) {
        return Object.assign({}, trace, { line: Object.assign({}, trace.line, { color: color(trace.color) }),
          marker: Object.assign({}, trace.marker, { color: color(trace.color) }), color: undefined });
      });
      Plotly.react(chart.id, traces, { paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)",
        showlegend: false, margin: { l: 60, r: 16, t: 8, b: 44 }, font: { family: "system-ui, sans-serif" },
        hovermode: "closest", xaxis: axis(chart.x), yaxis: axis(chart.y) },
        { displayModeBar: false, responsive: true });
    });
  }
  draw();
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);
})();
"""
