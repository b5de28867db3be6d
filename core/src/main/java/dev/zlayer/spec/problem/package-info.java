/**
 * What is wrong with a deployment file, and where: paths, positions and the list of findings. No
 * threads here, and nothing outside the values that are passed in is touched.
 */
@org.jspecify.annotations.NullMarked
package dev.zlayer.spec.problem;
