// What runs and what fails on this node, the failing things first with their reason.
import { Age, Empty, Lines, Loaded, State, matches } from "../../lib/ui.js";
import { useResource } from "../../lib/live.js";
import { html } from "../../lib/html.js";
import { part } from "../../lib/api.js";
import { Charts } from "../../lib/chart.js";

const SOUND = ["running", "stopped", "deploying", "waiting", "removing"];

function failures(deployments, containers, jobs) {
  const found = [];
  for (const deployment of deployments) {
    const href = `#/deployments/${part(deployment.name)}`;
    if (deployment.problem) {
      found.push({ name: deployment.name, href, state: "failed", failure: deployment.problem });
    }
    for (const service of deployment.services) {
      const replica = service.replicas.find((one) => one.last_error);
      const failure = service.last_error || service.rollout?.reason || replica?.last_error;
      const waiting = service.state === "waiting" && service.waiting_for;
      if (!SOUND.includes(service.state) || (failure && service.state !== "running") || service.rollout?.reason) {
        found.push({ name: `${deployment.name}/${service.name}`, href, state: service.state, failure, waiting });
      }
    }
  }
  for (const job of jobs) {
    if (job.last?.status === "failed") {
      found.push({
        name: job.deployment === "-" ? job.name : `${job.deployment}/${job.name}`,
        href: "#/jobs/" + part(job.last.id),
        state: "failed",
        failure: { message: job.last.reason || `exited with code ${job.last.code}`, last_lines: [], at: job.last.finished },
      });
    }
  }
  for (const container of containers) {
    const failed = container.state === "exited" && container.exit?.code !== 0;
    if (container.name !== container.deployment && !container.name.includes("/") && (failed || container.health === "unhealthy" || container.problem)) {
      found.push({
        name: container.name,
        href: `#/containers/${part(container.id)}`,
        state: failed ? "failed" : container.health || "unknown",
        failure: { message: container.problem || (failed ? `exited with code ${container.exit?.code}` : "its health check fails"), last_lines: [], at: container.exit?.finished },
      });
    }
  }
  return found;
}

export function Overview() {
  const deployments = useResource("/deployments");
  const containers = useResource("/containers?all=true");
  const jobs = useResource("/jobs");
  return html`<h1>Overview</h1>
    <${Loaded} of=${deployments}>${(list) => {
      const failing = failures(list, containers.data || [], jobs.data || []).filter((one) => matches(one.name));
      const all = containers.data || [];
      return html`
        <section aria-label="Failing" hidden=${failing.length === 0}>
          <h2>Failing (${failing.length})</h2>
          ${failing.map((one) => html`<article class="failure" key=${one.name}>
            <h3><a href=${one.href}>${one.name}</a> <${State} value=${one.state} /></h3>
            <p class="reason">${one.failure?.message || (one.waiting ? `waits for ${one.waiting}` : "no reason is known yet")}
              ${one.failure?.at && html` (<${Age} time=${one.failure.at} /> ago)`}</p>
            <${Lines} lines=${one.failure?.last_lines} />
          </article>`)}
        </section>
        <section aria-label="Services">
          <h2>Services</h2>
          ${list.length === 0 && html`<${Empty} what="There is no deployment." command="zlayer up -f FILE" />`}
          <div class="cards">${list.flatMap((deployment) => deployment.services.map((service) => ({ deployment, service })))
            .filter(({ deployment, service }) => matches(deployment.name, service.name))
            .map(({ deployment, service }) => html`<a class="card" href="#/deployments/${part(deployment.name)}">
              <strong>${deployment.name}/${service.name}</strong> <${State} value=${service.state} />
              <span>${service.ready} of ${service.wanted} ready</span>
              ${service.rollout && !service.rollout.reason && html`<progress max=${service.rollout.of} value=${service.rollout.updated}></progress>`}
            </a>`)}</div>
        </section>
        <section aria-label="Containers">
          <h2>Containers</h2>
          ${all.length === 0
            ? html`<${Empty} what="There is no container." command="zlayer run IMAGE" />`
            : html`<p>${all.filter((one) => one.state === "running").length} running of <a href="#/containers">${all.length}</a></p>`}
        </section>`;
    }}<//>
    <h2>This node</h2>
    <${Charts} path="/stats/history" />`;
}
