// The page: login, navigation, and one view at a time, chosen by the part after #.
import { render } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { signal } from "@preact/signals";
import { begin, logout, session } from "./lib/api.js";
import { connection, follow, notice } from "./lib/live.js";
import { html } from "./lib/html.js";
import { nextTheme, theme } from "./lib/theme.js";
import { Actions, later, search } from "./lib/ui.js";
import { Overview } from "./view/overview/overview.js";
import { Deployments } from "./view/deployments/deployments.js";
import { Containers } from "./view/containers/containers.js";
import { Logs } from "./view/logs/logs.js";
import { Jobs } from "./view/jobs/jobs.js";
import { Images, Networks, Secrets, Volumes } from "./view/storage/storage.js";
import { Disk } from "./view/disk/disk.js";
import { Ingress } from "./view/ingress/ingress.js";
import { Events } from "./view/events/events.js";
import { Nodes } from "./view/nodes/nodes.js";
import { Sessions } from "./view/sessions/sessions.js";

/** Its scripts weigh as much as all others. */
const Terminal = later(() => import("./view/terminal/terminal.js").then((module) => module.Terminal));

// the key after g, the title, the view
const VIEWS = {
  overview: ["o", "Overview", Overview],
  deployments: ["s", "Services", Deployments],
  containers: ["c", "Containers", Containers],
  logs: ["l", "Logs", Logs],
  terminal: ["t", "Terminal", Terminal],
  jobs: ["j", "Jobs", Jobs],
  images: ["i", "Images", Images],
  volumes: ["v", "Volumes", Volumes],
  networks: ["n", "Networks", Networks],
  secrets: ["x", "Secrets", Secrets],
  ingress: ["h", "Ingress", Ingress],
  disk: ["d", "Disk use", Disk],
  events: ["e", "Events", Events],
  nodes: ["m", "Nodes", Nodes],
  sessions: ["u", "Sessions", Sessions],
};

const GROUPS = {
  Run: ["overview", "deployments", "containers", "jobs"],
  Watch: ["logs", "terminal", "events"],
  Use: ["images", "volumes", "networks", "secrets", "ingress", "disk", "nodes"],
  Access: ["sessions"],
};

const place = signal(read());
const failure = signal("");
/** Whether the keys are explained. */
const help = signal(false);

function read() {
  const [view, ...rest] = location.hash.replace(/^#\/?/, "").split("/");
  return { view: view in VIEWS ? view : "overview", rest: rest.filter(Boolean).map(decoded) };
}

/** An address may be typed by hand. */
function decoded(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

addEventListener("hashchange", () => {
  place.value = read();
  search.value = "";
});

let prefix = false;
addEventListener("keydown", (event) => {
  if (/** @type {Element} */ (event.target).closest("input, textarea, select, dialog, .terminal") || event.ctrlKey || event.metaKey || event.altKey) {
    return;
  }
  if (event.key === "/") {
    event.preventDefault();
    document.getElementById("search")?.focus();
  } else if (event.key === "?") {
    help.value = true;
  } else if (prefix) {
    const found = Object.entries(VIEWS).find(([, [key]]) => key === event.key);
    if (found) {
      location.hash = "#/" + found[0];
    }
  }
  prefix = event.key === "g";
});

function Login() {
  return html`<main class="login">
    <h1>zlayer</h1>
    <p role="alert">${failure.value || "The session has ended."}</p>
    <p>Get a link on the host of the agent:</p>
    <pre class="command">zlayer dashboard</pre>
  </main>`;
}

function Help() {
  const dialog = useRef(null);
  useEffect(() => {
    if (help.value && !dialog.current.open) {
      dialog.current.showModal();
    } else if (!help.value && dialog.current.open) {
      dialog.current.close();
    }
  }, [help.value]);
  return html`<dialog ref=${dialog} class="help" aria-label="Keys" onClose=${() => (help.value = false)}>
    <h2>Keys</h2>
    <dl><dt><kbd>/</kbd></dt><dd>Search this view</dd><dt><kbd>?</kbd></dt><dd>These keys</dd>
      ${Object.values(VIEWS).map(([key, title]) => html`<dt><kbd>g</kbd> <kbd>${key}</kbd></dt><dd>${title}</dd>`)}</dl>
    <button type="button" onClick=${() => (help.value = false)}>Close</button>
  </dialog>`;
}

function App() {
  const chosen = place.value.view;
  // on a phone the views are one row, of which a part is in sight
  useEffect(() => document.querySelector("nav [aria-current]")?.scrollIntoView({ block: "nearest", inline: "center" }), [chosen]);
  if (session.value === null) {
    return html`<p class="quiet">Loading</p>`;
  }
  if (session.value === false) {
    return html`<${Login} />`;
  }
  const { view, rest } = place.value;
  const View = VIEWS[view][2];
  document.title = `${VIEWS[view][1]} - zlayer`;
  return html`
    <header>
      <a class="brand" href="#/overview">zlayer</a>
      <input id="search" type="search" placeholder="Search this view  /" aria-label="Search" value=${search.value}
        onInput=${(event) => (search.value = event.target.value)} />
      <span class="who">${session.value.user}${session.value.read_only ? ", read-only" : ""}</span>
      <button type="button" class="keys" aria-label="Keys" title="Keys  ?" onClick=${() => (help.value = true)}>?</button>
      <button type="button" title="Change between light and dark" onClick=${nextTheme}>Theme: ${theme.value}</button>
      <button type="button" onClick=${() => logout().catch(() => {})}>Log out</button>
    </header>
    <nav aria-label="Views"><div class="inside">
      ${Object.entries(GROUPS).map(([group, names]) => html`<div role="group" aria-label=${group}><span class="group" aria-hidden="true">${group}</span>
        ${names.map((name) => html`<a key=${name} href="#/${name}" title="g ${VIEWS[name][0]}" aria-current=${name === view ? "page" : undefined}>${VIEWS[name][1]}</a>`)}</div>`)}
    </div></nav>
    <div role="status" id="connection" class=${connection.value}>
      ${connection.value === "lost" ? "The connection to the agent is lost; trying again." : notice.value}
    </div>
    <main id="main"><${View} key=${rest.join("/")} path=${rest} /></main>
    <${Actions} />
    <${Help} />`;
}

begin()
  .catch((problem) => {
    failure.value = problem.message;
    session.value = false;
  })
  .finally(follow);
const root = document.getElementById("app");
root.replaceChildren();
render(html`<${App} />`, root);
