// The machines of a cluster.
import { away, useResource } from "../../lib/live.js";
import { html } from "../../lib/html.js";
import { Action, Empty, State, Table, bytes, command, matches } from "../../lib/ui.js";
import { part, post } from "../../lib/api.js";

const NO_CLUSTER = 409;

/** @param {import("api").ClusterNodeView} node */
const capacity = (node) => [node.cpus && `${node.cpus} cpus`, node.memory_bytes && bytes(node.memory_bytes), ...node.gpus].filter(Boolean).join(", ") || "-";

/** @param {{ node: import("api").ClusterNodeView }} props */
function Scheduling({ node }) {
  const set = (scheduling) => () => post(`/nodes/${part(node.name)}/scheduling`, { scheduling });
  return node.status === "ready"
    ? html`<${Action} label="Cordon ${node.name}" cli=${command("node", "cordon", node.name)} run=${set("cordoned")} />
      <${Action} label="Drain ${node.name}" danger cli=${command("node", "drain", node.name)} run=${set("draining")} />`
    : node.status === "lost" ? "" : html`<${Action} label="Uncordon ${node.name}" cli=${command("node", "uncordon", node.name)} run=${set("ready")} />`;
}

export function Nodes() {
  const cluster = useResource("/cluster");
  if (cluster.problem?.status === NO_CLUSTER) {
    return html`<h1>Nodes</h1><${Empty} what="This node is in no cluster." command="zlayer cluster init" />`;
  }
  const one = cluster.data;
  return html`<h1>Nodes</h1>
    ${cluster.problem && html`<p class="problem" role="alert">${cluster.problem.message}</p>`}
    ${one === null && !cluster.problem && html`<p class="quiet">Loading</p>`}
    ${one && html`
      ${[one.problem, one.unreachable].filter(Boolean).map((text) => html`<p class="problem" role="alert">${text}</p>`)}
      ${away.value.length > 0 && html`<p class="problem" role="alert">does not answer: ${away.value.join(", ")}</p>`}
      <${Table} label="Nodes" heads=${["NAME", "STATUS", "ROLE", "ADDRESS", "CAPACITY", "REPLICAS", "VERSION", ""]}
        rows=${one.nodes.filter((node) => matches(node.name, node.address, node.status, ...Object.entries(node.labels).flat())).map((node) => ({
          key: node.id,
          cells: [
            html`${node.name}${node.self && html` <span class="quiet">this one</span>`}`,
            html`<${State} value=${node.status} />`,
            [node.name === one.leader && "leader", node.server && "server"].filter(Boolean).join(", ") || "-",
            node.address,
            capacity(node),
            node.replicas,
            node.version ?? "-",
            html`<${Scheduling} node=${node} />`,
          ],
        }))} />
      <p class="quiet">Labels, certificates and backups: <code>zlayer node inspect NAME</code>, <code>zlayer cluster status</code></p>`}`;
}

/** How many nodes answer, for the overview. */
export function NodeTile() {
  const cluster = useResource("/cluster");
  const nodes = cluster.data?.nodes ?? [];
  const lost = nodes.filter((node) => node.status === "lost").length;
  return nodes.length === 0 ? null : html`<a class="tile ${lost > 0 ? "bad" : ""}" href="#/nodes"><strong>${nodes.length - lost} of ${nodes.length}</strong><span>nodes alive</span></a>`;
}
