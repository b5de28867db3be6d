/**
 * The Linux kernel: system calls through the foreign-function API, and what it tells under /proc
 * and /sys. The only package that makes native calls; every class here is usable on any system and
 * fails with a clear error when called elsewhere.
 */
@org.jspecify.annotations.NullMarked
package dev.zlayer.host.linux;
