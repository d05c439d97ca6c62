// Shows what `page_data` says. Every text of the study is set as text, never as HTML.
"use strict";
const COLORS = ["#0072b2", "#e69f00", "#009e73", "#d55e00", "#cc79a7", "#56b4e9", "#b8a800", "#888888"];
// Steps between evaluations: whole numbers.
const WHOLE = [0, 1, 2, 3, 4, 5].flatMap((e) => [1, 2, 5].map((k) => k * 10 ** e));
const byId = (id) => document.getElementById(id);
const css = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
const percent = (part) => (100 * part).toFixed(1) + " %";
// Names often differ at their ends.
const short = (text, most = 22) => (text.length > most ? text.slice(0, Math.ceil(most / 2) - 1) + "…" + text.slice(-Math.floor(most / 2)) : text);
const brief = (value) => {
  if (!Number.isFinite(value)) return String(value);
  const size = Math.abs(value);
  return size !== 0 && (size >= 1e5 || size < 1e-3) ? value.toExponential(2) : String(Number(value.toPrecision(4)));
};

function make(tag, attributes = {}, ...children) {
  const svg = ["svg", "g", "line", "path", "circle", "rect", "text", "title", "polyline"].includes(tag);
  const node = svg ? document.createElementNS("http://www.w3.org/2000/svg", tag) : document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
  node.append(...children.map((child) => (child instanceof Node ? child : String(child))));
  return node;
}

// Each picture is drawn for the width it has, so that its letters keep their size.
function picture(id, view, draw) {
  const place = typeof id === "string" ? byId(id) : id;
  place.replaceChildren();
  if (!view || view.note !== undefined) {
    place.append(make("p", { class: "note" }, view ? view.note : "being computed ..."));
    return;
  }
  draw(place, Math.max(280, place.clientWidth), view);
}

function ticks(low, high, count = 5) {
  const raw = (high - low) / count || 1;
  const power = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 5, 10].map((k) => k * power).find((k) => k >= raw);
  const found = [];
  for (let t = Math.ceil(low / step) * step; t <= high + step * 1e-9; t += step) found.push(Math.abs(t) < step * 1e-9 ? 0 : t);
  return found;
}

function logTicks(low, high) {
  const found = [];
  for (let e = Math.ceil(Math.log10(low) - 1e-9); e <= Math.log10(high) + 1e-9; e++) found.push(10 ** e);
  const every = Math.ceil(found.length / 6);
  return found.length > 1 ? found.filter((_, i) => i % every === 0) : [low, high];
}

// A variable's axis from pixel a to b: position, ticks as [value, text].
function variableAxis(axis, a, b) {
  const k = axis.labels.length;
  const [low, high] = k ? [-0.5, k - 0.5] : [axis.low, axis.high];
  const part = axis.log ? (x) => Math.log(x / low) / Math.log(high / low) : (x) => (x - low) / (high - low);
  const marks = k ? axis.labels.map((text, i) => [i, short(text, 10)])
    : (axis.log ? logTicks(low, high) : ticks(low, high, 4)).map((t) => [t, brief(t)]);
  return { at: (x) => a + (b - a) * part(x), marks, cell: k ? (b - a) / k : 0 };
}

function numberAxis(values, a, b) {
  let low = Math.min(...values), high = Math.max(...values);
  if (!(high > low)) { low -= 0.5; high += 0.5; }
  const pad = 0.05 * (high - low);
  low -= pad; high += pad;
  return { at: (y) => a + ((b - a) * (y - low)) / (high - low), marks: ticks(low, high, 4).map((t) => [t, brief(t)]) };
}

function frame(svg, x, y, left, right, top, bottom, xTitle) {
  for (const [value, text] of x.marks) {
    svg.append(make("line", { x1: x.at(value), x2: x.at(value), y1: top, y2: bottom, class: "axis" }));
    svg.append(make("text", { x: x.at(value), y: bottom + 15, "text-anchor": "middle", class: "faint" }, text));
  }
  for (const [value, text] of y.marks) {
    svg.append(make("line", { x1: left, x2: right, y1: y.at(value), y2: y.at(value), class: "axis" }));
    svg.append(make("text", { x: left - 5, y: y.at(value) + 4, "text-anchor": "end", class: "faint" }, text));
  }
  svg.append(make("text", { x: (left + right) / 2, y: bottom + 31, "text-anchor": "middle" }, xTitle));
}

const canvas = (width, height, label) => make("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": label });
const joined = (points) => points.map(([x, y]) => `${x.toFixed(1)},${y.toFixed(1)}`).join(" ");

function lines(place, width, columns, series, xTitle, options = {}) {
  const axis = { stroke: css("--text"), grid: { stroke: css("--line"), width: 1 }, ticks: { stroke: css("--line"), width: 1 } };
  const values = (_, splits) => splits.map((s) => (s === null ? "" : brief(s)));
  new uPlot({
    width, height: 300, legend: { live: true }, scales: { x: { time: false } },
    axes: [{ ...axis, label: xTitle, labelSize: 20, incrs: WHOLE }, { ...axis, size: 65, values }],
    series: [{ label: xTitle }, ...series.map((s) => ({ value: (_, v) => (v === null ? "–" : brief(v)), ...s }))],
    ...options,
  }, columns, place);
}

function showConvergence(place, width, view) {
  const order = view.numbers.map((_, i) => i + 1);
  const failed = view.values.filter((value) => value === null).length;
  lines(place, width, [order, view.values, view.best], [
    { label: "value", stroke: css("--grey"), paths: () => null, points: { show: true, size: 5, fill: css("--grey") } },
    { label: "best so far", stroke: css("--blue"), width: 2, paths: uPlot.paths.stepped({ align: 1 }), points: { show: false } },
  ], "evaluations");
  if (failed) place.append(make("p", { class: "note" }, `${failed} failed: they have no value here.`));
}

function showOverTime(place, width, view) {
  lines(place, width, [view.at, ...view.scores], view.names.map((name, i) => (
    { label: short(name), stroke: COLORS[i % COLORS.length], width: 2, points: { show: view.at.length < 40, size: 6 } })), "evaluations");
  place.append(make("p", { class: "note" }, `The ${view.unit}, as the search saw it then.`));
}

// Room for the longest name, but not for any.
const gutter = (names, width) => Math.min(190, 0.38 * width, 30 + 8 * Math.max(...names.map((name) => name.length)));

function showImportance(place, width, view) {
  const left = gutter(view.rows.map((r) => r.name), width), right = width - 15, row = 19, top = 5;
  const bottom = top + row * view.rows.length;
  const most = Math.min(1, Math.max(0.01, ...view.rows.map((r) => r.high)));
  const at = (share) => left + ((right - left) * Math.min(share, most)) / most;
  const svg = canvas(width, bottom + 38, "importance of the leading variables");
  frame(svg, { at, marks: ticks(0, most).map((t) => [t, brief(t)]) }, { at: () => 0, marks: [] }, left, right, top, bottom, "share of the variation");
  view.rows.forEach((r, i) => {
    const y = top + row * (i + 0.5), color = r.important ? css("--blue") : css("--grey");
    const says = `${r.name}: ${percent(r.share)}, 90 % interval ${percent(r.low)} to ${percent(r.high)}`;
    svg.append(make("g", {}, make("title", {}, says),
      make("rect", { x: 0, y: y - row / 2, width, height: row, fill: "transparent" }),
      make("text", { x: left - 6, y: y + 4, "text-anchor": "end" }, short(r.name, Math.floor(left / 8)) + (r.selected ? " *" : "")),
      make("line", { x1: at(r.low), x2: at(r.high), y1: y, y2: y, stroke: color, "stroke-width": 3 }),
      make("circle", { cx: at(r.share), cy: y, r: 4.5, fill: color })));
  });
  place.append(svg, make("p", { class: "note" }, `* ${view.mark}; grey: no effect is shown yet.`));
}

function showSelected(place, width, view) {
  const left = gutter(view.names, width), right = width - 10, row = 17, top = 5, bottom = top + row * view.names.length;
  const first = view.at[0], last = view.at[view.at.length - 1];
  const at = (n) => left + ((right - left) * (n - first)) / (last - first);
  const svg = canvas(width, bottom + 38, view.title), gap = view.at.length < 40 ? 0.5 : 0;
  byId("selected-title").textContent = view.title;
  frame(svg, { at, marks: ticks(first, last, width / 90).map((t) => [t, brief(t)]) }, { at: () => 0, marks: [] }, left, right, top, bottom, "evaluations");
  view.names.forEach((name, i) => {
    svg.append(make("text", { x: left - 6, y: top + row * (i + 0.5) + 4, "text-anchor": "end" }, short(name, Math.floor(left / 8))));
    // Neighbours that are alike are one box.
    const cells = view.cells[i];
    for (let k = 0, end; k < cells.length; k = end) {
      for (end = k + 1; !gap && end < cells.length && cells[end] === cells[k];) end++;
      if (!cells[k]) continue;
      const x = at(view.at[k]);
      svg.append(make("rect", { x: x + gap, y: top + row * i + 1, width: Math.max(0.5, at(view.at[end]) - x - 2 * gap), height: row - 2, fill: css("--blue"), opacity: 0.15 + 0.85 * cells[k] },
        make("title", {}, `${name}: evaluations ${view.at[k]} to ${view.at[end]}` + (cells[k] < 1 ? `, in ${percent(cells[k])} of the fits` : ""))));
    }
  });
  place.append(svg, make("p", { class: "note" }, view.says + (view.hidden ? ` ${view.hidden} more were chosen less often.` : "")));
}

function showSlice(place, width, view) {
  const left = 55, right = width - 10, top = 8, bottom = 180;
  const x = variableAxis(view.axis, left, right);
  const y = numberAxis([...view.low, ...view.high, ...view.points.map((p) => p[1])], bottom, top);
  const svg = canvas(width, 218, `the model along ${view.axis.name}`);
  frame(svg, x, y, left, right, top, bottom, short(view.axis.name, 40));
  const along = (heights) => view.x.map((v, i) => [x.at(v), y.at(heights[i])]);
  for (const [px, py] of view.points) svg.append(make("circle", { cx: x.at(px), cy: y.at(py), r: 2.2, fill: css("--grey"), opacity: 0.7 }));
  if (view.axis.labels.length) {
    view.x.forEach((v, i) => svg.append(
      make("line", { x1: x.at(v), x2: x.at(v), y1: y.at(view.low[i]), y2: y.at(view.high[i]), stroke: css("--blue"), "stroke-width": 2 }),
      make("rect", { x: x.at(v) - 4, y: y.at(view.mean[i]) - 4, width: 8, height: 8, fill: css("--blue") })));
  } else {
    svg.append(make("path", { d: `M${joined(along(view.low))} L${joined(along(view.high).reverse())} Z`, fill: css("--blue"), opacity: 0.22 }));
    svg.append(make("polyline", { points: joined(along(view.mean)), fill: "none", stroke: css("--blue"), "stroke-width": 2 }));
  }
  svg.append(make("circle", { cx: x.at(view.best[0]), cy: y.at(view.best[1]), r: 5, fill: css("--red") }, make("title", {}, `best: ${brief(view.best[1])}`)));
  place.append(svg);
}

// Viridis, at five places.
const VIRIDIS = [[68, 1, 84], [59, 82, 139], [33, 145, 140], [94, 201, 98], [253, 231, 37]];
function viridis(part) {
  const p = 4 * Math.min(1, Math.max(0, part)), i = Math.min(3, Math.floor(p));
  return `rgb(${VIRIDIS[i].map((c, k) => Math.round(c + (p - i) * (VIRIDIS[i + 1][k] - c))).join(",")})`;
}

function showContour(place, width, view) {
  const left = 60, right = width - 10, top = 8, bottom = 300;
  const x = variableAxis(view.first, left, right), y = variableAxis(view.second, bottom, top);
  const svg = canvas(width, 340, "the model over the two leading variables");
  const edges = (axis, values, a, b) => {
    const at = values.map(axis.at);
    const between = at.slice(1).map((p, i) => (p + at[i]) / 2);
    return axis.cell ? [...at.map((p) => p - axis.cell / 2), b] : [a, ...between, b];
  };
  const xs = edges(x, view.x, left, right), ys = edges(y, view.y, bottom, top);
  const all = view.mean.flat(), low = Math.min(...all), high = Math.max(...all);
  view.mean.forEach((row, j) => row.forEach((value, i) => svg.append(make("rect", {
    x: xs[i], y: ys[j + 1], width: xs[i + 1] - xs[i] + 0.4, height: ys[j] - ys[j + 1] + 0.4, fill: viridis((value - low) / (high - low || 1)), "shape-rendering": "crispEdges" },
    make("title", {}, brief(value))))));
  frame(svg, { ...x, marks: [] }, { ...y, marks: [] }, left, right, top, bottom, "");
  for (const [value, text] of x.marks) svg.append(make("text", { x: x.at(value), y: bottom + 15, "text-anchor": "middle", class: "faint" }, text));
  for (const [value, text] of y.marks) svg.append(make("text", { x: left - 5, y: y.at(value) + 4, "text-anchor": "end", class: "faint" }, text));
  for (const [px, py, value] of view.points) svg.append(make("circle", { cx: x.at(px), cy: y.at(py), r: 3, fill: "#fff", stroke: "#000" }, make("title", {}, brief(value))));
  svg.append(make("circle", { cx: x.at(view.best[0]), cy: y.at(view.best[1]), r: 6, fill: "#d55e00", stroke: "#fff" }, make("title", {}, "best")));
  svg.append(make("text", { x: (left + right) / 2, y: bottom + 32, "text-anchor": "middle" }, short(view.first.name, 40)));
  place.append(svg, make("p", { class: "note" }, `Up: ${view.second.name}. Dark ${brief(low)}, bright ${brief(high)}.`));
}

function showPredictions(place, width, view) {
  const left = 60, right = width - 10, top = 8, bottom = 300;
  const x = numberAxis(view.observed, left, right);
  const y = numberAxis(view.predicted.flatMap((p, i) => [p - view.half[i], p + view.half[i]]), bottom, top);
  const svg = canvas(width, 340, "predicted against observed values");
  frame(svg, x, y, left, right, top, bottom, "observed");
  const [a, b] = [Math.min(...view.observed), Math.max(...view.observed)];
  svg.append(make("line", { x1: x.at(a), y1: y.at(a), x2: x.at(b), y2: y.at(b), stroke: css("--grey") }));
  view.observed.forEach((o, i) => svg.append(make("g", {}, make("title", {}, `trial ${view.trials[i]}: observed ${brief(o)}, predicted ${brief(view.predicted[i])}`),
    make("line", { x1: x.at(o), x2: x.at(o), y1: y.at(view.predicted[i] - view.half[i]), y2: y.at(view.predicted[i] + view.half[i]), stroke: css("--blue"), opacity: 0.5 }),
    make("circle", { cx: x.at(o), cy: y.at(view.predicted[i]), r: 3, fill: css("--blue") }))));
  place.append(svg, make("p", { class: "note" }, `R² = ${view.r2.toFixed(2)}; ${(100 * view.coverage).toFixed(0)} % lie within their 90 % interval.`));
}

function showParallel(place, width, view) {
  const left = 45, right = width - 45, top = 28, bottom = 250, k = view.axes.length;
  const at = (i) => (k > 1 ? left + ((right - left) * i) / (k - 1) : (left + right) / 2);
  const svg = canvas(width, 305, "the best trials along the leading variables");
  const span = Math.abs(view.values[view.values.length - 1] - view.values[0]) || 1;
  view.axes.forEach((axis, i) => {
    svg.append(make("line", { x1: at(i), x2: at(i), y1: top, y2: bottom, class: "axis" }));
    const n = axis.labels.length;
    const marks = n ? axis.labels.map((text, j) => [(j + 0.5) / n, text]) : [[-0.06, brief(axis.low)], [1.03, brief(axis.high)]];
    for (const [p, text] of marks) svg.append(make("text", { x: at(i), y: bottom - (bottom - top) * p + (n ? 4 : 0), "text-anchor": "middle", class: "faint" }, short(text, 9)));
    svg.append(make("text", { x: at(i), y: bottom + 35 + 14 * (i % 2), "text-anchor": "middle" }, short(axis.name, Math.max(5, Math.floor(width / k / 4.2)))));
  });
  view.positions.forEach((row, i) => {
    const last = i === view.positions.length - 1;
    svg.append(make("polyline", { points: joined(row.map((p, j) => [at(j), bottom - (bottom - top) * p])), fill: "none", stroke: last ? css("--red") : css("--blue"),
      opacity: last ? 1 : 0.2 + (0.6 * Math.abs(view.values[i] - view.values[0])) / span, "stroke-width": last ? 3 : 1.3 },
      make("title", {}, `trial ${view.numbers[i]}: ${brief(view.values[i])}`)));
  });
  place.append(svg);
}

// ------------------------------------------------------------------------------------------------------- the table

const COLUMNS = [
  ["rank", "rank", (r) => r.rank, String], ["variable", "name", (r) => r.name, String], ["share", "share", (r) => r.share, percent],
  ["90 % interval", "high", (r) => r.high, (_, r) => `${percent(r.low)} – ${percent(r.high)}`],
  ["effect", "probability", (r) => r.probability, percent], ["near the best", "local", (r) => r.local_share, percent],
  ["direction", "direction", (r) => (r.important ? r.direction : ""), String],
  ["chosen", "times", (r) => r.times_selected, (n, r) => `${n}×` + (r.selected ? " *" : "")],
  ["best value", "best", (r) => r.best, (v) => (v === null ? "" : String(v))], ["range", "range", (r) => r.range, String],
];
const TEXT = ["name", "direction", "best", "range"];
const table = { rows: [], by: "rank", up: true, everything: false };

function showTable() {
  const word = byId("search").value.trim().toLowerCase();
  const column = COLUMNS.find(([, key]) => key === table.by);
  const found = table.rows.filter((r) => r.name.toLowerCase().includes(word));
  found.sort((p, q) => {
    const [a, b] = [column[2](p), column[2](q)];
    const order = typeof a === "number" && typeof b === "number" ? a - b : String(a).localeCompare(String(b), undefined, { numeric: true });
    return (table.up ? order : -order) || p.rank - q.rank;
  });
  const shown = table.everything ? found : found.slice(0, 20);
  const head = make("tr", {}, ...COLUMNS.map(([title, key]) => {
    const button = make("button", { type: "button" }, title + (key === table.by ? (table.up ? " ▲" : " ▼") : ""));
    button.addEventListener("click", () => {
      Object.assign(table, { up: key === table.by ? !table.up : TEXT.includes(key) || key === "rank", by: key });
      showTable();
    });
    return make("th", { "aria-sort": key === table.by ? (table.up ? "ascending" : "descending") : "none" }, button);
  }));
  const body = shown.map((r) => make("tr", {}, ...COLUMNS.map(([, key, get, show]) =>
    make("td", { class: key === "name" ? "name" : TEXT.includes(key) ? "value" : "" }, show(get(r), r)))));
  byId("variables").replaceChildren(make("thead", {}, head), make("tbody", {}, ...body));
  byId("count").textContent = `${shown.length} of ${found.length}` + (table.of > table.rows.length ? ` (the leading ones of ${table.of}; vsbo report has all)` : "");
  byId("more").hidden = found.length <= 20;
  byId("more").textContent = table.everything ? "show 20" : "show all";
}

// --------------------------------------------------------------------------------------------------------- all of it

let current = null;
function render(data) {
  current = data;
  document.title = `${data.study} · vsbo`;
  byId("title").textContent = data.study;
  byId("summary").textContent = data.summary;
  picture("convergence", data.convergence, showConvergence);
  picture("importance", data.importance, showImportance);
  picture("over_time", data.over_time, showOverTime);
  picture("selected", data.selected, showSelected);
  picture("contour", data.contour, showContour);
  picture("predictions", data.predictions, showPredictions);
  picture("parallel", data.parallel, showParallel);
  if (Array.isArray(data.slices)) {
    byId("slices").replaceChildren(...data.slices.map(() => make("div")));
    data.slices.forEach((view, i) => picture(byId("slices").children[i], view, showSlice));
  } else picture("slices", data.slices, () => {});
  byId("story").replaceChildren(...data.story.map((text) => make("li", {}, text)));
  byId("seconds").textContent = data.seconds;
  const best = byId("best");
  best.replaceChildren();
  if (data.best.note !== undefined) best.append(make("p", { class: "note" }, data.best.note));
  else {
    best.append(make("p", { class: "value-best", id: "best-value" }, data.best.value), make("p", {}, `trial ${data.best.number}, ${data.best.origin}`));
    best.append(make("table", {}, ...data.best.point.map(([name, value, range]) => make("tr", {}, make("td", { class: "name" }, name), make("td", { class: "value" }, value), make("td", {}, range)))));
    if (data.best.more) best.append(make("p", { class: "note" }, `${data.best.more} more variables are in the table below.`));
  }
  Object.assign(table, { rows: data.variables, of: data.of });
  showTable();
  const failures = byId("failures");
  failures.replaceChildren(data.failures.length ? make("table", {}, ...data.failures.map(([number, why]) => make("tr", {}, make("td", {}, `trial ${number}`), make("td", { class: "value" }, why)))) : make("p", { class: "note" }, "None."));
  byId("repeat").replaceChildren(...data.repeat.flatMap(([title, text]) => [make("p", {}, title), make("pre", {}, text)]));
}

byId("search").addEventListener("input", showTable);
byId("more").addEventListener("click", () => { table.everything = !table.everything; showTable(); });
const again = () => { if (current) render(current); };
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", again);
let width = innerWidth, waiting = 0;
addEventListener("resize", () => { clearTimeout(waiting); waiting = setTimeout(() => { if (innerWidth !== width) { width = innerWidth; again(); } }, 150); });

if (byId("data")) render(JSON.parse(byId("data").textContent));
else {
  // Live: the server sends the whole view whenever it has changed.
  let source = null;
  const listen = (study) => {
    if (source) source.close();
    source = new EventSource("events" + (study === null ? "" : "?study=" + encodeURIComponent(study)));
    source.addEventListener("study", (event) => {
      const data = JSON.parse(event.data);
      const chooser = byId("studies");
      byId("chooser").hidden = data.studies.length < 2;
      chooser.replaceChildren(...data.studies.map((name) => make("option", { value: name, ...(name === data.study ? { selected: "" } : {}) }, name)));
      render(data);
      byId("status").textContent = data.status;
    });
    source.addEventListener("trouble", (event) => { byId("status").textContent = JSON.parse(event.data); });
    source.onerror = () => { byId("status").textContent = "The server does not answer; this is what it said last."; };
  };
  byId("studies").addEventListener("change", (event) => listen(event.target.value));
  listen(null);
}
