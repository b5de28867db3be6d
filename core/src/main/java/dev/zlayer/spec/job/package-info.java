/**
 * Settings of what runs to its end: jobs and schedules. Plain records, made by the reader. No
 * threads here, and nothing is touched.
 */
@org.jspecify.annotations.NullMarked
package dev.zlayer.spec.job;
