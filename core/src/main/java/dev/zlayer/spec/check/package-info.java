/**
 * Rules that look at more than one value: references, collisions, cycles, combinations. Each class
 * reports what it finds and changes nothing. No threads here, and nothing is touched.
 */
@org.jspecify.annotations.NullMarked
package dev.zlayer.spec.check;
