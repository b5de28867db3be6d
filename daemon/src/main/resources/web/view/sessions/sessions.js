// The browsers that are logged in.
import { del, part, session } from "../../lib/api.js";
import { useResource } from "../../lib/live.js";
import { html } from "../../lib/html.js";
import { Action, Age, Loaded, Table, command, inert, matches } from "../../lib/ui.js";

export function Sessions() {
  if (session.value.read_only) {
    return html`<h1>Sessions</h1><p>This session is read-only; who else is logged in is shown by</p><pre class="command">zlayer dashboard sessions</pre>`;
  }
  return html`<h1>Sessions</h1>
    <p class="quiet">Browsers that are logged in. Another one gets a link from <code>zlayer dashboard</code>, one that only reads from <code>zlayer dashboard --read-only</code>.</p>
    <${List} />`;
}

function List() {
  const sessions = useResource("/dashboard/sessions");
  return html`<${Loaded} of=${sessions}>${(list) => html`<${Table} label="Sessions" heads=${["USER", "MAY", "BEGAN", "ENDS", "BROWSER", ""]}
      rows=${list.filter((one) => matches(one.user, one.browser)).map((one) => ({
        key: one.id,
        cells: [
          html`${one.user}${one.id === session.value.id && html` <span class="state good">this one</span>`}`,
          one.read_only ? "read" : "change",
          html`<${Age} time=${one.created} /> ago`,
          one.expires.slice(0, 16).replace("T", " "),
          html`<span title=${inert(one.browser)}>${inert(one.browser)}</span>`,
          html`<${Action} label="End ${one.id}" danger cli=${command("dashboard", "revoke", one.id)} run=${() => del(`/dashboard/sessions/${part(one.id)}`)} />`,
        ],
      }))} />`}<//>`;
}
