/** How many replicas the load of a service asks for. Pure; for one node and for a cluster. */
@org.jspecify.annotations.NullMarked
package dev.zlayer.scale;
