// Who waits for whom, as a picture: those that wait for nobody on the left, arrows from what is waited for.
import { html } from "../../lib/html.js";
import { stateKind } from "../../lib/ui.js";

const WIDTH = 170;
const HEIGHT = 44;
const GAP_X = 110;
const GAP_Y = 18;
const LABEL = 18;
const LONGEST = 20;

/** The column of each: one after the last of those that it waits for. Circles cannot be applied, but end here too. */
export function columns(names, edges) {
  const known = new Map();
  const column = (name, path) => {
    if (!known.has(name)) {
      const before = edges.filter((edge) => edge.from === name && names.includes(edge.to) && !path.includes(edge.to));
      known.set(name, before.length === 0 ? 0 : 1 + Math.max(...before.map((edge) => column(edge.to, [...path, name]))));
    }
    return known.get(name);
  };
  names.forEach((name) => column(name, []));
  return known;
}

/**
 * Where each is drawn. An arrow over several columns gets a place in those between, so that it crosses no box; arrows arrive one
 * below the other, so that their words do not cover each other.
 */
export function layout(names, edges) {
  const column = columns(names, edges);
  const known = edges.filter((edge) => column.has(edge.from) && column.has(edge.to));
  const bottoms = [];
  const place = (x, height) => {
    const y = bottoms[x] ?? 0;
    bottoms[x] = y + height + GAP_Y;
    return { x: x * (WIDTH + GAP_X), y, height };
  };
  const places = new Map();
  const paths = new Map(known.map((edge) => [edge, []]));
  const last = Math.max(0, ...column.values());
  for (let x = 0; x <= last; x++) {
    for (const name of names.filter((one) => column.get(one) === x)) {
      const arrows = known.filter((edge) => edge.from === name).length;
      places.set(name, place(x, Math.max(HEIGHT, LABEL * (arrows + 1))));
    }
    for (const edge of known.filter((one) => column.get(one.to) < x && x < column.get(one.from))) {
      paths.get(edge).push(place(x, LABEL));
    }
  }
  // where an arrow comes from: those from above arrive above, and do not cross
  const level = (edge) => (paths.get(edge).at(-1) ?? places.get(edge.to)).y;
  const lines = known.map((edge) => {
    const from = places.get(edge.to);
    const to = places.get(edge.from);
    const arrivals = known.filter((one) => one.from === edge.from).sort((one, other) => level(one) - level(other));
    const y = to.y + (to.height * (arrivals.indexOf(edge) + 1)) / (arrivals.length + 1);
    const through = paths.get(edge).flatMap((one) => [[one.x, one.y + one.height / 2], [one.x + WIDTH, one.y + one.height / 2]]);
    return { edge, points: [[from.x + WIDTH, from.y + from.height / 2], ...through, [to.x - 2, y]] };
  });
  return { places, lines, width: last * (WIDTH + GAP_X) + WIDTH, height: Math.max(HEIGHT, ...bottoms.map((y) => y - GAP_Y)) };
}

/** Straight through a column, curved between columns. */
export const curve = (points) => points.slice(1).reduce((path, [x, y], index) => {
  const [before, level] = points[index];
  const middle = (before + x) / 2;
  return `${path} C${middle} ${level} ${middle} ${y} ${x} ${y}`;
}, `M${points[0].join(" ")}`);

const shorten = (name) => (name.length > LONGEST ? `${name.slice(0, LONGEST - 1)}…` : name);

/** @param {{ deployment: import("api").DeploymentView }} props */
export function Graph({ deployment }) {
  const nodes = [
    ...deployment.services.map((one) => ({ name: one.name, state: one.state, note: `${one.ready} of ${one.wanted} ready` })),
    ...deployment.jobs.map((one) => ({ name: one.name, state: one.last?.status ?? "job", note: one.cron ? "schedule" : "job" })),
  ];
  const edges = deployment.dependencies;
  if (edges.length === 0) {
    return null;
  }
  const { places, lines, width, height } = layout(nodes.map((one) => one.name), edges);
  const words = lines.map(({ edge }) => `${edge.from} waits for ${edge.to} to be ${edge.condition}`).join("; ");
  return html`<h2>Dependencies</h2>
    <div class="graph" role="region" aria-label="Dependencies" tabindex="0">
      <svg width=${width + 4} height=${height + 4} viewBox="-2 -2 ${width + 4} ${height + 4}" role="img" aria-label=${words}>
        <defs><marker id="arrow" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="8" markerHeight="8" orient="auto"><path d="M0 0 8 4 0 8z" class="tip" /></marker></defs>
        ${lines.map(({ edge, points }) => html`<g class="edge" key=${`${edge.from} ${edge.to}`}>
          <path d=${curve(points)} marker-end="url(#arrow)" />
          <text x=${points.at(-1)[0] - GAP_X / 2 + 4} y=${points.at(-1)[1] - 4} text-anchor="middle">${edge.condition}</text></g>`)}
        ${nodes.map((one) => {
          const { x, y, height: own } = places.get(one.name);
          return html`<g key=${one.name} class="node ${stateKind(one.state)}" transform="translate(${x} ${y})">
            <title>${one.name}: ${one.state}, ${one.note}</title>
            <rect width=${WIDTH} height=${own} rx="5" />
            <text x="10" y="18" class="name">${shorten(one.name)}</text>
            <text x="10" y="35" class="note">${String(one.state).replace("_", " ")}, ${one.note}</text>
          </g>`;
        })}
      </svg>
    </div>`;
}
