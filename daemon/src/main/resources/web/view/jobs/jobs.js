// Jobs and schedules: what runs, what ran, and when the next runs are due.
import { address, part, post } from "../../lib/api.js";
import { useResource } from "../../lib/live.js";
import { html } from "../../lib/html.js";
import { Action, Age, Empty, Loaded, State, Until, bytes, command, matches } from "../../lib/ui.js";
import { Calendar, Skip } from "./calendar.js";

const title = (deployment, name) => (deployment === "-" ? name : `${deployment}/${name}`);
const finished = (status) => ["completed", "failed", "cancelled"].includes(status);

/** In a cluster, the node that it runs on. @param {any} execution */
const onNode = (execution) => (execution.node ? ` on node ${execution.node}` : "");

const duration = (iso) => iso.slice(2).toLowerCase().replace(/(\.\d{2})\d+/, "$1");
const seconds = (iso) => ["h", "m", "s"].reduce((sum, unit, index) => sum + Number(new RegExp(`([\\d.]+)${unit}`, "i").exec(iso ?? "")?.[1] ?? 0) * 60 ** (2 - index), 0);
const longest = (all) => all.reduce((most, one) => (seconds(one.took) > seconds(most) ? one.took : most), "PT0S");
/** A bar for each run: the longest is the highest. */
const height = (one, all) => 6 + 34 * (seconds(one.took) / Math.max(0.001, ...all.map((other) => seconds(other.took))));

export function Jobs({ path }) {
  if (path.length === 0) {
    return html`<${List} />`;
  }
  return path[0] === "calendar" ? html`<${Calendar} />` : html`<${Execution} id=${path[0]} />`;
}

function List() {
  const jobs = useResource("/jobs");
  const executions = useResource("/executions?limit=200");
  const queue = useResource("/queue");
  return html`<h1>Jobs</h1>
    <div class="row"><a class="button" href="#/jobs/calendar">Calendar</a>
      <span class="quiet">${(queue.data || []).length === 0 ? "nothing is queued" : `${queue.data.length} queued: ${queue.data.slice(0, 5).map((one) => one.execution.name).join(", ")}`}</span></div>
    <${Loaded} of=${jobs}>${(list) => list.length === 0
      ? html`<${Empty} what="There is no job." command="zlayer job run -f FILE" />`
      : list.filter((job) => matches(job.deployment, job.name, job.image)).map((job) => html`<${Job} key=${title(job.deployment, job.name)} job=${job}
          executions=${(executions.data || []).filter((one) => one.name.startsWith(title(job.deployment, job.name) + "/"))} />`)}<//>`;
}

/** @param {{ job: import("api").JobsJobView, executions: import("api").ExecutionView[] }} props */
function Job({ job, executions }) {
  const full = title(job.deployment, job.name);
  const own = `${part(job.deployment)}/${part(job.name)}`;
  const cron = job.cron;
  return html`<section class="panel" aria-label=${full}>
    <h2>${full} ${job.last && html`<${State} value=${job.last.status} />`}</h2>
    ${job.last?.reason && html`<p class="problem">${job.last.reason}</p>`}
    ${cron && html`<p>${cron.expression} (${cron.zone})${cron.enabled ? html`, next run ${cron.next_run ? html`<${Until} time=${cron.next_run} />` : "unknown"}` : ", disabled"}
      <${Skip} of=${cron} />
      ${cron.trouble && html`<br /><span class="problem">${cron.trouble}</span>`}</p>`}
    <div class="row">
      ${cron
        ? html`<${Action} label="Run ${full} now" cli=${command("cron", "run", full)} run=${() => post(`/cron/${own}/run`)} />
          ${cron.enabled
            ? html`<${Action} label="Disable ${full}" cli=${command("cron", "disable", full)} run=${() => post(`/cron/${own}/disable`)} />`
            : html`<${Action} label="Enable ${full}" cli=${command("cron", "enable", full)} run=${() => post(`/cron/${own}/enable`)} />`}`
        : html`<${Action} label="Run ${full} now" cli=${command("job", "run", full)} run=${() => post(`/jobs/${own}/executions`, {})} />`}
    </div>
    ${executions.length > 0 && html`<p class="quiet caption">${executions.length} kept ${executions.length === 1 ? "run" : "runs"}, the longest took ${duration(longest(executions))}; the last <${Age} time=${job.last?.created ?? executions.at(-1).created} /> ago</p>`}
    <ol class="bars" aria-label="Runs of ${full}">${executions.map((one) => html`<li key=${one.id}>
      <a class="bar ${one.status}" href="#/jobs/${part(one.id)}" title="${one.name}: ${one.status}${onNode(one)}${one.took ? `, took ${duration(one.took)}` : ""}">
        <svg width="14" height="40" aria-hidden="true"><rect x="0" width="14" rx="2" y=${40 - height(one, executions)} height=${height(one, executions)} /></svg>
        <span class="spoken">${one.name.split("/").pop()}: ${one.status}</span></a></li>`)}</ol>
  </section>`;
}

function Execution({ id }) {
  const own = `/executions/${part(id)}`;
  const execution = useResource(own);
  return html`${execution.data === null && html`<h1>${id}</h1>`}
    <${Loaded} of=${execution}>${(one) => html`<h1>${one.name}</h1>
    <p><${State} value=${one.status} />${onNode(one)} created <${Age} time=${one.created} /> ago${one.took && `, took ${duration(one.took)}`}
      ${one.code !== undefined && one.code !== null && `, exit code ${one.code}`}</p>
    ${one.reason && html`<p class="problem">${one.reason}</p>`}
    <div class="row">
      <a class="button" href="#/logs/execution/${part(id)}">Output</a>
      ${finished(one.status)
        ? html`<${Action} label="Retry" cli=${command("job", "retry", one.name)} run=${() => post(`${own}/retry`)} />`
        : html`<${Action} label="Cancel" danger cli=${command("job", "cancel", one.name)} run=${() => post(`${own}/cancel`)} />`}
    </div>
    ${one.attempts.map((attempt) => html`<section aria-label="Attempt ${attempt.number}"><h2>Attempt ${attempt.number}</h2>
      <p>${attempt.ended ?? "not ended"}${attempt.error && html` <span class="problem">${attempt.error}</span>`}</p>
      <ul class="plain">${attempt.steps.map((step) => html`<li>${step.step}: ${step.result} ${step.error}</li>`)}
        ${attempt.artifacts.map((file) => html`<li><a download="${file.path.split("/").pop()}.tar" href=${address(`${own}/artifacts/${file.path.split("/").filter(Boolean).map(part).join("/")}?attempt=${attempt.number}`)}>${file.path}</a>
          <span class="quiet">${" "}artifact, ${bytes(file.bytes)}</span></li>`)}
        ${attempt.artifacts.length > 0 && html`<li><code>${command("job", "artifacts", one.name)}</code></li>`}
        ${attempt.notes.map((note) => html`<li>${note}</li>`)}</ul></section>`)}`}<//>`;
}
