// The page: login, navigation, and one view at a time, chosen by the part after #.
import { render } from "preact";
import { useEffect, useState } from "preact/hooks";
import { signal } from "@preact/signals";
import { begin, logout, session } from "./lib/api.js";
import { connection, follow, notice } from "./lib/live.js";
import { html } from "./lib/html.js";
import { Actions, search } from "./lib/ui.js";
import { Overview } from "./view/overview/overview.js";
import { Deployments } from "./view/deployments/deployments.js";
import { Containers } from "./view/containers/containers.js";
import { Logs } from "./view/logs/logs.js";
import { Jobs } from "./view/jobs/jobs.js";
import { Images, Networks, Secrets, Volumes } from "./view/storage/storage.js";
import { Disk } from "./view/disk/disk.js";
import { Ingress } from "./view/ingress/ingress.js";
import { Events } from "./view/events/events.js";

/** A view whose scripts are loaded when it is first shown: those of the terminal weigh as much as all others. */
function later(load) {
  let known = null;
  return function Later(props) {
    const [state, setState] = useState({ View: known, problem: "" });
    useEffect(() => {
      if (known === null) {
        load().then((View) => setState({ View: (known = View), problem: "" }), (error) => setState({ View: null, problem: error.message }));
      }
    }, []);
    if (state.problem) {
      return html`<p class="problem" role="alert">This view could not be loaded (${state.problem}): load the page again.</p>`;
    }
    return state.View ? html`<${state.View} ...${props} />` : html`<p class="quiet">Loading</p>`;
  };
}

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
};

const GROUPS = {
  Run: ["overview", "deployments", "containers", "jobs"],
  Watch: ["logs", "terminal", "events"],
  Use: ["images", "volumes", "networks", "secrets", "ingress", "disk"],
};

const place = signal(read());
const failure = signal("");

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

function App() {
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
    <${Actions} />`;
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
