/**
 * How a service lives: what it waits for, how it is prepared, checked, scaled, updated and ended.
 * Plain records, made by the reader. No threads here, and nothing is touched.
 */
@org.jspecify.annotations.NullMarked
package dev.zlayer.spec.service;
