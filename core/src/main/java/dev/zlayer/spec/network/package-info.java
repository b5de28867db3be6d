/**
 * How a service is reached: endpoints, published ports, names and networks. Plain records, made by
 * the reader. No threads here, and nothing is touched.
 */
@org.jspecify.annotations.NullMarked
package dev.zlayer.spec.network;
