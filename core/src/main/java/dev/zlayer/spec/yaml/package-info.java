/**
 * YAML text as a tree that knows the line and column of every key and value, read within limits
 * that make hostile files harmless. No threads here; the only outside part is the YAML parser.
 */
@org.jspecify.annotations.NullMarked
package dev.zlayer.spec.yaml;
