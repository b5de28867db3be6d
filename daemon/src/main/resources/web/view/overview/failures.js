// What fails on this node, with its reason. Pure: a function of what the agent answered.
import { part } from "../../lib/api.js";

const SOUND = ["running", "idle", "stopped", "deploying", "waiting", "removing"];
const EXPIRY_WARNING_MS = 14 * 86400 * 1000;

const lower = (word) => String(word ?? "").toLowerCase();

/**
 * The agent itself and its host: a full disk, state that cannot be written, a part that has ended.
 * @param {import("api").Health | null | undefined} health
 */
function ofNode(health) {
  const parts = Object.entries(health?.parts ?? {})
    .filter(([, text]) => text !== "ok")
    .map(([name, text]) => ({ name: `this node: ${name}`, href: "#/events", state: "failed", message: text, command: "zlayer doctor" }));
  const owners = (health?.owners ?? [])
    .filter((one) => lower(one.condition) !== "running")
    .map((one) => ({ name: `this node: ${one.name}`, href: "#/events", state: "failed", message: one.reason ?? `it is ${lower(one.condition)}`, command: "zlayer doctor" }));
  return [...parts, ...owners];
}

/**
 * @param {import("api").DeploymentView} deployment
 * @param {import("api").DeploymentViewServiceView} service
 */
function ofService(deployment, service) {
  const replica = service.replicas.find((one) => one.last_error);
  const unhealthy = service.replicas.find((one) => lower(one.health?.state) === "unhealthy");
  const failure = service.last_error ?? service.rollout?.reason ?? replica?.last_error;
  const broken = !SOUND.includes(service.state);
  if (!broken && !(failure && service.state !== "running") && !service.rollout?.reason && !unhealthy) {
    return [];
  }
  const probe = unhealthy?.health.output;
  return [{
    name: `${deployment.name}/${service.name}`,
    href: `#/deployments/${part(deployment.name)}`,
    state: service.state,
    message: [failure?.message, probe && `the health check fails: ${probe}`, !failure && service.waiting_for && `waits for ${service.waiting_for}`]
      .filter(Boolean).join("; ") || "no reason is known yet",
    lines: failure?.last_lines,
    at: failure?.at,
    logs: `#/logs/service/${part(deployment.name)}/${part(service.name)}`,
  }];
}

/**
 * What could not be started; how a run ended is with the jobs.
 * @param {import("api").DeploymentView} deployment
 */
function ofDeployment(deployment) {
  const href = `#/deployments/${part(deployment.name)}`;
  const own = deployment.problem ? [{ name: deployment.name, href, state: "failed", message: deployment.problem.message, at: deployment.problem.at }] : [];
  const jobs = deployment.jobs
    .filter((job) => job.last_error && job.last?.status !== "failed")
    .map((job) => ({ name: `${deployment.name}/${job.name}`, href, state: "failed", message: job.last_error.message, lines: job.last_error.last_lines, at: job.last_error.at }));
  return [...own, ...deployment.services.flatMap((service) => ofService(deployment, service)), ...jobs];
}

/** @param {import("api").JobsJobView} job */
function ofJob(job) {
  const name = job.deployment === "-" ? job.name : `${job.deployment}/${job.name}`;
  const trouble = job.cron?.trouble ? [{ name, href: "#/jobs", state: "failed", message: job.cron.trouble }] : [];
  if (job.last?.status !== "failed") {
    return trouble;
  }
  return [...trouble, {
    name,
    href: `#/jobs/${part(job.last.id)}`,
    state: "failed",
    message: job.last.reason ?? `exited with code ${job.last.code}`,
    execution: job.last.id,
    at: job.last.finished,
    logs: `#/logs/execution/${part(job.last.id)}`,
  }];
}

/**
 * Of containers without a deployment; the others are shown with their service or job.
 * @param {import("api").ContainerView} container
 */
function ofContainer(container) {
  const failed = container.state === "exited" && container.exit?.code !== 0;
  const unhealthy = lower(container.health) === "unhealthy";
  if (container.name.includes("/") || !(failed || unhealthy || container.problem)) {
    return [];
  }
  return [{
    name: container.name,
    href: `#/containers/${part(container.id)}`,
    state: failed ? "failed" : unhealthy ? "unhealthy" : "unknown",
    message: container.problem ?? (failed ? (container.exit.reason ?? `exited with code ${container.exit.code}`) : "its health check fails"),
    container: failed ? container.id : undefined,
    at: container.exit?.finished,
    logs: `#/logs/container/${part(container.id)}`,
  }];
}

/**
 * @param {import("api").CertificatesCertificateView} certificate
 * @param {number} now
 */
function ofCertificate(certificate, now) {
  const end = certificate.not_after ? Date.parse(certificate.not_after) : null;
  const renewed = certificate.renewal && Date.parse(certificate.renewal) > now;
  const message = certificate.error
    ?? (end !== null && end <= now ? `the certificate expired at ${certificate.not_after}` : null)
    ?? (end !== null && !renewed && end - now < EXPIRY_WARNING_MS ? `the certificate expires at ${certificate.not_after}` : null);
  return message === null ? [] : [{
    name: certificate.host,
    href: "#/ingress",
    state: end !== null && end > now ? "degraded" : "failed",
    message: `certificate: ${message}`,
    command: "zlayer ingress certs",
  }];
}

/** All of it, that of the node first. */
export function failures({ health, deployments, jobs, containers, certificates }, now) {
  return [
    ...ofNode(health),
    ...(deployments ?? []).flatMap(ofDeployment),
    ...(jobs ?? []).flatMap(ofJob),
    ...(certificates ?? []).flatMap((one) => ofCertificate(one, now)),
    ...(containers ?? []).flatMap(ofContainer),
  ];
}
