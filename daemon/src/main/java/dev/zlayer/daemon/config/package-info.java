/**
 * What the operator set: one file, the environment and flags over it, every value with where it
 * came from. No threads; reads the file it is given.
 */
@org.jspecify.annotations.NullMarked
package dev.zlayer.daemon.config;
