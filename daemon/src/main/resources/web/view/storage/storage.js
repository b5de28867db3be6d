// What containers are made from and use: images, volumes, networks, secrets.
import { del, part } from "../../lib/api.js";
import { useResource } from "../../lib/live.js";
import { html } from "../../lib/html.js";
import { Action, Age, Empty, Loaded, Table, bytes, command, matches } from "../../lib/ui.js";

export function Images() {
  const images = useResource("/images?local=true");
  return html`<h1>Images</h1>
    <div class="row"><a class="button" href="#/disk">Remove unused ones</a></div>
    <${Loaded} of=${images}>${(list) => list.length === 0
      ? html`<${Empty} what="There is no image." command="zlayer pull IMAGE" />`
      : html`<${Table} label="Images" heads=${["NAME", "DIGEST", "SIZE", "CREATED", ""]}
          rows=${list.filter((one) => matches(...one.references, one.digest)).map((one) => ({
            key: one.digest + one.references.join(),
            cells: [
              one.references.join(", ") || "none",
              one.digest.slice(7, 19),
              bytes(one.size),
              html`<${Age} time=${one.created} />`,
              one.references.map((name) => html`<${Action} label="Remove ${name}" danger cli=${command("image", "rm", name)} run=${() => del(`/images?ref=${part(name)}`)} />`),
            ],
          }))} />`}<//>`;
}

export function Volumes() {
  const volumes = useResource("/volumes?local=true");
  return html`<h1>Volumes</h1>
    <${Loaded} of=${volumes}>${(list) => list.length === 0
      ? html`<${Empty} what="There is no volume." command="zlayer volume create NAME" />`
      : html`<${Table} label="Volumes" heads=${["NAME", "USED BY", "CREATED", ""]}
          rows=${list.filter((one) => matches(one.name, ...one.used_by)).map((one) => ({
            key: one.name,
            cells: [
              one.name,
              [...one.used_by, ...one.deployments].join(", ") || "-",
              html`<${Age} time=${one.created} />`,
              one.used_by.length === 0 ? html`<${Action} label="Remove ${one.name}" danger cli=${command("volume", "rm", one.name)} run=${() => del(`/volumes/${part(one.name)}`)} />` : "",
            ],
          }))} />`}<//>`;
}

export function Networks() {
  const networks = useResource("/networks?local=true");
  const containers = useResource("/containers?all=true");
  const names = new Map((containers.data ?? []).map((one) => [one.id, one.name]));
  const users = (network) => network.containers.map((id) => names.get(id) ?? id);
  return html`<h1>Networks</h1>
    <${Loaded} of=${networks}>${(list) => list.length === 0
      ? html`<${Empty} what="There is no network." command="zlayer network create NAME" />`
      : html`<${Table} label="Networks" heads=${["NAME", "SUBNET", "GATEWAY", "CONTAINERS", ""]}
          rows=${list.filter((one) => matches(one.name, one.subnet, ...users(one))).map((one) => ({
            key: one.name,
            cells: [one.name, [one.subnet, one.subnet_ipv6].filter(Boolean).join(", "), one.gateway, html`<span title=${users(one).join(", ")}>${users(one).join(", ") || "-"}</span>`,
              one.containers.length === 0 ? html`<${Action} label="Remove ${one.name}" danger cli=${command("network", "rm", one.name)} run=${() => del(`/networks/${part(one.name)}`)} />` : ""],
          }))} />`}<//>`;
}

const scope = (secret) => new URLSearchParams(Object.entries({ deployment: secret.deployment, service: secret.service, local: secret.node && "true" }).filter(([, value]) => value));

export function Secrets() {
  const secrets = useResource("/secrets");
  return html`<h1>Secrets</h1>
    <p class="quiet">Names only: values can be set and removed, never read.</p>
    <${Loaded} of=${secrets}>${(list) => list.length === 0
      ? html`<${Empty} what="There is no secret." command="zlayer secret set NAME" />`
      : html`<${Table} label="Secrets" heads=${["NAME", "OF", "CHANGED", ""]}
          rows=${list.filter((one) => matches(one.name, one.deployment, one.service)).map((one) => ({
            key: `${one.deployment}/${one.service}/${one.name}/${one.node}`,
            cells: [one.name, ([one.deployment, one.service].filter(Boolean).join("/") || "all deployments") + (one.node ? `, of node ${one.node}` : ""), html`<${Age} time=${one.changed} />`,
              html`<${Action} label="Remove ${one.name}" danger cli=${command("secret", "rm", one.service ? `@${one.service}/${one.name}` : one.name, ...(one.deployment ? ["--deployment", one.deployment] : []), ...(one.node ? ["--local"] : []))}
                run=${() => del(`/secrets/${part(one.name)}?${scope(one)}`)} />`],
          }))} />`}<//>`;
}
