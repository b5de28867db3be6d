// Figures over the last day as charts. The agent sends what it has, then every new reading, while
// the tab is visible.
import { useEffect, useRef, useState } from "preact/hooks";
import uPlot from "uplot";
import { lines } from "./api.js";
import { html } from "./html.js";
import { dark } from "./theme.js";
import { bytes, stylesheet } from "./ui.js";

stylesheet(new URL("../vendor/uplot.css", import.meta.url));

const SPANS = { "1h": 3600, "6h": 21600, "24h": 86400 };
const HEIGHT = 130;
const rate = (value) => `${bytes(value)}/s`;
const clock = (time) => new Date(1000 * time).toLocaleTimeString(undefined, { hour: "2-digit", minute: "2-digit", hourCycle: "h23" });
/** Small values are rounded to the same text: it is written once. */
const once = (texts) => texts.map((text, index) => (text === texts[index - 1] ? "" : text));
const percent = (value) => `${value < 10 ? value.toFixed(1) : Math.round(value)} %`;

/** What a chart draws: a title, how a value is written, and its lines by column. */
const CHARTS = [
  { title: "CPU", write: percent, lines: [["CPU", "cpu_percent"]] },
  { title: "Memory", write: bytes, lines: [["memory", "memory_bytes"]] },
  { title: "Network", write: rate, lines: [["received", "network_received_bytes_per_second"], ["sent", "network_sent_bytes_per_second"]] },
  { title: "Disk access", write: rate, lines: [["read", "block_read_bytes_per_second"], ["written", "block_write_bytes_per_second"]] },
  { title: "Disk used", write: bytes, lines: [["used", "disk_used_bytes"]] },
];

const COLUMNS = CHARTS.flatMap((chart) => chart.lines.map(([, column]) => column));

/** What was kept with the new points after it; a point of a step that is known replaces it. */
function merge(old, added) {
  if (!old || added.time.length === 0) {
    return old || added;
  }
  const keep = old.time.filter((time) => time < added.time[0]).length;
  const merged = { ...old, time: [...old.time.slice(0, keep), ...added.time] };
  for (const column of COLUMNS) {
    merged[column] = [...old[column].slice(0, keep), ...added[column]];
  }
  return merged;
}

/** The figures of a path, as they come. */
function useHistory(path, onReading) {
  const [state, setState] = useState({ data: null, problem: "" });
  useEffect(() => {
    let abort = null;
    const follow = async (signal) => {
      setState((old) => ({ ...old, problem: "" }));
      let first = true;
      while (!signal.aborted) {
        try {
          for await (const view of lines("GET", path, { signal })) {
            const begin = first;
            first = false;
            setState((old) => ({ data: begin ? view : merge(old.data, view), problem: "" }));
            onReading?.();
          }
        } catch (problem) {
          if (signal.aborted) {
            return;
          }
          if (problem.status) {
            setState((old) => ({ ...old, problem: problem.message }));
            return;
          }
        }
        first = true;
        await new Promise((resolve) => setTimeout(resolve, 2000));
      }
    };
    const adapt = () => {
      const visible = document.visibilityState === "visible";
      if (visible && !abort) {
        abort = new AbortController();
        follow(abort.signal);
      } else if (!visible && abort) {
        abort.abort();
        abort = null;
      }
    };
    adapt();
    document.addEventListener("visibilitychange", adapt);
    return () => {
      document.removeEventListener("visibilitychange", adapt);
      abort?.abort();
    };
  }, [path]);
  return state;
}

const colour = (name) => {
  const probe = document.createElement("span");
  probe.className = name;
  document.body.append(probe);
  const value = getComputedStyle(probe).color;
  probe.remove();
  return value;
};

function Chart({ chart, data, span, theme }) {
  const box = useRef(null);
  const plot = useRef(null);
  const series = chart.lines.map(([, column]) => data[column] || []);
  const table = [data.time, ...series];
  useEffect(() => {
    const soft = colour("quiet");
    const axis = { stroke: soft, gap: 2, grid: { stroke: colour("rule"), width: 1 }, ticks: { show: false }, font: "12px system-ui" };
    plot.current = new uPlot({
      width: Math.max(200, box.current.clientWidth),
      height: HEIGHT,
      legend: { show: false },
      cursor: { y: false, points: { show: false } },
      scales: { y: { range: (_, __, most) => [0, most > 0 ? most * 1.1 : 1] } },
      padding: [8, 8, 0, 0],
      axes: [
        { ...axis, size: 24, space: 60, values: (_, ticks) => ticks.map((time) => clock(time)) },
        { ...axis, size: 64, values: (_, ticks) => once(ticks.map(chart.write)) },
      ],
      series: [{}, ...chart.lines.map(([label], index) => ({ label, stroke: colour(`c${index}`), width: 1.5, points: { show: table[0].length < 3, size: 5 } }))],
    }, table, box.current);
    const own = plot.current;
    const element = box.current;
    const watch = new ResizeObserver(() => own.setSize({ width: Math.max(200, element.clientWidth), height: HEIGHT }));
    watch.observe(element);
    return () => {
      watch.disconnect();
      own.destroy();
    };
  }, [theme, table[0].length < 3]);
  useEffect(() => {
    plot.current.setData(table, false);
    const now = Date.now() / 1000;
    plot.current.setScale("x", { min: now - SPANS[span], max: now });
  }, [data, span, theme]);
  const newest = chart.lines.map(([label], index) => `${label} ${chart.write(series[index].at(-1) ?? 0)}`).join(", ");
  return html`<figure>
    <figcaption>${chart.title} <span class="quiet">${chart.lines.map(([label], index) => html`<span class="c${index}">${chart.lines.length > 1 ? `${label} ` : ""}${chart.write(series[index].at(-1) ?? 0)}</span> `)}</span></figcaption>
    <div class="chart" ref=${box} role="img" aria-label="${chart.title} over the last ${span}: now ${newest}"></div>
  </figure>`;
}

/**
 * The charts of a resource: the path of its history, without parameters or with. Every reading is passed on: what no event
 * reports, such as a disk that others fill, is read again then.
 */
export function Charts({ path, onReading }) {
  const [span, setSpan] = useState("1h");
  const theme = dark.value; // a canvas does not follow the style sheet
  const { data, problem } = useHistory(`${path}${path.includes("?") ? "&" : "?"}follow=true&span=${span}`, onReading);
  const shown = data && data.time.length > 0;
  return html`<section aria-label="Charts">
    <div class="row" role="group" aria-label="Time span">${Object.keys(SPANS).map((word) => html`
      <button type="button" aria-pressed=${span === word} onClick=${() => setSpan(word)}>${word}</button>`)}</div>
    ${problem && html`<p class="quiet">${problem}</p>`}
    ${!shown && !problem && html`<p class="quiet">No figures yet; the first come within half a minute.</p>`}
    ${shown && html`<div class="charts">${CHARTS.filter((chart) => (data[chart.lines[0][1]] || []).length === data.time.length)
      .map((chart) => html`<${Chart} key=${chart.title} chart=${chart} data=${data} span=${data.span} theme=${theme} />`)}</div>`}
  </section>`;
}
