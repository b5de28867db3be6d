// What takes space, and what nobody uses: shown before it is removed.
import { useState } from "preact/hooks";
import { del, part, post } from "../../lib/api.js";
import { useResource } from "../../lib/live.js";
import { html } from "../../lib/html.js";
import { Action, Loaded, bytes, command } from "../../lib/ui.js";

const ALIVE = ["running", "paused", "stopping"];

/**
 * Containers without a deployment that do not run; the others are removed by their deployment.
 * @param {import("api").ContainerView[]} containers
 */
export const stopped = (containers) => containers.filter((one) => one.deployment === "standalone" && !ALIVE.includes(one.state));

/**
 * Images that no container uses; those with a name only if they are asked for, too.
 * @param {import("api").ImageView[]} images
 * @param {import("api").ContainerView[]} containers
 * @param {boolean} all
 */
export function unusedImages(images, containers, all) {
  const used = new Set(containers.flatMap((one) => [one.image, one.image_digest]));
  return images.filter((image) => !used.has(image.digest))
    .filter((image) => image.references.length === 0 || (all && image.references.every((name) => !used.has(name))));
}

/**
 * Volumes that no container mounts and no deployment has in its file.
 * @param {import("api").StorageVolumeView[]} volumes
 */
export const unusedVolumes = (volumes) => volumes.filter((one) => one.used_by.length === 0 && one.deployments.length === 0);

const sum = (things) => things.reduce((total, one) => total + (one.size ?? 0), 0);

export function Disk() {
  const containers = useResource("/containers?all=true&local=true");
  const images = useResource("/images?local=true");
  const volumes = useResource("/volumes?size=true&local=true");
  const [all, setAll] = useState(false);
  const [withVolumes, setWithVolumes] = useState(false);
  return html`<h1>Disk use</h1>
    <${Loaded} of=${containers}>${(every) => html`<${Loaded} of=${images}>${(pictures) => html`<${Loaded} of=${volumes}>${(stores) => {
      const old = stopped(every);
      const kept = every.filter((one) => !old.includes(one));
      const unused = unusedImages(pictures, kept, all);
      const empty = withVolumes ? unusedVolumes(stores) : [];
      const cli = command("system", "prune", ...(all ? ["--all"] : []), ...(withVolumes ? ["--volumes"] : []));
      return html`
        <div class="table"><table>
          <thead><tr>${["TYPE", "TOTAL", "UNUSED", "SIZE", "RECLAIMABLE"].map((head) => html`<th scope="col">${head}</th>`)}</tr></thead>
          <tbody>
            <tr><td><a href="#/images">images</a></td><td>${pictures.length}</td><td>${unusedImages(pictures, every, true).length}</td><td>${bytes(sum(pictures))}</td><td>${bytes(sum(unusedImages(pictures, every, true)))}</td></tr>
            <tr><td><a href="#/containers">containers</a></td><td>${every.length}</td><td>${old.length}</td><td>-</td><td>-</td></tr>
            <tr><td><a href="#/volumes">volumes</a></td><td>${stores.length}</td><td>${unusedVolumes(stores).length}</td><td>${bytes(sum(stores))}</td><td>${bytes(sum(unusedVolumes(stores)))}</td></tr>
          </tbody>
        </table></div>
        <h2>Remove what is unused</h2>
        <div class="row">
          <label><input type="checkbox" checked=${all} onChange=${(event) => setAll(event.target.checked)} /> images that have a name</label>
          <label><input type="checkbox" checked=${withVolumes} onChange=${(event) => setWithVolumes(event.target.checked)} /> volumes</label>
        </div>
        <${Preview} containers=${old} images=${unused} volumes=${empty} />
        <div class="row">${old.length + unused.length + empty.length > 0 && html`<${Action} label="Remove all of these" danger cli=${cli} run=${async () => {
          for (const one of old) {
            await del(`/containers/${part(one.id)}`);
          }
          await post("/images/prune", { all });
          if (withVolumes) {
            await post("/volumes/prune");
          }
        }} />`}</div>`;
    }}<//>`}<//>`}<//>`;
}

function Preview({ containers, images, volumes }) {
  return containers.length + images.length + volumes.length === 0
    ? html`<div class="empty" aria-label="Preview"><p>Nothing would be removed.</p></div>`
    : html`<ul class="plain preview" aria-label="Preview">
      ${containers.map((one) => html`<li key=${one.id}>container <strong>${one.name}</strong></li>`)}
      ${images.map((one) => html`<li key=${one.digest}>image <strong>${one.references.join(", ") || one.digest.slice(7, 19)}</strong> <span class="quiet">${bytes(one.size)}</span></li>`)}
      ${volumes.map((one) => html`<li key=${one.name}>volume <strong>${one.name}</strong> <span class="quiet">${bytes(one.size ?? 0)}</span></li>`)}
    </ul>`;
}
