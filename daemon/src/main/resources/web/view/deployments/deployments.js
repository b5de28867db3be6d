// Deployments: their services, revisions and files.
import { useState } from "preact/hooks";
import { del, part, post } from "../../lib/api.js";
import { useResource } from "../../lib/live.js";
import { html } from "../../lib/html.js";
import { Action, Age, Charts, Checks, Empty, EventsOf, Lines, Loaded, Rollout, State, command, matches } from "../../lib/ui.js";
import { Editor } from "./editor.js";
import { Graph } from "./graph.js";

export function Deployments({ path }) {
  if (path.length === 0) {
    return html`<${List} />`;
  }
  return path[1] === "file" || path[0] === "+"
    ? html`<${Editor} name=${path[0] === "+" ? null : path[0]} />`
    : html`<${Deployment} name=${path[0]} />`;
}

function List() {
  const deployments = useResource("/deployments");
  return html`<h1>Services</h1>
    <p class="row"><a class="button" href="#/deployments/+">New deployment</a></p>
    <${Loaded} of=${deployments}>${(list) => list.length === 0
      ? html`<${Empty} what="There is no deployment." command="zlayer up -f FILE" />`
      : list.filter((one) => matches(one.name, ...one.services.map((service) => service.name))).map((one) => html`
        <section key=${one.name} class="panel" aria-label=${one.name}>
          <h2><a href="#/deployments/${part(one.name)}">${one.name}</a> <${State} value=${one.state} /> <span class="quiet">${one.node && `node ${one.node}, `}revision ${one.revision}, changed <${Age} time=${one.updated} /> ago</span></h2>
          <div class="row">${one.services.map((service) => html`<span class="service" key=${service.name}><strong>${service.name}</strong> <${State} value=${service.state} />
            <span class="quiet">${" "}${service.ready} of ${service.wanted} ready</span></span>`)}</div>
        </section>`)}<//>`;
}

function Deployment({ name }) {
  const own = `/deployments/${part(name)}`;
  const deployment = useResource(own);
  const revisions = useResource(`${own}/revisions`);
  return html`<h1>${name}</h1>
    <${Loaded} of=${deployment}>${(one) => html`
      <p><${State} value=${one.state} /> revision ${one.revision}, changed <${Age} time=${one.updated} /> ago</p>
      ${one.problem && html`<p class="problem">${one.problem.message}</p>`}
      <div class="row">
        <a class="button" href="#/deployments/${part(name)}/file">File</a>
        <a class="button" href="#/logs/deployment/${part(name)}">Logs</a>
        <${Action} label="Restart ${name}" cli=${command("restart", name)} run=${() => post(`${own}/restart`)} />
        ${one.state === "stopped"
          ? html`<${Action} label="Start ${name}" cli=${command("start", name)} run=${() => post(`${own}/start`)} />`
          : html`<${Action} label="Stop ${name}" cli=${command("stop", name)} run=${() => post(`${own}/stop`)} />`}
        <${Action} label="Remove ${name}" danger cli=${command("down", name)} run=${() => del(own)} />
      </div>
      <${Graph} deployment=${one} />
      ${one.services.map((service) => html`<${Service} key=${service.name} deployment=${name} service=${service} />`)}
      ${one.jobs.length > 0 && html`<h2>Jobs</h2><ul class="plain">${one.jobs.map((job) => html`<li>${job.name}
        ${job.last && html` <${State} value=${job.last.status} />`} ${job.last_error?.message}</li>`)}</ul>`}
    `}<//>
    <h2>Revisions</h2>
    <${Loaded} of=${revisions}>${(list) => html`<ul class="plain" aria-label="Revisions">${[...list].reverse().map((revision) => html`
      <li key=${revision.revision}>${revision.revision}: ${revision.reason}, <${Age} time=${revision.time} /> ago
        ${revision.revision !== deployment.data?.revision && html` <${Action} label="Roll back to ${revision.revision}"
          cli=${command("rollback", name, revision.revision)}
          run=${() => post(`${own}/rollback?revision=${revision.revision}`)} />`}</li>`)}</ul>`}<//>`;
}

/** @param {{ deployment: string, service: import("api").DeploymentViewServiceView }} props */
function Service({ deployment, service }) {
  const own = `/deployments/${part(deployment)}/services/${part(service.name)}`;
  const full = `${deployment}/${service.name}`;
  const [replicas, setReplicas] = useState(service.wanted);
  const [open, setOpen] = useState(false);
  const failure = service.last_error || service.rollout?.reason;
  return html`<section class="panel" aria-label=${service.name}>
    <h2>${service.name} <${State} value=${service.state} /> <span class="quiet">${service.ready} of ${service.wanted} ready</span></h2>
    ${service.waiting_for && html`<p>waits for ${service.waiting_for}</p>`}
    <${Rollout} of=${service.rollout} />
    ${failure && html`<p class="problem">${failure.message}</p><${Lines} lines=${failure.last_lines} />`}
    <div class="row">
      <label>Replicas <input type="number" min="0" max="10000" value=${replicas} onInput=${(event) => setReplicas(Number(event.target.value))} /></label>
      <${Action} label="Scale ${service.name}" cli=${command("scale", `${full}=${replicas}`)} run=${() => post(`${own}/scale`, { replicas })} />
      <${Action} label="Restart ${service.name}" cli=${command("restart", full)} run=${() => post(`${own}/restart`)} />
      ${service.state === "stopped"
        ? html`<${Action} label="Start ${service.name}" cli=${command("start", full)} run=${() => post(`${own}/start`)} />`
        : html`<${Action} label="Stop ${service.name}" cli=${command("stop", full)} run=${() => post(`${own}/stop`)} />`}
      <a class="button" href="#/logs/service/${part(deployment)}/${part(service.name)}">Logs of ${service.name}</a>
    </div>
    <ul class="plain">${service.replicas.map((replica) => html`<li key=${replica.id}>
      <a href="#/containers/${part(replica.container)}">${replica.id}</a> <${State} value=${replica.state} />
      ${replica.health && html` <${State} value=${replica.health.state.toLowerCase()} />`}
      <span class="quiet"> ${replica.node && `node ${replica.node}, `}${replica.image}, ${replica.restarts} restarts</span>
      ${replica.last_error && html` <span class="problem">${replica.last_error.message}</span>`}
      ${replica.health?.history?.length > 0 && html`<details><summary>Health checks of ${replica.id}</summary><${Checks} history=${replica.health.history} /></details>`}</li>`)}</ul>
    <details onToggle=${(event) => setOpen(event.target.open)}><summary>Figures of ${service.name}</summary>
      ${open && html`<${Charts} path="/stats/history?deployment=${part(deployment)}&service=${part(service.name)}" />`}</details>
    <${EventsOf} label="Events of ${service.name}" deployment=${deployment} wants=${(event) => event.subject === full || event.subject.startsWith(`${full}/`)} />
    ${service.endpoints.length > 0 && html`<p class="quiet">${service.endpoints.map((one) => `${one.name}: ${one.protocol} ${one.port} to ${one.target_port}`).join(", ")}</p>`}
  </section>`;
}
