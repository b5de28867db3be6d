// Hosts and paths that are served by HTTP, and the certificates of the hosts.
import { part, post, put } from "../../lib/api.js";
import { useResource } from "../../lib/live.js";
import { html } from "../../lib/html.js";
import { Action, Empty, Loaded, State, Table, command, matches } from "../../lib/ui.js";

export function Ingress() {
  const routes = useResource("/ingress/routes");
  const certificates = useResource("/ingress/certificates");
  return html`<h1>Ingress</h1>
    <h2>Routes</h2>
    <${Loaded} of=${routes}>${(list) => list.length === 0
      ? html`<${Empty} what="No endpoint has a host or a path. An endpoint of a deployment file with these keys has:" command="{name: web, protocol: https, port: 8080, host: shop.example.org, tls: acme}" />`
      : html`<${Table} label="Routes" heads=${["HOST", "PATH", "SERVICE", "STATE", "READY", "REQUESTS", "ERRORS", ""]}
          rows=${list.filter((one) => matches(one.host, one.path, one.deployment, one.service)).map((one) => ({
            key: `${one.host} ${one.path}`,
            cells: [
              one.host,
              one.path,
              html`<a href="#/deployments/${part(one.deployment)}">${one.deployment}/${one.service}</a>`,
              html`<${State} value=${one.state} />`,
              `${one.ready} of ${one.replicas}`,
              `${one.requests} (${one.requests_per_second}/s)`,
              one.errors,
              html`<${Modes} route=${one} />`,
            ],
          }))} />`}<//>
    <h2>Certificates</h2>
    <${Loaded} of=${certificates}>${(list) => list.length === 0
      ? html`<${Empty} what="No host has a certificate: no endpoint has the key tls." command="zlayer ingress certs" />`
      : html`<${Table} label="Certificates" heads=${["HOST", "SOURCE", "ISSUER", "ENDS", "RENEWED", "PROBLEM", ""]}
          rows=${list.filter((one) => matches(one.host, one.kind, one.issuer, one.deployment)).map((one) => ({
            key: one.host,
            cells: [
              one.host,
              String(one.kind).toLowerCase(),
              one.issuer ?? "-",
              html`<${End} time=${one.not_after} />`,
              one.renewal?.slice(0, 10) ?? "-",
              one.error ? html`<span class="problem" title=${one.error}>${one.error}</span>` : "-",
              String(one.kind).toLowerCase() === "acme" && one.not_after
                ? html`<${Action} label="Revoke ${one.host}" danger cli=${command("ingress", "revoke", one.host)} run=${() => post(`/ingress/certificates/${part(one.host)}/revoke`)} />` : "",
            ],
          }))} />`}<//>`;
}

function End({ time }) {
  if (!time) {
    return html`<span>-</span>`;
  }
  const days = Math.floor((Date.parse(time) - Date.now()) / 86400000);
  return html`<time dateTime=${time} class=${days < 14 ? "problem" : ""}>${time.slice(0, 10)}, ${days < 0 ? "expired" : `in ${days} d`}</time>`;
}

/** A service is set aside as a whole. */
function Modes({ route }) {
  const full = `${route.deployment}/${route.service}`;
  const own = `/ingress/services/${part(route.deployment)}/${part(route.service)}/mode`;
  return String(route.state).toLowerCase() === "serving"
    ? html`<${Action} label="Pause ${full}" cli=${command("ingress", "pause", full)} run=${() => put(own, { state: "paused" })} />
      <${Action} label="Maintenance of ${full}" cli=${command("ingress", "maintenance", full)} run=${() => put(own, { state: "maintenance" })} />`
    : html`<${Action} label="Resume ${full}" cli=${command("ingress", "resume", full)} run=${() => put(own, { state: "serving" })} />`;
}
