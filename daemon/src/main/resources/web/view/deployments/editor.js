// The file of a deployment: checked while it is edited, compared before it is applied.
import { useEffect, useRef, useState } from "preact/hooks";
import { getText, lines, part, post, session } from "../../lib/api.js";
import { html } from "../../lib/html.js";
import { Lines, command } from "../../lib/ui.js";

const PAUSE = 400;
const START = `version: v1
deployment: example

services:
  web:
    image: {name: "busybox:1.36"}
    command: [sleep, "1000"]
`;

/** Each problem with the line it is about. */
function problems(message) {
  return message.split("\n").map((text) => {
    const at = /(?:^|:)(\d+):(\d+):/.exec(text);
    return { text, line: at ? Number(at[1]) : 0 };
  });
}

const named = (text) => /^deployment:\s*["']?([\w-]+)/m.exec(text)?.[1];

export function Editor({ name }) {
  const [text, setText] = useState(name ? null : START);
  const [found, setFound] = useState([]);
  const [diff, setDiff] = useState(null);
  const [progress, setProgress] = useState([]);
  const [busy, setBusy] = useState(false);
  const area = useRef(null);
  const deployment = name || (text && named(text)) || "";
  useEffect(() => {
    if (name) {
      getText(`/deployments/${part(name)}/spec`).then(setText, (problem) => setFound([{ text: problem.message, line: 0 }]));
    }
  }, [name]);
  useEffect(() => {
    if (text === null || session.value.read_only) {
      return undefined;
    }
    setDiff(null);
    let used = true;
    const timer = setTimeout(async () => {
      try {
        const answer = await (await post(`/deployments/${part(deployment)}/diff`, text)).json();
        if (used) {
          setFound([]);
          setDiff(answer);
        }
      } catch (problem) {
        if (used) {
          setFound(problems(problem.message));
        }
      }
    }, PAUSE);
    return () => {
      used = false;
      clearTimeout(timer);
    };
  }, [text, deployment]);
  const apply = async () => {
    setBusy(true);
    setProgress([]);
    try {
      for await (const line of lines("PUT", `/deployments/${part(deployment)}?wait=5m`, { body: text })) {
        setProgress((old) => [...old, describe(line)].filter(Boolean).slice(-200));
      }
    } catch (problem) {
      setProgress((old) => [...old, problem.message, ...problem.lastLines]);
    }
    setBusy(false);
  };
  const go = (line) => {
    const offset = text.split("\n").slice(0, line - 1).join("\n").length + (line > 1 ? 1 : 0);
    area.current.focus();
    area.current.setSelectionRange(offset, offset);
  };
  return html`<h1>File of ${deployment || "a new deployment"}</h1>
    <div class="editor">
      <div class="gutter" aria-hidden="true">${(text || "").split("\n").map((_, index) => html`
        <span class=${found.some((one) => one.line === index + 1) ? "bad" : ""}>${index + 1}</span>`)}</div>
      <textarea ref=${area} aria-label="Deployment file" spellcheck=${false} value=${text ?? ""}
        rows=${Math.max(12, (text || "").split("\n").length)} readOnly=${session.value.read_only}
        onInput=${(event) => setText(event.target.value)}></textarea>
    </div>
    <ul class="problems" aria-label="Problems" role="status">${found.map((one) => html`<li>
      <button type="button" class="link problem" onClick=${() => go(one.line)}>${one.text}</button></li>`)}</ul>
    ${diff && html`<section aria-label="Changes"><h2>Changes</h2>
      ${diff.changes.every((change) => change.action === "keep") ? html`<p>The file changes nothing.</p>` : null}
      ${diff.changes.filter((change) => change.action !== "keep").map((change) => html`<div class="change">
        <strong>${change.action} ${change.service}</strong>${change.replaces && ", replaces its containers"}
        <ul class="plain">${change.values.map((value) => html`<li><code>${value.path}</code>:
          <del>${value.before ?? ""}</del> <ins>${value.after ?? ""}</ins></li>`)}</ul></div>`)}
      <p>The same on the command line:</p><pre class="command">${command("up", "-f", "FILE")}</pre>
      <button type="button" class="primary" disabled=${busy} onClick=${apply}>Apply</button>
    </section>`}
    ${progress.length > 0 && html`<section aria-label="Progress" aria-live="polite"><h2>Progress</h2><${Lines} lines=${progress} /></section>`}`;
}

function describe(line) {
  switch (line.type) {
    case "event": return [line.event?.subject ?? line.subject, line.event?.kind ?? line.kind].filter(Boolean).join(" ");
    case "service": return line.service ? `${line.service.name}: ${line.service.state}, ${line.service.ready} of ${line.service.wanted} ready` : "";
    case "result": return `result: ${line.outcome}`;
    default: return "";
  }
}
