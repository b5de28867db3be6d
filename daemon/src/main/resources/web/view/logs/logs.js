// Output as it is printed: of a container, an execution, a service or a whole deployment. It is
// shown as text; control characters other than tabs are replaced.
import { useEffect, useRef, useState } from "preact/hooks";
import { lines, part } from "../../lib/api.js";
import { connection, useResource } from "../../lib/live.js";
import { html } from "../../lib/html.js";
import { Age, Empty, Lines, Loaded, NodeChoice, State, Table, command, inert, matches, nodesOf, onChosenNode, search } from "../../lib/ui.js";

const MOST = 5000;
const FOUND = 1000;
const BEFORE = 30;
const AFTER = 100;
const TAIL = 500;
const COLOURS = 8;

export function Logs({ path }) {
  if (path.length === 0) {
    return html`<${Choice} />`;
  }
  const at = path.at(-1).startsWith("@") ? path.at(-1).slice(1) : null;
  const names = path.slice(1, at === null ? undefined : -1);
  return html`<${Tail} key=${path.join("/")} kind=${path[0]} names=${names} at=${at} />`;
}

function Choice() {
  const deployments = useResource("/deployments");
  const containers = useResource("/containers?all=true");
  return html`<h1>Logs</h1>
    <p class="quiet">Follow what is printed, or search all that is kept, of a whole deployment, a service or one container.</p>
    <${Loaded} of=${deployments}>${(list) => list.map((one) => html`<section key=${one.name} aria-label=${one.name} hidden=${![one.name, ...one.services.map((service) => service.name)].some((text) => matches(text))}>
      <h2><a href="#/logs/deployment/${part(one.name)}">${one.name}</a></h2>
      <div class="cards">${one.services.map((service) => html`<a class="card" key=${service.name} href="#/logs/service/${part(one.name)}/${part(service.name)}">
        <strong>${one.name}/${service.name}</strong> <${State} value=${service.state} /></a>`)}</div></section>`)}<//>
    <h2>Containers</h2>
    <${Loaded} of=${containers}>${(list) => list.length === 0
      ? html`<${Empty} what="There is no container." command="zlayer run IMAGE" />`
      : html`${nodesOf(list).length > 0 && html`<div class="row"><${NodeChoice} of=${list} /></div>`}<${Table} label="Containers" heads=${["NAME", ...(nodesOf(list).length > 0 ? ["NODE"] : []), "STATUS", "IMAGE", "CREATED"]} rows=${list.filter((one) => onChosenNode(one) && matches(one.name)).map((one) => ({
          key: `${one.node ?? ""}/${one.id}`,
          cells: [html`<a href="#/logs/container/${part(one.id)}">${one.name}</a>`, ...(nodesOf(list).length > 0 ? [one.node ?? "-"] : []), html`<${State} value=${one.state} />`, one.image, html`<${Age} time=${one.created} /> ago`],
        }))} />`}<//>`;
}

/** Every container whose output belongs to what was asked for. */
function sources(kind, names, containers) {
  if (kind === "container") {
    const known = containers.find((one) => one.id === names[0]);
    return [{ name: known?.name ?? names[0], path: `/containers/${part(names[0])}/logs`, href: `#/logs/container/${part(names[0])}` }];
  }
  if (kind === "execution") {
    return [{ name: names[0], path: `/executions/${part(names[0])}/logs`, href: `#/logs/execution/${part(names[0])}` }];
  }
  return containers
    .filter((one) => one.deployment === names[0] && (kind === "deployment" || one.service === names[1]))
    .map((one) => ({ name: one.name, path: `/containers/${part(one.id)}/logs`, href: `#/logs/container/${part(one.id)}` }));
}

function decode(line) {
  if (line.text !== undefined) {
    return line.text;
  }
  return new TextDecoder().decode(Uint8Array.from(atob(line.bytes), (letter) => letter.charCodeAt(0)));
}

function level(text) {
  const found = /\b(fatal|error|warn(?:ing)?|debug)\b/i.exec(text.slice(0, 200));
  return found ? found[1].toLowerCase().slice(0, 4) : "";
}

/** What a choice of levels shows. */
const LEVELS = { all: null, "warnings and errors": ["warn", "erro", "fata"], errors: ["erro", "fata"] };

function Tail({ kind, names, at }) {
  const list = useResource("/containers?all=true");
  const [shown, setShown] = useState([]);
  const [paused, setPaused] = useState(false);
  const [wrap, setWrap] = useState(true);
  const [levels, setLevels] = useState("all");
  const [problem, setProblem] = useState("");
  const [result, setFound] = useState(null);
  const box = useRef(null);
  const state = useRef({ open: new Map(), buffer: [], timer: 0, paused: false });
  const found = sources(kind, names, list.data || []);
  const flush = () => {
    const own = state.current;
    own.timer = 0;
    if (!own.paused && own.buffer.length > 0) {
      const added = own.buffer;
      own.buffer = [];
      setShown((old) => inOrder(old, added).slice(-MOST));
    }
  };
  const add = (line) => {
    const own = state.current;
    own.buffer.push(line);
    if (own.buffer.length > MOST) {
      own.buffer.splice(0, own.buffer.length - MOST);
    }
    own.timer ||= setTimeout(flush, 100);
  };
  // a hidden tab, and an agent that is away, have no streams; later they continue where they were
  const online = connection.value === "open";
  useEffect(() => {
    const { open } = state.current;
    if (!online) {
      open.forEach(leave);
      return;
    }
    for (const source of at === null ? found : []) {
      const own = open.get(source.path) ?? { index: open.size, abort: null, time: "", count: 0 };
      open.set(source.path, own);
      if (own.abort === null) {
        own.abort = new AbortController();
        read(source, own, add).catch((failed) => failed.status && setProblem(failed.message));
      }
    }
  }, [found.map((one) => one.path).join(" "), online]);
  useEffect(() => () => {
    state.current.open.forEach(leave);
    clearTimeout(state.current.timer);
  }, []);
  useEffect(() => {
    if (at !== null && list.data !== null && found.length > 0) {
      around(found, at).then(setShown, (failed) => setProblem(failed.message));
    }
  }, [at, list.data !== null, found.length]);
  useEffect(() => {
    if (at !== null) {
      box.current?.querySelector(".marked")?.scrollIntoView({ block: "center" });
    } else if (!paused && box.current) {
      box.current.scrollTop = box.current.scrollHeight;
    }
  }, [shown, paused]);
  const pause = () => {
    state.current.paused = !paused;
    setPaused(!paused);
    flush();
  };
  const visible = (result ? result.lines : shown).filter((line) => (!search.value || matches(line.text)) && (LEVELS[levels]?.includes(line.level) ?? true));
  const target = names.join("/");
  return html`<h1>Logs of ${kind === "container" ? found[0].name : target}</h1>
    <${Search} found=${result} onFound=${setFound} sources=${found} />
    <div class="row">
      ${at === null && !result && html`<button type="button" aria-pressed=${paused} onClick=${pause}>${paused ? "Continue" : "Pause"}</button>`}
      ${at !== null && html`<a class="button" href="#/logs/${[kind, ...names].map(part).join("/")}">Follow</a>`}
      <button type="button" aria-pressed=${wrap} onClick=${() => setWrap(!wrap)}>Wrap</button>
      <label>Level <select value=${levels} onChange=${(event) => setLevels(event.target.value)}>${Object.keys(LEVELS).map((word) => html`<option>${word}</option>`)}</select></label>
      <button type="button" onClick=${() => download(target, visible)}>Download</button>
      <code>${kind === "execution" ? command("job", "logs", "-f", target) : command("logs", ...(result ? result.options : ["-f"]), target)}</code>
    </div>
    ${problem && html`<p class="problem" role="alert">${problem}</p>`}
    ${kind === "service" && html`<${Ended} names=${names} />`}
    <div class="log ${wrap ? "wrap" : ""}" ref=${box} role="log" aria-label="Output" tabindex="0">
      ${visible.map((line) => html`<div class="line ${line.level} ${line.mark === at ? "marked" : ""}"><a class="quiet" href="${line.href}/@${line.mark}" title="Link to this line"><time>${result || at ? line.time.slice(0, 23).replace("T", " ") : line.time.slice(11, 23)}</time></a>
        ${found.length > 1 && html`<span class="source c${line.index % COLOURS}">${line.name}</span>`}<span class=${line.stream}>${line.text}</span></div>`)}
      ${visible.length === 0 && html`<p class="quiet">${result ? "No line is found." : "No output yet."}</p>`}
    </div>`;
}

/** What replicas printed last whose containers are removed: one that fails again and again has none most of the time. */
function Ended({ names: [deployment, service] }) {
  const ended = useResource(`/deployments/${part(deployment)}/services/${part(service)}/ended`);
  const last = (ended.data ?? []).at(-1);
  return last ? html`<details open><summary>Last output of ${last.container}, which ended: ${last.status}</summary><${Lines} lines=${last.lines.slice(-20)} /></details>` : null;
}

/** Asks for the lines with a text among all that is kept, of every source. */
function Search({ found, onFound, sources }) {
  const [busy, setBusy] = useState(false);
  const [problem, setProblem] = useState("");
  const submit = async (event) => {
    event.preventDefault();
    const form = new FormData(event.target);
    const text = String(form.get("text"));
    const query = new URLSearchParams({ ...(text ? { grep: text, ignore_case: "true" } : {}), tail: String(FOUND) });
    const options = text ? ["-i", "--grep", text] : [];
    for (const name of ["since", "until"]) {
      if (form.get(name)) {
        const time = new Date(String(form.get(name))).toISOString();
        query.set(name, time);
        options.push(`--${name}`, time);
      }
    }
    if (options.length === 0) {
      onFound(null);
      return;
    }
    setBusy(true);
    setProblem("");
    try {
      const all = await Promise.all(sources.map((source, index) => collect(source, index, query)));
      onFound({ options, lines: all.flat().sort(byTime).slice(-FOUND) });
    } catch (failed) {
      setProblem(failed.message);
    }
    setBusy(false);
  };
  return html`<form class="row" role="search" aria-label="Kept output" onSubmit=${submit} onReset=${() => onFound(null)}>
    <label>Search kept output <input type="search" name="text" maxlength="200" placeholder="text, or only a time range" /></label>
    <label>from <input type="datetime-local" name="since" step="1" /></label>
    <label>until <input type="datetime-local" name="until" step="1" /></label>
    <button type="submit" disabled=${busy}>Search</button>
    ${found && html`<button type="reset">Back to the present</button> <span role="status">${found.lines.length === FOUND ? `the last ${FOUND}` : found.lines.length} lines</span>`}
    ${problem && html`<span class="problem" role="alert">${problem}</span>`}
  </form>`;
}

/** What several sources sent, each in its own order, by time. */
function inOrder(old, added) {
  const all = [...old, ...added];
  return all.every((line, index) => index < old.length || index === 0 || all[index - 1].time <= line.time) ? all : all.sort(byTime);
}

const byTime = (one, other) => (one.time < other.time ? -1 : one.time > other.time ? 1 : 0);

function shownLine(source, index, line) {
  const text = inert(decode(line));
  const time = precise(line.time);
  return { index, name: source.name, href: source.href, time, stream: line.stream, text, mark: `${time}~${hash(text)}`, level: level(text) };
}

/** With all nine digits of the fraction: only then are times in the order of their letters. */
const precise = (time) => {
  const [whole, fraction = ""] = time.slice(0, -1).split(".");
  return `${whole}.${fraction.padEnd(9, "0")}Z`;
};

/** The last moment before a time. */
function justBefore(time) {
  const [whole, fraction] = precise(time).slice(0, -1).split(".");
  return Number(fraction) > 0
    ? `${whole}.${String(Number(fraction) - 1).padStart(9, "0")}Z`
    : new Date(Date.parse(`${whole}Z`) - 1000).toISOString().replace(/\..*/, ".999999999Z");
}

/** Many lines have the same time; a few letters of a sum tell them apart in a link. */
const hash = (text) => ([...text].reduce((sum, letter) => (Math.imul(sum, 31) + letter.codePointAt(0)) >>> 0, 7)).toString(36);

/**
 * The lines of an answer, at most so many.
 * @param {(found: any[]) => boolean} enough
 */
async function collect(source, index, query, enough = () => false) {
  const found = [];
  const abort = new AbortController();
  for await (const line of lines("GET", `${source.path}?${query}`, { signal: abort.signal })) {
    found.push(shownLine(source, index, line));
    if (enough(found)) {
      abort.abort();
      break;
    }
  }
  return found;
}

/** What was printed before and after a line. */
async function around(found, at) {
  const time = at.split("~")[0];
  const parts = await Promise.all(found.map(async (source, index) => {
    // thousands of lines may have the time of this one, so those before it end before that time
    const before = await collect(source, index, new URLSearchParams({ until: justBefore(time), tail: String(BEFORE) }));
    let place = -1;
    const after = await collect(source, index, new URLSearchParams({ since: time }), (lines) => {
      place = place < 0 && lines.at(-1).mark === at ? lines.length - 1 : place;
      return lines.length > MOST || (place >= 0 && lines.length > place + AFTER);
    });
    const all = [...before, ...after];
    const marked = all.findIndex((line) => line.mark === at);
    return all.slice(Math.max(0, marked - BEFORE), Math.max(0, marked) + AFTER);
  }));
  return parts.flat().sort(byTime);
}

function leave(own) {
  own.abort?.abort();
  own.abort = null;
}

/** From the end of what was read, or the last lines at first. Several lines may have the time of the last one. */
async function read(source, own, add) {
  const { signal } = own.abort;
  const from = own.time ? `since=${part(own.time)}` : `tail=${TAIL}`;
  let known = own.count;
  for await (const line of lines("GET", `${source.path}?follow=true&${from}`, { signal })) {
    const shown = shownLine(source, own.index, line);
    if (signal.aborted) {
      return;
    }
    if (known > 0 && shown.time <= own.time) {
      known -= shown.time === own.time ? 1 : 0;
      continue;
    }
    known = 0;
    own.count = shown.time === own.time ? own.count + 1 : 1;
    own.time = shown.time;
    add(shown);
  }
}

function download(name, list) {
  const text = list.map((line) => `${line.time} ${line.name} ${line.text}\n`).join("");
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([text], { type: "text/plain" }));
  link.download = `${name.replaceAll("/", "-")}.log`;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10000);
}
