// The next runs of all schedules, by day, each at the time that the clocks of its zone show.
import { useState } from "preact/hooks";
import { useResource } from "../../lib/live.js";
import { html } from "../../lib/html.js";
import { Empty, Loaded, matches } from "../../lib/ui.js";

const SPANS = { day: "1d", week: "7d", month: "31d" };
/** Of one schedule and day only so many are listed: one that runs every minute would fill the page. */
const MOST_A_DAY = 6;
/** The agent lists so many of each schedule. */
const MOST_KNOWN = 100;

const own = Intl.DateTimeFormat().resolvedOptions().timeZone;
const day = (time) => new Date(time).toLocaleDateString(undefined, { weekday: "short", year: "numeric", month: "short", day: "numeric" });
const clock = (time) => new Date(time).toLocaleTimeString(undefined, { hour: "2-digit", minute: "2-digit", hourCycle: "h23" });

/**
 * Runs by day of this browser, and by job within: the first ones and how many more there are.
 * @param {import("api").JobsUpcomingView[]} runs
 */
export function byDay(runs) {
  const days = new Map();
  for (const run of runs) {
    const jobs = days.get(day(run.due)) ?? new Map();
    days.set(day(run.due), jobs);
    jobs.set(run.job, [...(jobs.get(run.job) ?? []), run]);
  }
  return [...days].map(([name, jobs]) => ({ name, jobs: [...jobs].map(([job, all]) => ({ job, shown: all.slice(0, MOST_A_DAY), more: all.length - MOST_A_DAY, open: runs.filter((run) => run.job === job).length >= MOST_KNOWN })) }));
}

export function Calendar() {
  const [span, setSpan] = useState("week");
  const runs = useResource(`/cron/upcoming?within=${SPANS[span]}`);
  const schedules = useResource("/cron");
  return html`<h1>Calendar</h1>
    <div class="row"><a class="button" href="#/jobs">Jobs</a>
      <span role="group" aria-label="Time span" class="row">${Object.keys(SPANS).map((word) => html`
        <button type="button" aria-pressed=${span === word} onClick=${() => setSpan(word)}>${word}</button>`)}</span>
      <span class="quiet">days and times of ${own}; the time of the schedule's own zone beside them</span></div>
    <${Loaded} of=${runs}>${(list) => list.length === 0
      ? html`<${Empty} what="No schedule runs in this time. A service of a deployment file with these keys is a schedule:" command='rtype: cron, schedule: "@daily"' />`
      : byDay(list.filter((run) => matches(run.job))).map(({ name, jobs }) => html`<section key=${name} class="day" aria-label=${name}>
        <h2>${name}</h2>
        <ul class="plain">${jobs.map(({ job, shown, more, open }) => html`<li key=${job}>
          <a href="#/jobs">${job}</a> ${shown.map((run) => html`<span class="due" key=${run.due} title=${run.due}>
            <time dateTime=${run.due}>${clock(run.due)}</time>${run.zone !== own && html` <span class="quiet">${run.local.slice(11, 16)} ${run.zone}</span>`}
            ${run.note && html` <span class="note">${run.note}</span>`}</span>`)}
          ${more > 0 && html`<span class="quiet">and ${open ? "many" : more} more</span>`}</li>`)}</ul>
      </section>`)}<//>
    <${Loaded} of=${schedules}>${(list) => html`<${Skips} list=${list.filter((one) => one.last_skip || !one.enabled || one.trouble)} />`}<//>`;
}

/**
 * Runs that did not happen, and why.
 * @param {{ list: import("api").CronStatus[] }} props
 */
function Skips({ list }) {
  return html`<h2>Not run</h2>
    ${list.length === 0 ? html`<p class="quiet">No run was skipped, and every schedule is enabled.</p>` : html`<ul class="plain" aria-label="Not run">
      ${list.map((one) => html`<li key=${one.job}><a href="#/jobs">${one.job}</a>${!one.enabled && ": disabled, no run is due"}
        <${Skip} of=${one} />${one.trouble && html` <span class="problem">${one.trouble}</span>`}</li>`)}</ul>`}`;
}

export function Skip({ of }) {
  const skip = of.last_skip;
  return skip ? html`<span class="skip">${": "}${skip.count} skipped ${skip.first === skip.last
    ? html`at <time>${skip.first}</time>` : html`from <time>${skip.first}</time> to <time>${skip.last}</time>`}: ${skip.reason}${of.skips > skip.count && ` (${of.skips} in all)`}</span>` : null;
}
