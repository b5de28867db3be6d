// Containers: the list, and one of them in full.
import { useState } from "preact/hooks";
import { del, get, part, post, session } from "../../lib/api.js";
import { containerPath, useResource } from "../../lib/live.js";
import { html } from "../../lib/html.js";
import { Action, Age, Charts, Checks, Empty, EventsOf, Loaded, NodeChoice, State, Table, bytes, command, inert, matches, nodesOf, onChosenNode } from "../../lib/ui.js";

export function Containers({ path }) {
  return path.length === 0 ? html`<${List} />` : html`<${Container} id=${path[0]} />`;
}

const ports = (container) => container.ports.map((one) => `${one.host_ip}:${one.host_port} to ${one.container_port}/${one.protocol}`).join(", ");

function List() {
  const containers = useResource("/containers?all=true");
  return html`<h1>Containers</h1>
    <${Loaded} of=${containers}>${(all) => {
      const nodes = nodesOf(all).length > 0;
      const shown = all.filter((one) => onChosenNode(one) && matches(one.name, one.image, one.state, ...Object.entries(one.labels).flat()));
      return all.length === 0
        ? html`<${Empty} what="There is no container." command="zlayer run IMAGE" />`
        : html`${nodes && html`<div class="row"><${NodeChoice} of=${all} /></div>`}<${Table} label="Containers" heads=${["NAME", ...(nodes ? ["NODE"] : []), "STATUS", "IMAGE", "CREATED", "PORTS", "RESTARTS"]}
            rows=${shown.map((one) => ({
              key: `${one.node ?? ""}/${one.id}`,
              cells: [
                html`<a href="#/containers/${part(one.id)}">${one.name}</a>`,
                ...(nodes ? [one.node ?? "-"] : []),
                html`<${State} value=${one.health ? one.health.toLowerCase() : one.state} />`,
                one.image,
                html`<${Age} time=${one.created} />`,
                ports(one),
                one.restarts,
              ],
            }))} />`;
    }}<//>`;
}

function Facts({ of }) {
  return html`<dl>${Object.entries(of).filter(([, value]) => value !== undefined && value !== null && value !== "")
    .map(([name, value]) => html`<dt>${name}</dt><dd>${value}</dd>`)}</dl>`;
}

/** What is mounted, where, and how. @param {import("api").Mount} mount */
const mounted = (mount) => ({
  source: mount.type === "bind" ? mount.source
    : mount.type === "named" ? html`volume <a href="#/volumes">${mount.name}</a>${mount.subpath && ` (${mount.subpath})`}`
    : mount.type === "tmpfs" ? `memory${mount.size_bytes ? `, at most ${bytes(mount.size_bytes)}` : ""}`
    : mount.type === "anonymous" ? "a volume of its own" : "supplied by the agent",
  readOnly: "read_only" in mount && mount.read_only,
});

function Container({ id }) {
  const own = `/containers/${part(id)}`;
  const details = useResource(own);
  return html`${details.data === null && html`<h1>${inert(id)}</h1>`}
    <${Loaded} of=${details}>${({ container, process, file_system, health_check }) => {
    const name = container.name;
    const replica = name.includes("/");
    const live = ["running", "paused", "stopping"].includes(container.state);
    return html`<h1>${name}</h1>
      <div class="row">
        ${live
          ? html`<${Action} label="Stop" cli=${command("stop", name)} run=${() => post(`${own}/stop`)} />
            <${Action} label="Kill" danger cli=${command("kill", name)} run=${() => post(`${own}/kill`)} />`
          : html`<${Action} label="Start" cli=${command("start", name)} run=${() => post(`${own}/start`)} />`}
        <${Action} label="Restart" cli=${command("restart", name)} run=${() => post(`${own}/restart`)} />
        <${Action} label="Remove" danger cli=${command("rm", "-f", name)} run=${async () => {
          await del(`${own}?force=true`);
          location.hash = "#/containers";
        }} />
        <a class="button" href="#/logs/container/${part(id)}">Logs</a>
        ${live && html`<a class="button" href="#/terminal/${part(id)}">Terminal</a>`}
      </div>
      <${Facts} of=${{
        Status: html`<${State} value=${container.state} />`,
        Node: container.node,
        Health: container.health && html`<${State} value=${container.health.toLowerCase()} /> ${health_check?.output}`,
        Exit: container.exit?.reason,
        Problem: container.problem,
        Image: container.image,
        Digest: container.image_digest,
        Command: container.command.join(" "),
        Started: container.started && html`<${Age} time=${container.started} /> ago`,
        Address: [container.ip, container.ipv6].filter(Boolean).join(", "),
        Ports: ports(container),
        User: process.user,
        "Working directory": process.workdir,
        Runtime: container.runtime,
        Restarts: container.restarts,
        Id: container.id,
      }} />
      <${Probes} container=${container} own=${health_check?.history} />
      <h2>Figures</h2>
      <${Charts} path="${own}/stats/history" />
      <${Environment} own=${own} names=${process.env} />
      <h2>Mounts</h2>
      ${(file_system?.mounts ?? []).length === 0 ? html`<p class="quiet">none</p>` : html`<div class="table" role="region" tabindex="0" aria-label="Mounts"><table>
        <thead><tr>${["IN THE CONTAINER", "FROM", "ACCESS"].map((head) => html`<th scope="col">${head}</th>`)}</tr></thead>
        <tbody>${file_system.mounts.map((mount) => html`<tr key=${mount.target}><td><code>${mount.target}</code></td><td>${mounted(mount).source}</td><td>${mounted(mount).readOnly ? "read-only" : "read and write"}</td></tr>`)}</tbody></table></div>`}
      <h2>Labels</h2>
      ${Object.keys(container.labels).length === 0 ? html`<p class="quiet">none</p>` : html`<${Facts} of=${container.labels} />`}
      <${Processes} own=${own} live=${live} name=${name} />
      <${ChangedFiles} own=${own} name=${name} />
      <h2>Events</h2>
      <${EventsOf} label="Events of ${name}" deployment=${replica ? container.deployment : ""} wants=${(event) => event.subject.split("@")[0] === name || event.facts?.container?.path === containerPath(container)} />`;
  }}<//>`;
}

/** Of a replica its service knows them. */
function Probes({ container, own }) {
  const replica = container.name.includes("/") && container.role !== "job";
  const service = useResource(replica ? `/deployments/${part(container.deployment)}/services/${part(container.service)}` : null);
  const history = own ?? service.data?.replicas.find((one) => one.container === container.id)?.health?.history ?? [];
  return history.length === 0 ? null : html`<h2>Health checks</h2><${Checks} history=${history} />`;
}

/** Asked for when a person wants to see it: reading it costs the agent something. */
function useAsked(path) {
  const [data, setData] = useState(null);
  const [problem, setProblem] = useState("");
  const load = () => get(path).then((answer) => {
    setData(answer);
    setProblem("");
  }, (failed) => setProblem(failed.message));
  return { data, problem: problem && html`<p class="problem" role="alert">${problem}</p>`, load };
}

/** Names at first; values of those that are no secrets for who asks, unless the session only reads. */
function Environment({ own, names }) {
  const { data, problem, load } = useAsked(`${own}/environment`);
  const values = new Map((data ?? []).map((one) => [one.name, one.value]));
  return html`<h2>Environment</h2>
    ${problem}
    ${names.length === 0 ? html`<p class="quiet">none</p>` : html`
      ${!session.value.read_only && !data && html`<div class="row"><button type="button" onClick=${load}>Show values</button> <span class="quiet">values of secrets stay hidden</span></div>`}
      <section aria-label="Environment"><dl>${names.map((variable) => html`<dt><code>${inert(variable)}</code></dt>
        <dd>${values.get(variable) === undefined ? html`<span class="quiet">hidden</span>` : html`<code>${inert(values.get(variable))}</code>`}</dd>`)}</dl></section>`}`;
}

function Processes({ own, live, name }) {
  const { data, problem, load } = useAsked(`${own}/top`);
  return html`<h2>Processes</h2>
    ${problem}
    ${live ? html`<div class="row"><button type="button" onClick=${load}>Show processes</button> <code>${command("top", name)}</code></div>` : html`<p class="quiet">It does not run.</p>`}
    ${data && html`<div class="table" role="region" tabindex="0" aria-label="Processes"><table>
      <thead><tr>${data.titles.map((title) => html`<th scope="col">${title}</th>`)}</tr></thead>
      <tbody>${data.rows.map((row) => html`<tr>${row.map((cell) => html`<td>${inert(cell)}</td>`)}</tr>`)}</tbody></table></div>`}`;
}

/** Against the image: what was added, modified and deleted. */
function ChangedFiles({ own, name }) {
  const { data, problem, load } = useAsked(`${own}/changes`);
  const shown = (data ?? []).filter((one) => matches(one.path));
  return html`<h2>Changed files</h2>
    ${problem}
    <div class="row"><button type="button" onClick=${load}>Show changed files</button> <code>${command("container", "diff", name)}</code></div>
    ${data && (data.length === 0 ? html`<p class="quiet">It has the files of its image.</p>`
      : html`<${Table} label="Changed files" heads=${["CHANGE", "PATH"]} rows=${shown.map((one) => ({ key: one.path, cells: [String(one.kind).toLowerCase(), inert(one.path)] }))} />`)}`;
}
