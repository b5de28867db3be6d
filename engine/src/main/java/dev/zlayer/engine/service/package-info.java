/**
 * Services made true and kept true: pure planners decide about replicas, updates, restarts and
 * scale; one loop per service records what was decided and carries it out in small steps on threads
 * of their own. Touches containers through the runtime port.
 */
@org.jspecify.annotations.NullMarked
package dev.zlayer.engine.service;
