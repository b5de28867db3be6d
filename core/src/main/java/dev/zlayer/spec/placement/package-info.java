/**
 * Where a service may run. Plain records, made by the reader. No threads here, and nothing is
 * touched.
 */
@org.jspecify.annotations.NullMarked
package dev.zlayer.spec.placement;
