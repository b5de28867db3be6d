/**
 * From what a deployment file says to what a runtime needs: one class per section. Every field is
 * honoured or refused with its path and a reason; references to secrets and variables are resolved
 * here and nowhere else, and one that cannot be is an error. No threads; asks the sources it is
 * given.
 */
@org.jspecify.annotations.NullMarked
package dev.zlayer.engine.translate;
