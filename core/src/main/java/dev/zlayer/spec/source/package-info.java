/**
 * From the files of a deployment to the one that is applied: several files merged, variables
 * replaced, services of profiles that are not active left out. Pure.
 */
@org.jspecify.annotations.NullMarked
package dev.zlayer.spec.source;
