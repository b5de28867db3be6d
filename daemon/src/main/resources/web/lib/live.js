// What is shown follows what happens: one stream of events for the page, no polling. A view asks
// again for those of its resources that an event may have changed, at most twice a second.
import { signal } from "@preact/signals";
import { useEffect, useState } from "preact/hooks";
import { events, get, session } from "./api.js";

/** What to ask for at first: what happens from now on, in a cluster on all nodes. */
const FROM_NOW = "/events?last=0";
const SPACING = 500;
const SLOWEST_RETRY = 5000;

/** open, lost, or paused while the tab is hidden. */
export const connection = signal("paused");
/** What to report once about the connection. */
export const notice = signal("");
/**
 * What happened since the last time; no events when anything may have changed. In an object of its own each time, since a signal
 * reports only another value.
 * @type {import("@preact/signals").Signal<{ events: any[] | null }>}
 */
const changes = signal({ events: null });
/**
 * Nodes of a cluster that do not answer.
 * @type {import("@preact/signals").Signal<string[]>}
 */
export const away = signal([]);
/** The newest events, the last first. */
export const recent = signal([]);

/** Where to continue; in a cluster it has a place for each node. @type {string | null} */
let last = null;
let abort = null;
let pending = 0;
/** @type {any[] | null} */
let unseen = [];

/** Events of these topics change no other resources; those of any other may change all. */
const NARROW = {
  volume: ["/volumes"],
  network: ["/networks", "/containers/"],
  image: ["/images"],
  secret: ["/secrets"],
  token: [],
  dashboard: ["/dashboard"],
};

/** The first word of a kind says what it is about. */
export const topic = (event) => event.kind.split(".")[0];
const concerns = (event, path) => !(topic(event) in NARROW) || NARROW[topic(event)].some((prefix) => path.startsWith(prefix));

/** Of this list, which may be long, only the containers are asked for again that events are about. */
const CONTAINERS = "/containers?all=true";
const LONGEST_QUERY = 4000;
const about = (event) => (topic(event) === "container" ? event.facts?.container?.path : topic(event) === "replica" ? event.subject : undefined);
/** What events call a container. */
export const containerPath = (one) => `${one.deployment}/${one.service}/${one.role === "default" ? "" : `${one.role}/`}${one.replica}${one.generation ? `@${one.generation}` : ""}`;

async function read(path, old, events) {
  const again = new Set((events ?? []).filter((event) => concerns(event, path)).map(about));
  const query = new URLSearchParams([...again].map((one) => ["path", one])).toString();
  if (path !== CONTAINERS || !old || events === null || again.has(undefined) || query.length > LONGEST_QUERY) {
    return get(path);
  }
  const fresh = await get(`${path}&${query}`);
  return [...fresh, ...old.filter((one) => !again.has(containerPath(one)))].sort((one, other) => Date.parse(other.created) - Date.parse(one.created));
}

export function follow() {
  document.addEventListener("visibilitychange", adapt);
  session.subscribe(adapt);
}

/** A hidden tab costs the agent nothing. */
function adapt() {
  const wanted = session.peek() && document.visibilityState === "visible";
  if (wanted && !abort) {
    abort = new AbortController();
    run(abort.signal);
  } else if (!wanted && abort) {
    abort.abort();
    abort = null;
    connection.value = "paused";
  }
}

async function run(stop) {
  let pause = 250;
  let lost = false;
  while (!stop.aborted) {
    try {
      away.value = []; // who is away is said at the beginning of a stream
      for await (const event of events(last === null ? FROM_NOW : "/events", last, stop)) {
        if (event === null) {
          pause = 250;
          connection.value = "open";
          notice.value = lost ? "The agent is back; this page shows its present state." : "";
          lost = false;
          changed();
          continue;
        }
        last = event.id;
        if (event.event === "nodes") {
          away.value = JSON.parse(event.data).away;
          changed();
        } else if (event.event === "missed") {
          changed();
        } else {
          const one = JSON.parse(event.data);
          recent.value = [one, ...recent.peek()].slice(0, 200);
          changed(one);
        }
      }
    } catch (problem) {
      if (stop.aborted || session.peek() === false) {
        return;
      }
      if (problem.status === 422) {
        last = null; // this node is in another cluster than before, or in none
      }
    }
    if (!stop.aborted) {
      lost = true;
      connection.value = "lost";
      notice.value = "";
      await new Promise((resolve) => setTimeout(resolve, pause));
      pause = Math.min(2 * pause, SLOWEST_RETRY);
    }
  }
}

/** @param {any} [event] without one anything may have changed */
export function changed(event) {
  unseen = event === undefined || unseen === null ? null : [...unseen, event];
  if (!pending) {
    pending = setTimeout(() => {
      pending = 0;
      changes.value = { events: unseen };
      unseen = [];
    }, SPACING / 2);
  }
}

/**
 * The present state of a resource, asked for again when something happened that may have changed it.
 * @template {string | null} P
 * @param {P} path
 * @returns {{ data: import("api").Answer<P> | null, problem: any, path: string | null }}
 */
export function useResource(path) {
  const [state, setState] = useState({ data: null, problem: null, path: null });
  useEffect(() => {
    let used = true;
    let busy = false;
    let known = null;
    /** What happened since it was asked for, if anything. */
    let missed;
    const load = async (events) => {
      if (busy) {
        missed = events === null || missed === null ? null : [...(missed ?? []), ...events];
        return;
      }
      busy = true;
      for (let next = events; next !== undefined && used; next = missed) {
        missed = undefined;
        try {
          known = await read(path, known, next);
          if (used) {
            setState({ data: known, problem: null, path });
          }
        } catch (problem) {
          known = null;
          if (used) {
            setState((old) => ({ data: old.path === path ? old.data : null, problem, path }));
          }
        }
        if (missed !== undefined) {
          await new Promise((resolve) => setTimeout(resolve, SPACING));
        }
      }
      busy = false;
    };
    let first = true;
    const stop = path === null ? () => {} : changes.subscribe(({ events }) => {
      const asked = first ? null : events;
      first = false;
      if (asked === null || asked.some((event) => concerns(event, path))) {
        load(asked);
      }
    });
    return () => {
      used = false;
      stop();
    };
  }, [path]);
  return state.path === path ? state : { data: null, problem: null, path };
}

/** Each node of a cluster counts its own events. */
export const eventKey = (event) => `${event.node ?? ""}/${event.seq}`;

/** What the agent keeps of events, of all or of one deployment, and then what happens; the newest first. */
export function useEvents(deployment, count) {
  const [state, setState] = useState({ kept: null, problem: "" });
  useEffect(() => {
    let used = true;
    get(`/events?last=${count}&limit=${count}${deployment ? `&deployment=${encodeURIComponent(deployment)}` : ""}`).then(
      (page) => used && setState({ kept: [...page.events].reverse(), problem: "" }),
      (failed) => used && setState({ kept: [], problem: failed.message }),
    );
    return () => (used = false);
  }, [deployment, count]);
  const known = new Set(recent.value.map(eventKey));
  return { problem: state.problem, loaded: state.kept !== null, events: [...recent.value, ...(state.kept ?? []).filter((one) => !known.has(eventKey(one)))] };
}
