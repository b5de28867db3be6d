/** A stand-in for {@code wsl.exe}, so that what is meant for Windows runs real containers here. */
@org.jspecify.annotations.NullMarked
package dev.zlayer.testkit.wsl;
