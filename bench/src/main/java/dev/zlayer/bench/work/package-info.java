/**
 * What is measured, one class per kind of work. A work runs its contestants in turns on the main
 * thread and hands its figures to the report; parallel jobs run on threads that end with the work.
 */
@org.jspecify.annotations.NullMarked
package dev.zlayer.bench.work;
