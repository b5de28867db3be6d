// What runs and what fails on this node, the failing things first with their reason.
import { useEffect, useState } from "preact/hooks";
import { Age, Charts, Empty, Lines, Loaded, Rollout, State, matches, nodesOf } from "../../lib/ui.js";
import { changed, useResource } from "../../lib/live.js";
import { html } from "../../lib/html.js";
import { getText, part } from "../../lib/api.js";
import { NodeTile } from "../nodes/nodes.js";
import { failures } from "./failures.js";

const LAST_LINES = 5;
/** Of so many failures the output is asked for; the others are a click away. */
const MOST_OUTPUTS = 20;

export function Overview() {
  const deployments = useResource("/deployments");
  const containers = useResource("/containers?all=true");
  const jobs = useResource("/jobs");
  const certificates = useResource("/ingress/certificates");
  const health = useResource("/health/ready");
  return html`<h1>Overview</h1>
    <${Loaded} of=${deployments}>${(list) => {
      const found = failures({
        // an agent that is not ready says why in the same form
        health: health.problem?.document ?? health.data,
        deployments: list,
        jobs: jobs.data,
        containers: containers.data,
        certificates: certificates.data,
      }, Date.now());
      const failing = found.filter((one) => matches(one.name, one.message));
      const all = containers.data || [];
      const services = list.flatMap((deployment) => deployment.services.map((service) => ({ deployment, service })));
      const known = [health, jobs, containers, certificates].every((one) => one.data !== null || one.problem !== null);
      return html`
        <${Summary} services=${services} containers=${all} jobs=${jobs.data || []} failing=${found.length} known=${known} />
        <section aria-label="Failing" hidden=${failing.length === 0}>
          <h2>Failing (${failing.length})</h2>
          ${failing.map((one, index) => html`<${Failure} key=${one.name} one=${one} output=${index < MOST_OUTPUTS} />`)}
        </section>
        <section aria-label="Services">
          <h2>Services</h2>
          ${list.length === 0 && html`<${Empty} what="There is no deployment." command="zlayer up -f FILE" />`}
          <div class="cards">${services.filter(({ deployment, service }) => matches(deployment.name, service.name))
            .map(({ deployment, service }) => html`<a class="card" key=${`${deployment.name}/${service.name}`} href="#/deployments/${part(deployment.name)}">
              <strong>${deployment.name}/${service.name}</strong> <${State} value=${service.state} />
              <span>${service.ready} of ${service.wanted} ready</span>
              ${!service.rollout?.reason && html`<${Rollout} of=${service.rollout} />`}
            </a>`)}</div>
        </section>
        ${containers.data && all.length === 0 && html`<section aria-label="Containers">
          <h2>Containers</h2>
          <${Empty} what="There is no container." command="zlayer run IMAGE" />
        </section>`}`;
    }}<//>
    <h2>This node</h2>
    <${Charts} path="/stats/history" onReading=${changed} />`;
}

/** The counts that a person looks for first, each a link to what it counts. */
function Summary({ services, containers, jobs, failing, known }) {
  const ready = services.filter(({ service }) => service.state === "running").length;
  const running = containers.filter((one) => one.state === "running").length;
  const busy = jobs.filter((job) => ["pending", "initializing", "running"].includes(job.last?.status)).length;
  const nodes = nodesOf(containers).length > 0;
  const verdict = failing > 0 ? `${failing} failing` : known ? "All is well" : "Loading";
  return html`<div class="summary">
    <a class="tile ${failing > 0 ? "bad" : known ? "good" : ""}" href="#/overview"><strong>${verdict}</strong><span>on ${nodes ? "all nodes" : "this node"}</span></a>
    ${nodes && html`<${NodeTile} />`}
    <a class="tile" href="#/deployments"><strong>${ready} of ${services.length}</strong><span>services running</span></a>
    <a class="tile" href="#/containers"><strong>${running} of ${containers.length}</strong><span>containers running</span></a>
    <a class="tile" href="#/jobs"><strong>${busy} of ${jobs.length}</strong><span>jobs busy</span></a>
  </div>`;
}

function Failure({ one, output }) {
  return html`<article class="failure">
    <h3><a href=${one.href}>${one.name}</a> <${State} value=${one.state} />
      ${one.at && html`<span class="quiet ago"> <${Age} time=${one.at} /> ago</span>`}
      ${one.logs && html`<a class="aside" href=${one.logs} aria-label="Logs of ${one.name}">Logs</a>`}</h3>
    <p class="reason">${one.message}</p>
    ${one.command && html`<p class="quiet">more: <code>${one.command}</code></p>`}
    ${one.lines ? html`<${Lines} lines=${one.lines.slice(-LAST_LINES)} />`
      : output && one.execution ? html`<${LastOutput} path="/executions/${part(one.execution)}/logs" />`
      : output && one.container ? html`<${LastOutput} path="/containers/${part(one.container)}/logs" />` : null}
  </article>`;
}

/** What was printed last by something that has ended: asked for once. */
function LastOutput({ path }) {
  const [lines, setLines] = useState([]);
  useEffect(() => {
    let used = true;
    getText(`${path}?tail=${LAST_LINES}&format=raw`).then(
      (text) => used && setLines(text.split("\n").filter((line) => line !== "")),
      () => {}, // its output is no longer kept
    );
    return () => (used = false);
  }, [path]);
  return html`<${Lines} lines=${lines} />`;
}
