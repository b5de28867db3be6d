/**
 * What registries and archives say about images: descriptors, indexes, manifests, configurations,
 * and the choice among platforms. Everything is parsed with limits, because all of it comes from
 * outside. No threads, no I/O.
 */
@org.jspecify.annotations.NullMarked
package dev.zlayer.image.manifest;
