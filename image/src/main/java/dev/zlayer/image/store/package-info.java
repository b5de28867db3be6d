/**
 * Content by digest on disk, the index of references and images, and what keeps both sound: leases,
 * the collector of garbage, and the checker. Nothing here starts threads; everything may be called
 * from any. It touches only the directories it was given, of which one process is the owner.
 */
@org.jspecify.annotations.NullMarked
package dev.zlayer.image.store;
