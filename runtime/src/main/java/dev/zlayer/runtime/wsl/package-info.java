/**
 * Linux containers on Windows: how commands, paths and GPUs reach a WSL distribution, and what is
 * wrong when they do not. Starts {@code wsl.exe} and waits for it; touches nothing else of the
 * host.
 */
@org.jspecify.annotations.NullMarked
package dev.zlayer.runtime.wsl;
