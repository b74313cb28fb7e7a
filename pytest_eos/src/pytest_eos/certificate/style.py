"""The style sheet of a certificate's page: light, dark, on paper; without network."""

from __future__ import annotations

from typing import Final

STYLE: Final = """
:root { color-scheme: light dark; --ground: #ffffff; --ink: #1f2933; --muted: #52606d; --line: #d9e0e6;
  --panel: #f6f8fa; --code: #eef1f4; --held: #00664a; --held-ground: #e3f4ed; --broken: #9b2c00;
  --broken-ground: #fdeee3; --open: #5f4b00; --open-ground: #fbf3d3; }
@media (prefers-color-scheme: dark) { :root { --ground: #12171c; --ink: #e4e9ee; --muted: #a3b0bc; --line: #313b45;
  --panel: #1a2128; --code: #232c35; --held: #7fdcb8; --held-ground: #0f2f25; --broken: #ffb38a;
  --broken-ground: #3a1c0c; --open: #f2d675; --open-ground: #332b0c; } }
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 66rem; padding: 2rem 1.25rem 4rem; background: var(--ground); color: var(--ink);
  font: 16px/1.55 Inter, "Segoe UI", "Helvetica Neue", Helvetica, Arial, "DejaVu Sans", sans-serif; }
h1 { font-size: 1.7rem; line-height: 1.25; margin: 0 0 .25rem; overflow-wrap: anywhere; }
h2 { font-size: 1.2rem; margin: 2.4rem 0 .6rem; padding-top: .6rem; border-top: 1px solid var(--line); }
h3 { font-size: 1rem; margin: 1.4rem 0 .4rem; overflow-wrap: anywhere; }
p { margin: .4rem 0; max-width: 48rem; }
.muted { color: var(--muted); }
.verdict { margin: 1.2rem 0; padding: .9rem 1.1rem; border-left: .4rem solid; border-radius: .25rem; }
.verdict p { overflow-wrap: anywhere; }
.verdict strong { font-size: 1.15rem; }
.held { background: var(--held-ground); border-color: var(--held); color: var(--held); }
.broken { background: var(--broken-ground); border-color: var(--broken); color: var(--broken); }
.open { background: var(--open-ground); border-color: var(--open); color: var(--open); }
.verdict p + p { color: var(--ink); }
.scroll { overflow-x: auto; }
.scroll + .scroll { margin-top: 1.2rem; }
table { border-collapse: collapse; width: 100%; font-size: .92rem; }
th, td { text-align: left; vertical-align: top; padding: .35rem .9rem .35rem 0; border-bottom: 1px solid var(--line); }
th { color: var(--muted); font-weight: 600; }
td { overflow-wrap: anywhere; }
td.number, th.number { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
.facts th { width: 14rem; padding-right: 1.5rem; }
td:first-child { white-space: normal; min-width: 7.5rem; }
code, pre { font: .86em/1.45 ui-monospace, "Cascadia Mono", "DejaVu Sans Mono", Menlo, Consolas, monospace; }
code { background: var(--code); padding: .1em .3em; border-radius: .2rem; unicode-bidi: isolate;
  overflow-wrap: anywhere; }
pre { background: var(--panel); border: 1px solid var(--line); border-radius: .25rem; padding: .8rem 1rem;
  overflow-x: auto; white-space: pre-wrap; overflow-wrap: anywhere; }
pre.timeline { white-space: pre; overflow-wrap: normal; }
figure { margin: .8rem 0; padding: .4rem; border: 1px solid var(--line); border-radius: .25rem; overflow-x: auto;
  background: #ffffff; }
figure svg { display: block; width: 100%; min-width: 44rem; height: auto; }
@media (prefers-color-scheme: dark) { figure { background: #171717; }
  figure svg { filter: invert(.91) hue-rotate(180deg); } }
@media print { :root { color-scheme: light; --ground: #ffffff; --ink: #000000; --muted: #444444; --line: #bbbbbb;
  --panel: #ffffff; --code: #f1f1f1; --held: #00553e; --held-ground: #ffffff; --broken: #8a2700;
  --broken-ground: #ffffff; --open: #5f4b00; --open-ground: #ffffff; }
  body { max-width: none; padding: 0; font-size: 10.5pt; } h2 { break-after: avoid; }
  tr, figure, .verdict { break-inside: avoid; } figure { background: #ffffff; overflow: visible; }
  figure svg { filter: none; min-width: 0; } pre, pre.timeline { white-space: pre-wrap; } }
"""
