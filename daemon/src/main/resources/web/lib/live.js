// What is shown follows what happens: one stream of events for the page, no polling. A view asks
// again for its resources when something happened, at most twice a second.
import { signal } from "@preact/signals";
import { useEffect, useState } from "preact/hooks";
import { events, get, session } from "./api.js";

const FROM_NOW = Number.MAX_SAFE_INTEGER;
const SPACING = 500;
const SLOWEST_RETRY = 5000;

/** open, lost, or paused while the tab is hidden. */
export const connection = signal("paused");
/** What to report once about the connection. */
export const notice = signal("");
/** Counts what happened. */
export const changes = signal(0);
/** The newest events, the last first. */
export const recent = signal([]);

let last = FROM_NOW;
let abort = null;
let pending = 0;

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
      for await (const event of events("/events", last, stop)) {
        if (event === null) {
          pause = 250;
          connection.value = "open";
          notice.value = lost ? "The agent is back; this page shows its present state." : "";
          lost = false;
          changed();
          continue;
        }
        last = Number(event.id);
        if (event.event !== "missed") {
          recent.value = [JSON.parse(event.data), ...recent.peek()].slice(0, 200);
        }
        changed();
      }
    } catch (problem) {
      if (stop.aborted || session.peek() === false) {
        return;
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

export function changed() {
  if (!pending) {
    pending = setTimeout(() => {
      pending = 0;
      changes.value++;
    }, SPACING / 2);
  }
}

/**
 * The present state of a resource, asked for again after every change.
 * @template {string | null} P
 * @param {P} path
 * @returns {{ data: import("api").Answer<P> | null, problem: any, path: string | null }}
 */
export function useResource(path) {
  const [state, setState] = useState({ data: null, problem: null, path: null });
  useEffect(() => {
    let used = true;
    let busy = false;
    let again = false;
    const load = async () => {
      if (busy) {
        again = true;
        return;
      }
      busy = true;
      do {
        again = false;
        try {
          const data = await get(path);
          if (used) {
            setState({ data, problem: null, path });
          }
        } catch (problem) {
          if (used) {
            setState((old) => ({ data: old.path === path ? old.data : null, problem, path }));
          }
        }
        if (again) {
          await new Promise((resolve) => setTimeout(resolve, SPACING));
        }
      } while (again && used);
      busy = false;
    };
    const stop = path === null ? () => {} : changes.subscribe(load);
    return () => {
      used = false;
      stop();
    };
  }, [path]);
  return state.path === path ? state : { data: null, problem: null, path };
}
