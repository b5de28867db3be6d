// What happened, the newest first: what the agent keeps, and then what happens.
import { useState } from "preact/hooks";
import { eventKey, topic, useEvents } from "../../lib/live.js";
import { html } from "../../lib/html.js";
import { Empty, NodeChoice, Table, command, eventFacts, inert, matches, nodesOf, onChosenNode } from "../../lib/ui.js";

const KEPT = 1000;

const deployment = (event) => event.facts?.deployment ?? (event.subject.includes("/") ? event.subject.split("/")[0] : "");

export function Events() {
  const { events, loaded, problem } = useEvents("", KEPT);
  const [chosen, setChosen] = useState({ topic: "", deployment: "" });
  const words = (of) => [...new Set(events.map(of))].filter(Boolean).sort();
  const nodes = nodesOf(events).length > 0;
  const shown = events.filter((one) => onChosenNode(one) && (!chosen.topic || topic(one) === chosen.topic) && (!chosen.deployment || deployment(one) === chosen.deployment)
    && matches(one.kind, one.subject, JSON.stringify(one.facts)));
  const cli = command("events", ...(chosen.topic ? ["--kind", chosen.topic] : []), ...(chosen.deployment ? ["--deployment", chosen.deployment] : []));
  return html`<h1>Events</h1>
    ${problem && html`<p class="problem" role="alert">${problem}</p>`}
    <div class="row">
      <label>Kind <select value=${chosen.topic} onChange=${(event) => setChosen({ ...chosen, topic: event.target.value })}>
        <option value="">all</option>${words(topic).map((word) => html`<option>${word}</option>`)}</select></label>
      <label>Deployment <select value=${chosen.deployment} onChange=${(event) => setChosen({ ...chosen, deployment: event.target.value })}>
        <option value="">all</option>${words(deployment).map((word) => html`<option>${word}</option>`)}</select></label>
      <${NodeChoice} of=${events} />
      <span class="quiet" role="status">${shown.length} of ${events.length}</span>
      <code>${cli}</code>
    </div>
    ${loaded && events.length === 0
      ? html`<${Empty} what="Nothing has happened yet." command="zlayer events" />`
      : html`<${Table} label="Events" heads=${["TIME", ...(nodes ? ["NODE"] : []), "KIND", "SUBJECT", "FACTS"]}
          rows=${shown.map((one) => ({ key: eventKey(one), cells: [one.time.slice(0, 19).replace("T", " "), ...(nodes ? [one.node ?? "-"] : []), one.kind, inert(one.subject), html`<span title=${eventFacts(one)}>${eventFacts(one)}</span>`] }))} />`}`;
}
