// Parts that views share.
import { signal } from "@preact/signals";
import { useEffect, useRef, useState } from "preact/hooks";
import { session } from "./api.js";
import { changed, eventKey, useEvents } from "./live.js";
import { html } from "./html.js";

/** What a list shows: the text of the search field. */
export const search = signal("");
/** The action that is being confirmed. */
const asked = signal(null);
/** The result of the last action. */
const done = signal(null);

const GOOD = ["running", "idle", "ready", "healthy", "completed", "serving"];
const BAD = ["failed", "lost", "crash_loop", "degraded", "unhealthy", "unknown"];

export const matches = (...texts) =>
  texts.some((text) => String(text).toLowerCase().includes(search.value.toLowerCase()));

const lower = (word) => String(word).toLowerCase();
export const stateKind = (value) => (GOOD.includes(lower(value)) ? "good" : BAD.includes(lower(value)) ? "bad" : "other");

export function State({ value }) {
  return html`<span class="state ${stateKind(value)}">${lower(value).replace("_", " ")}</span>`;
}

/** How far the replicas of a service have come to the newest revision. */
export function Rollout({ of }) {
  return of ? html`<p class="rollout">revision ${of.revision}: ${of.updated} of ${of.of} replicas
    ${of.rolled_back_to ? `, rolled back to ${of.rolled_back_to}` : html`<progress max=${of.of} value=${of.updated} aria-label="Replicas of revision ${of.revision}"></progress>`}</p>` : null;
}

export function Age({ time }) {
  if (!time) {
    return html`<span>-</span>`;
  }
  const seconds = Math.max(0, (Date.now() - Date.parse(time)) / 1000);
  const [count, unit] =
    seconds < 60 ? [seconds, "s"]
    : seconds < 3600 ? [seconds / 60, "min"]
    : seconds < 172800 ? [seconds / 3600, "h"]
    : [seconds / 86400, "d"];
  return html`<time dateTime=${time} title=${time}>${Math.floor(count)} ${unit}</time>`;
}

/** How long until a time, and the time. */
export function Until({ time }) {
  const minutes = Math.max(0, Math.round((Date.parse(time) - Date.now()) / 60000));
  return html`<time dateTime=${time} title=${time}>in ${minutes < 60 ? `${minutes} min` : minutes < 2880 ? `${Math.round(minutes / 60)} h` : `${Math.round(minutes / 1440)} d`}</time>
    <span class="quiet">${" "}(${new Date(time).toLocaleString(undefined, { dateStyle: "medium", timeStyle: "short", hourCycle: "h23" })})</span>`;
}

export function bytes(size) {
  const units = ["B", "kB", "MB", "GB", "TB"];
  let value = size;
  let unit = 0;
  while (value >= 1000 && unit < units.length - 1) {
    value /= 1000;
    unit++;
  }
  return `${value < 10 && unit > 0 ? value.toFixed(1) : Math.round(value)} ${units[unit]}`;
}

/** What there is of a resource: a problem, nothing yet, or what the function makes of the data. */
export function Loaded({ of, children }) {
  return html`
    ${of.problem && html`<p class="problem" role="alert">${of.problem.message}</p>`}
    ${of.data === null ? !of.problem && html`<p class="quiet">Loading</p>` : children(of.data)}`;
}

/** A part whose scripts are loaded when it is first shown. */
export function later(load) {
  let known = null;
  return function Later(props) {
    const [state, setState] = useState({ Part: known, problem: "" });
    useEffect(() => {
      if (known === null) {
        load().then((Part) => setState({ Part: (known = Part), problem: "" }), (error) => setState({ Part: null, problem: error.message }));
      }
    }, []);
    if (state.problem) {
      return html`<p class="problem" role="alert">This part could not be loaded (${state.problem}): load the page again.</p>`;
    }
    return state.Part ? html`<${state.Part} ...${props} />` : html`<p class="quiet">Loading</p>`;
  };
}

/** Loads a style sheet of a library beside the script that needs it. */
export function stylesheet(address) {
  const link = document.createElement("link");
  link.rel = "stylesheet";
  link.href = address.href;
  document.head.append(link);
}

/** Charts draw with a library that is larger than the rest of the page. */
export const Charts = later(() => import("./chart.js").then((module) => module.Charts));

/** What the last health checks found, the newest first. */
export function Checks({ history }) {
  return html`<ul class="plain checks" aria-label="Health checks">${[...history].reverse().map((run) => html`<li key=${run.first}>
    <${State} value=${run.success ? "healthy" : "failed"} /> ${run.checks} ${run.checks === 1 ? "check" : "checks"}, the last <${Age} time=${run.last} /> ago
    ${run.output && html`<span class="quiet"> ${inert(run.output)}</span>`}</li>`)}</ul>`;
}

/** What an event says beside its kind: what failed in words, anything else by name. */
export function eventFacts({ facts }) {
  const { failure, container, ...rest } = facts ?? {};
  return inert([failure?.message, ...Object.entries(rest).map(([name, value]) => `${name} ${typeof value === "string" ? value : JSON.stringify(value)}`)].filter(Boolean).join(", "));
}

/** The last events about one thing, asked for when they are opened. */
export function EventsOf({ label, deployment, wants }) {
  const [open, setOpen] = useState(false);
  return html`<details onToggle=${(event) => setOpen(event.target.open)}><summary>${label}</summary>
    ${open && html`<${EventList} deployment=${deployment} wants=${wants} label=${label} />`}</details>`;
}

function EventList({ deployment, wants, label }) {
  const { events, loaded, problem } = useEvents(deployment, 1000);
  const own = events.filter(wants).slice(0, 50);
  return html`${problem && html`<p class="problem" role="alert">${problem}</p>`}
    ${loaded && own.length === 0 && html`<p class="quiet">None is kept.</p>`}
    <ul class="plain" aria-label=${label}>${own.map((one) => html`<li key=${eventKey(one)}><${Age} time=${one.time} /> <strong>${one.kind}</strong> <span class="quiet">${eventFacts(one)}</span></li>`)}</ul>`;
}

/** The node of a cluster whose things lists show; all when empty. */
export const chosenNode = signal("");
/** @param {any} one */
export const onChosenNode = (one) => !chosenNode.value || one.node === chosenNode.value;
/** Nodes that things are on, none where there is no cluster. @param {any[]} all */
export const nodesOf = (all) => [...new Set(all.map((one) => one.node).filter((node) => node && node !== "-"))].sort();

/** Chooses a node, where there are several. */
export function NodeChoice({ of }) {
  const nodes = [...new Set([...nodesOf(of), chosenNode.value].filter(Boolean))].sort();
  return nodes.length === 0 ? null : html`<label>Node <select value=${chosenNode.value} onChange=${(event) => (chosenNode.value = event.target.value)}>
    <option value="">all</option>${nodes.map((node) => html`<option key=${node}>${node}</option>`)}</select></label>`;
}

/** A list without entries shows how to get one. */
export function Empty({ what, command }) {
  return html`<div class="empty"><p>${what}</p><code>${command}</code></div>`;
}

/** Output of containers is not trusted: what controls a terminal or turns the direction of text is replaced. */
export const inert = (text) => text.replace(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u200e\u200f\u202a-\u202e\u2066-\u2069]/g, "\u{FFFD}");

export function Lines({ lines }) {
  return lines && lines.length > 0 ? html`<pre class="lines">${inert(lines.join("\n"))}</pre>` : null;
}

/** A word as a shell reads it. */
const quote = (word) => (/^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`);
export const command = (...words) => ["zlayer", ...words.map(String).map(quote)].join(" ");

/** A button for a change; read-only sessions have none. It shows the command that does the same. */
export function Action({ label, cli, run, danger }) {
  if (session.value.read_only) {
    return null;
  }
  return html`<button type="button" class=${danger ? "danger" : ""} title=${cli}
    onClick=${() => (asked.value = { label, cli, run, danger })}>${label}</button>`;
}

/** Asks before an action, and reports its result. */
export function Actions() {
  const dialog = useRef(null);
  const [busy, setBusy] = useState(false);
  const action = asked.value;
  useEffect(() => {
    if (action && !dialog.current.open) {
      dialog.current.showModal();
    } else if (!action && dialog.current.open) {
      dialog.current.close();
    }
  }, [action]);
  const confirm = async (event) => {
    event.preventDefault();
    setBusy(true);
    try {
      await action.run();
      done.value = { text: `${action.label}: done`, cli: action.cli };
    } catch (problem) {
      done.value = { text: `${action.label}: ${problem.message}`, cli: action.cli, failed: true };
    }
    setBusy(false);
    asked.value = null;
    changed();
  };
  return html`
    <dialog ref=${dialog} aria-label="Confirm" onClose=${() => (asked.value = null)}>
      ${action && html`<form onSubmit=${confirm}>
        <h2>${action.label}</h2>
        <p>The same on the command line:</p>
        <pre class="command">${action.cli}</pre>
        <div class="row">
          <button type="submit" class=${action.danger ? "danger" : "primary"} disabled=${busy}>${action.label}</button>
          <button type="button" onClick=${() => (asked.value = null)}>Cancel</button>
        </div>
      </form>`}
    </dialog>
    <div role="status" class="toast" hidden=${!done.value}>
      ${done.value && html`
        <span class=${done.value.failed ? "problem" : ""}>${done.value.text}</span>
        <code>${done.value.cli}</code>
        <button type="button" aria-label="Dismiss" onClick=${() => (done.value = null)}>×</button>`}
    </div>`;
}

/** A table whose rows are made as they are scrolled to, so that thousands stay smooth. */
export function Table({ heads, rows, label }) {
  const HEIGHT = 36;
  const [window_, setWindow] = useState({ top: 0, count: 60 });
  const box = useRef(null);
  const scroll = () => {
    if (!box.current) {
      return; // the event of a table that has just been replaced
    }
    const top = Math.max(0, Math.floor(box.current.scrollTop / HEIGHT) - 10);
    const count = Math.ceil(box.current.clientHeight / HEIGHT) + 30;
    if (top !== window_.top || count !== window_.count) {
      setWindow({ top, count });
    }
  };
  const shown = rows.slice(window_.top, window_.top + window_.count);
  const before = Math.min(window_.top, rows.length) * HEIGHT;
  const after = Math.max(0, rows.length - window_.top - shown.length) * HEIGHT;
  return html`<div class="table" ref=${box} onScroll=${scroll} tabindex="0" role="region" aria-label=${label}>
    <table aria-rowcount=${rows.length}>
      <thead><tr>${heads.map((head) => html`<th scope="col">${head}</th>`)}</tr></thead>
      <tbody>
        ${before > 0 && html`<tr class="space" aria-hidden="true"><td colspan=${heads.length}><svg width="1" height=${before}></svg></td></tr>`}
        ${shown.map((row) => html`<tr key=${row.key}>${row.cells.map((cell) => html`<td>${cell}</td>`)}</tr>`)}
        ${after > 0 && html`<tr class="space" aria-hidden="true"><td colspan=${heads.length}><svg width="1" height=${after}></svg></td></tr>`}
      </tbody>
    </table>
  </div>`;
}
