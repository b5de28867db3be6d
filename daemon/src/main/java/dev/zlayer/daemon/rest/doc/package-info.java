/** The REST API described, for machines and for people, from the table of its routes. Pure. */
@org.jspecify.annotations.NullMarked
package dev.zlayer.daemon.rest.doc;
