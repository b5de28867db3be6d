// Output as it is printed: of a container, an execution, a service or a whole deployment. It is
// shown as text; control characters other than tabs are replaced.
import { useEffect, useRef, useState } from "preact/hooks";
import { lines, part } from "../../lib/api.js";
import { useResource } from "../../lib/live.js";
import { html } from "../../lib/html.js";
import { Empty, Loaded, command, matches, search } from "../../lib/ui.js";

const MOST = 5000;
const TAIL = 500;
const COLOURS = 8;

export function Logs({ path }) {
  return path.length === 0 ? html`<${Choice} />` : html`<${Tail} key=${path.join("/")} kind=${path[0]} names=${path.slice(1)} />`;
}

function Choice() {
  const deployments = useResource("/deployments");
  const containers = useResource("/containers?all=true");
  return html`<h1>Logs</h1>
    <${Loaded} of=${deployments}>${(list) => html`<ul class="plain">${list.flatMap((one) => [
      { text: one.name, href: `#/logs/deployment/${part(one.name)}` },
      ...one.services.map((service) => ({ text: `${one.name}/${service.name}`, href: `#/logs/service/${part(one.name)}/${part(service.name)}` })),
    ]).filter((one) => matches(one.text)).map((one) => html`<li><a href=${one.href}>${one.text}</a></li>`)}</ul>`}<//>
    <${Loaded} of=${containers}>${(list) => list.length === 0
      ? html`<${Empty} what="There is no container." command="zlayer run IMAGE" />`
      : html`<ul class="plain">${list.filter((one) => matches(one.name)).map((one) => html`<li key=${one.id}><a href="#/logs/container/${part(one.id)}">${one.name}</a></li>`)}</ul>`}<//>`;
}

/** Every container whose output belongs to what was asked for. */
function sources(kind, names, containers) {
  if (kind === "container") {
    return [{ name: names[0], path: `/containers/${part(names[0])}/logs` }];
  }
  if (kind === "execution") {
    return [{ name: names[0], path: `/executions/${part(names[0])}/logs` }];
  }
  return containers
    .filter((one) => one.deployment === names[0] && (kind === "deployment" || one.service === names[1]))
    .map((one) => ({ name: one.name, path: `/containers/${part(one.id)}/logs` }));
}

/** Text of a container is data: what a terminal takes for orders is made visible. */
export const inert = (text) => text.replace(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u200e\u200f\u202a-\u202e\u2066-\u2069]/g, "\u{FFFD}");

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

function Tail({ kind, names }) {
  const list = useResource("/containers?all=true");
  const [shown, setShown] = useState([]);
  const [paused, setPaused] = useState(false);
  const [wrap, setWrap] = useState(true);
  const [problem, setProblem] = useState("");
  const box = useRef(null);
  const state = useRef({ open: new Map(), buffer: [], timer: 0, paused: false });
  const found = sources(kind, names, list.data || []);
  const flush = () => {
    const own = state.current;
    own.timer = 0;
    if (!own.paused && own.buffer.length > 0) {
      const added = own.buffer;
      own.buffer = [];
      setShown((old) => [...old, ...added].slice(-MOST));
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
  useEffect(() => {
    const { open } = state.current;
    for (const source of found) {
      if (!open.has(source.path)) {
        const abort = new AbortController();
        open.set(source.path, abort);
        read(source, open.size - 1, abort, add).catch((failed) => abort.signal.aborted || setProblem(failed.message));
      }
    }
  }, [found.map((one) => one.path).join(" ")]);
  useEffect(() => () => {
    state.current.open.forEach((abort) => abort.abort());
    clearTimeout(state.current.timer);
  }, []);
  useEffect(() => {
    if (!paused && box.current) {
      box.current.scrollTop = box.current.scrollHeight;
    }
  }, [shown, paused]);
  const pause = () => {
    state.current.paused = !paused;
    setPaused(!paused);
    flush();
  };
  const visible = shown.filter((line) => !search.value || matches(line.text));
  const target = names.join("/");
  return html`<h1>Logs of ${target}</h1>
    <div class="row">
      <button type="button" aria-pressed=${paused} onClick=${pause}>${paused ? "Continue" : "Pause"}</button>
      <button type="button" aria-pressed=${wrap} onClick=${() => setWrap(!wrap)}>Wrap</button>
      <button type="button" onClick=${() => download(target, visible)}>Download</button>
      <code>${kind === "execution" ? command("job", "logs", "-f", target) : command("logs", "-f", target)}</code>
    </div>
    ${problem && html`<p class="problem" role="alert">${problem}</p>`}
    <div class="log ${wrap ? "wrap" : ""}" ref=${box} role="log" aria-label="Output" tabindex="0">
      ${visible.map((line) => html`<div class="line ${line.level}"><time>${line.time.slice(11, 23)}</time>
        ${found.length > 1 && html`<span class="source c${line.index % COLOURS}">${line.name}</span>`}<span class=${line.stream}>${line.text}</span></div>`)}
      ${visible.length === 0 && html`<p class="quiet">No output yet.</p>`}
    </div>`;
}

async function read(source, index, abort, add) {
  for await (const line of lines("GET", `${source.path}?follow=true&tail=${TAIL}`, { signal: abort.signal })) {
    const text = inert(decode(line));
    add({ index, name: source.name, time: line.time, stream: line.stream, text, level: level(text) });
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
