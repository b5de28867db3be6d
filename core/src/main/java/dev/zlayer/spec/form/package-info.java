/**
 * The annotations with which a record says how it is written in a deployment file: its keys, its
 * defaults, its limits and its documentation. No threads here, and nothing is touched.
 */
@org.jspecify.annotations.NullMarked
package dev.zlayer.spec.form;
