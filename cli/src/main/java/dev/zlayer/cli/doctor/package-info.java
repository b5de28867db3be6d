/** What can be wrong with a host or a set-up, and what to do about it. */
@org.jspecify.annotations.NullMarked
package dev.zlayer.cli.doctor;
