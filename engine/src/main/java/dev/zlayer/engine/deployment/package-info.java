/**
 * Deployments as a whole: what was wanted in which revision, what is wanted now, and the one entry
 * through which everybody asks. One loop per deployment owns its services and the jobs they wait
 * for. Touches the state store, and networks and volumes through ports.
 */
@org.jspecify.annotations.NullMarked
package dev.zlayer.engine.deployment;
