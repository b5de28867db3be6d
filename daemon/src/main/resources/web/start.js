// Asks for what the first view shows while its scripts are still being loaded, and loads the page again when one of its files does not
// arrive: browsers break off what they load when an interface of their host changes, as it does with every container that starts
// there. The secret of the link is still in the address then.
const TRIES = "zlayer-tries";
const MOST = 5;
const OVERVIEW = ["/deployments", "/containers?all=true", "/jobs", "/ingress/certificates", "/health/ready"];

/** Answers to come, by path: each is used once. */
const answers = new Map();
if (!location.hash.includes("token=")) {
  const first = /^(#\/?(overview)?)?$/.test(location.hash) ? OVERVIEW : [];
  for (const path of ["/session", ...first.map((one) => `/api/v1${one}`)]) {
    const answer = fetch(path, { headers: { Accept: "application/json" }, cache: "no-store" });
    answer.catch(() => {}); // whoever uses it hears of it
    answers.set(path, answer);
  }
}
globalThis.early = answers;

import("./app.js").then(
  () => sessionStorage.removeItem(TRIES),
  (error) => {
    const tries = Number(sessionStorage.getItem(TRIES) || 0);
    if (tries < MOST) {
      sessionStorage.setItem(TRIES, String(tries + 1));
      setTimeout(() => location.reload(), 300 * (tries + 1));
    } else {
      sessionStorage.removeItem(TRIES);
      document.getElementById("app").textContent = `The page could not be loaded (${error.message}): load it again.`;
    }
  },
);
