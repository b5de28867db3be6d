// What happened, the newest first: what the agent keeps, and then what happens.
import { useEffect, useState } from "preact/hooks";
import { get } from "../../lib/api.js";
import { recent } from "../../lib/live.js";
import { html } from "../../lib/html.js";
import { Empty, Table, command, inert, matches } from "../../lib/ui.js";

const KEPT = 1000;

/** The first word of a kind says what it is about. */
const topic = (event) => event.kind.split(".")[0];
const deployment = (event) => event.facts?.deployment ?? (event.subject.includes("/") ? event.subject.split("/")[0] : "");

export function Events() {
  const [kept, setKept] = useState(null);
  const [problem, setProblem] = useState("");
  const [chosen, setChosen] = useState({ topic: "", deployment: "" });
  useEffect(() => {
    get(`/events?last=${KEPT}&limit=${KEPT}`).then((page) => setKept([...page.events].reverse()), (failed) => setProblem(failed.message));
  }, []);
  const known = new Set(recent.value.map((one) => one.seq));
  const all = [...recent.value, ...(kept ?? []).filter((one) => !known.has(one.seq))];
  const words = (of) => [...new Set(all.map(of))].filter(Boolean).sort();
  const shown = all.filter((one) => (!chosen.topic || topic(one) === chosen.topic) && (!chosen.deployment || deployment(one) === chosen.deployment)
    && matches(one.kind, one.subject, JSON.stringify(one.facts)));
  const cli = command("events", ...(chosen.topic ? ["--kind", chosen.topic] : []), ...(chosen.deployment ? ["--deployment", chosen.deployment] : []));
  return html`<h1>Events</h1>
    ${problem && html`<p class="problem" role="alert">${problem}</p>`}
    <div class="row">
      <label>Kind <select value=${chosen.topic} onChange=${(event) => setChosen({ ...chosen, topic: event.target.value })}>
        <option value="">all</option>${words(topic).map((word) => html`<option>${word}</option>`)}</select></label>
      <label>Deployment <select value=${chosen.deployment} onChange=${(event) => setChosen({ ...chosen, deployment: event.target.value })}>
        <option value="">all</option>${words(deployment).map((word) => html`<option>${word}</option>`)}</select></label>
      <span class="quiet" role="status">${shown.length} of ${all.length}</span>
      <code>${cli}</code>
    </div>
    ${kept !== null && all.length === 0
      ? html`<${Empty} what="Nothing has happened yet." command="zlayer events" />`
      : html`<${Table} label="Events" heads=${["TIME", "KIND", "SUBJECT", "FACTS"]}
          rows=${shown.map((one) => ({ key: one.seq, cells: [one.time.slice(0, 19).replace("T", " "), one.kind, inert(one.subject), html`<span title=${inert(facts(one))}>${inert(facts(one))}</span>`] }))} />`}`;
}

/** What failed in words; anything else by name. */
function facts({ facts: all }) {
  const { failure, ...rest } = all ?? {};
  return [failure?.message, ...Object.entries(rest).map(([name, value]) => `${name} ${typeof value === "string" ? value : JSON.stringify(value)}`)].filter(Boolean).join(", ");
}
