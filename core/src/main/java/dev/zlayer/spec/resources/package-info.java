/**
 * How much of the machine a container may use. Plain records, made by the reader. No threads here,
 * and nothing is touched.
 */
@org.jspecify.annotations.NullMarked
package dev.zlayer.spec.resources;
