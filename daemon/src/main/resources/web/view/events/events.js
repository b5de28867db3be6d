// What happens, the newest first, from the moment on that the page was opened.
import { recent } from "../../lib/live.js";
import { html } from "../../lib/html.js";
import { Empty, Table, matches } from "../../lib/ui.js";

export function Events() {
  const list = recent.value.filter((one) => matches(one.kind, one.subject));
  return html`<h1>Events</h1>
    ${recent.value.length === 0
      ? html`<${Empty} what="Nothing has happened since this page was opened. Earlier events:" command="zlayer events" />`
      : html`<${Table} label="Events" heads=${["TIME", "KIND", "SUBJECT", "FACTS"]}
          rows=${list.map((one) => ({ key: one.seq, cells: [one.time.slice(0, 19).replace("T", " "), one.kind, one.subject, JSON.stringify(one.facts)] }))} />`}`;
}
