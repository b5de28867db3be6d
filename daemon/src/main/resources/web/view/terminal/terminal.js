// A shell in a container: the only place where control sequences mean something.
import { useEffect, useRef, useState } from "preact/hooks";
import { Terminal as Screen } from "@xterm/xterm";
import { FitAddon } from "@xterm/addon-fit";
import { part, session } from "../../lib/api.js";
import { useResource } from "../../lib/live.js";
import { html } from "../../lib/html.js";
import { Empty, Loaded, NodeChoice, State, Table, command, matches, nodesOf, onChosenNode, stylesheet } from "../../lib/ui.js";

stylesheet(new URL("../../vendor/xterm.css", import.meta.url));

const INPUT = 0;

// the library makes style elements of its own, which the policy of this page admits by its nonce
const nonce = /** @type {HTMLMetaElement} */ (document.querySelector("meta[name=style-nonce]")).content;
const make = document.createElement.bind(document);
document.createElement = (name, options) => {
  const element = make(name, options);
  if (name === "style") {
    element.nonce = nonce;
  }
  return element;
};

export function Terminal({ path }) {
  return path.length === 0 ? html`<${Choice} />` : html`<${Shell} id=${path[0]} />`;
}

function Choice() {
  const containers = useResource("/containers");
  return html`<h1>Terminal</h1>
    <${Loaded} of=${containers}>${(list) => list.length === 0
      ? html`<${Empty} what="No container runs." command="zlayer run -d IMAGE" />`
      : html`<p class="quiet">A program in a container that runs, a shell for example.</p>
        ${nodesOf(list).length > 0 && html`<div class="row"><${NodeChoice} of=${list} /></div>`}
        <${Table} label="Containers" heads=${["NAME", ...(nodesOf(list).length > 0 ? ["NODE"] : []), "STATUS", "IMAGE"]} rows=${list.filter((one) => onChosenNode(one) && matches(one.name)).map((one) => ({
          key: `${one.node ?? ""}/${one.id}`,
          cells: [html`<a href="#/terminal/${part(one.id)}">${one.name}</a>`, ...(nodesOf(list).length > 0 ? [one.node ?? "-"] : []), html`<${State} value=${one.health ?? one.state} />`, one.image],
        }))} />`}<//>`;
}

function Shell({ id }) {
  const details = useResource(`/containers/${part(id)}`);
  const [program, setProgram] = useState("sh");
  const [state, setState] = useState("closed");
  const [note, setNote] = useState("");
  const box = useRef(null);
  const end = useRef(() => {});
  useEffect(() => () => end.current(), []);
  const open = () => {
    end.current();
    const screen = new Screen({ cursorBlink: true, scrollback: 5000, screenReaderMode: true });
    const fit = new FitAddon();
    screen.loadAddon(fit);
    screen.open(box.current);
    fit.fit();
    const query = new URLSearchParams({ command: program, tty: "true", rows: screen.rows, columns: screen.cols, csrf: session.value.csrf });
    const scheme = location.protocol === "https:" ? "wss:" : "ws:";
    const socket = new WebSocket(`${scheme}//${location.host}/api/v1/containers/${part(id)}/exec/ws?${query}`);
    socket.binaryType = "arraybuffer";
    let ended = "";
    socket.onopen = () => {
      setState("open");
      setNote("");
      screen.focus();
    };
    socket.onmessage = ({ data }) => {
      if (typeof data === "string") {
        const message = JSON.parse(data);
        ended = message.exit ? `exited with code ${message.exit.code}` : message.error?.detail || ended;
      } else {
        screen.write(new Uint8Array(data).subarray(1));
      }
    };
    socket.onclose = () => {
      setState("closed");
      setNote(ended || "The connection is lost. The process was ended with it; open another.");
    };
    const encoder = new TextEncoder();
    screen.onData((text) => {
      if (socket.readyState === WebSocket.OPEN) {
        const bytes = encoder.encode(text);
        const frame = new Uint8Array(bytes.length + 1);
        frame[0] = INPUT;
        frame.set(bytes, 1);
        socket.send(frame);
      }
    });
    screen.onResize(({ cols, rows }) => {
      if (socket.readyState === WebSocket.OPEN) {
        socket.send(JSON.stringify({ resize: { columns: cols, rows } }));
      }
    });
    const observer = new ResizeObserver(() => fit.fit());
    observer.observe(box.current);
    end.current = () => {
      observer.disconnect();
      socket.onclose = null;
      socket.close();
      screen.dispose();
      end.current = () => {};
    };
  };
  const name = details.data?.container.name ?? id;
  return html`<h1>Terminal in ${name}</h1>
    ${session.value.read_only ? html`<p>This session is read-only.</p>` : html`
      <form class="row" onSubmit=${(event) => { event.preventDefault(); open(); }}>
        <label>Program <input value=${program} onInput=${(event) => setProgram(event.target.value)} /></label>
        <button type="submit">${state === "open" ? "Open again" : "Open"}</button>
        <code>${command("exec", "-it", name, program)}</code>
      </form>
      <p role="status">${note}</p>
      <div class="terminal" ref=${box} aria-label="Terminal"></div>`}`;
}
