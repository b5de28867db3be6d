/**
 * Images on this machine: pulled, kept, listed, moved as files and taken away. {@link
 * dev.zlayer.image.ImageStore} puts the parts together and is the entry for everybody else. Fan-out
 * goes through task scopes that end with the call; nothing runs between calls.
 */
@org.jspecify.annotations.NullMarked
package dev.zlayer.image;
