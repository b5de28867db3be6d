/** Measures the planner, which nobody outside of its package needs. */
@org.jspecify.annotations.NullMarked
package dev.zlayer.engine.service;
