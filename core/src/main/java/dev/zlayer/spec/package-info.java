/**
 * The deployment file as records: what a user wants. A key of the file is one record component with
 * its documentation; reader, schema and reference follow from it. No threads here, and nothing is
 * touched.
 */
@org.jspecify.annotations.NullMarked
package dev.zlayer.spec;
