"""How the page looks: light or dark as the reader's system is, on a phone and on paper."""

STYLE = """
:root{color-scheme:light dark;--ground:#fff;--card:#f6f7f9;--ink:#1d2430;--quiet:#5a6472;--line:#d5dae1;
--accent:#1f6592;--plus:#0f6b2f;--plus-ground:#e3f5e8;--minus:#a3231b;--minus-ground:#fdeae8}
@media (prefers-color-scheme:dark){:root{--ground:#14181e;--card:#1d232b;--ink:#e4e8ee;--quiet:#a2adba;--line:#39424e;
--accent:#7db9e0;--plus:#7fd49a;--plus-ground:#15331f;--minus:#f3a29b;--minus-ground:#3f1d1b}}
*{box-sizing:border-box}
body{margin:0 auto;max-width:62em;padding:1.5em 1.2em 4em;background:var(--ground);color:var(--ink);
font:16px/1.5 system-ui,-apple-system,"Segoe UI",Roboto,"DejaVu Sans",sans-serif;overflow-wrap:anywhere}
h1{font-size:1.5em;line-height:1.25;margin:.2em 0}
h2{font-size:1.2em;margin:2.2em 0 .5em;padding-top:.5em;border-top:1px solid var(--line)}
h3{font-size:1em;margin:1.5em 0 .4em}
p{margin:.5em 0}
.verdict{font-size:1.15em;background:var(--card);border-left:4px solid var(--accent);padding:.7em 1em;margin:1em 0}
.quiet{color:var(--quiet);font-size:.9em}
.wide{overflow-x:auto}
.wide>table,.wide>svg{min-width:36em}
.wide td,.wide th{overflow-wrap:normal}
table{border-collapse:collapse;margin:.6em 0;width:100%}
th,td{border-bottom:1px solid var(--line);padding:.35em .7em .35em 0;text-align:left;vertical-align:top}
th{color:var(--quiet);font-weight:600;font-size:.9em}
td.number,th.number{text-align:right;padding-right:1.4em;white-space:nowrap;font-variant-numeric:tabular-nums}
svg{display:block;width:100%;height:auto;margin:.6em 0}
svg text{fill:var(--ink);font:13px system-ui,-apple-system,"Segoe UI",Roboto,"DejaVu Sans",sans-serif}
svg .quiet{fill:var(--quiet);font-size:12px}
svg .axis{stroke:var(--line);stroke-width:1}
svg .mark{stroke:var(--accent);stroke-width:2;fill:var(--ground)}
svg .kept{fill:var(--accent)}
svg .few{opacity:.4}
svg .way{stroke:var(--accent);stroke-width:1.5;fill:none;stroke-dasharray:4 3}
ul.tree,ul.tree ul{list-style:none;margin:0;padding-left:1.1em;border-left:1px solid var(--line)}
ul.tree{padding-left:0;border:0}
ul.tree li{margin:.3em 0}
.kept>.name{font-weight:600}
.score{font-variant-numeric:tabular-nums;white-space:nowrap}
details{margin:.4em 0}
summary{cursor:pointer;color:var(--accent)}
.diff{background:var(--card);border:1px solid var(--line);border-radius:4px;padding:.4em 0;
font:14px/1.5 ui-monospace,"DejaVu Sans Mono",Menlo,Consolas,monospace}
.diff div{padding:.05em .7em .05em 2.2em;text-indent:-1.5em}
.diff .sign{display:inline-block;width:1.5em;text-indent:0;white-space:pre}
.diff .added{background:var(--plus-ground);color:var(--plus)}
.diff .removed{background:var(--minus-ground);color:var(--minus)}
.diff .gap{color:var(--quiet)}
.demo{background:var(--card);border:1px solid var(--line);border-radius:4px;padding:.4em .8em;margin:.5em 0;
font-size:.92em}
.demo div{margin:.15em 0}
.answers{display:grid;grid-template-columns:1fr 1fr;gap:.8em;margin:.3em 0 1.2em}
.answers>div{background:var(--card);border:1px solid var(--line);border-radius:4px;padding:.4em .8em}
.answers p{margin:.1em 0}
@media (max-width:40em){.answers{grid-template-columns:1fr}body{padding:1em .9em 3em}}
@media print{.wide{overflow:visible}.wide>table,.wide>svg{min-width:0}
:root{--ground:#fff;--card:#fff;--ink:#000;--quiet:#444;--line:#999;--accent:#1f4f70;--plus:#0b5224;
--plus-ground:#eef8f1;--minus:#8c1d16;--minus-ground:#fdf1f0}body{max-width:none;font-size:10.5pt;padding:0}
h2,h3{break-after:avoid}.demo,.answers,svg,tr{break-inside:avoid}summary{color:inherit}
details:not(.more)::details-content{content-visibility:visible;block-size:auto}}
"""
