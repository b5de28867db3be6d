/**
 * Linux containers on Windows: the OCI runtime and the monitor of the Linux runtime, driven through
 * {@code wsl.exe}. What Linux has to do is a command in the distribution; records, logs and exit
 * notes are files of the agent's own. Owns no thread but the one that looks at those files.
 */
@org.jspecify.annotations.NullMarked
package dev.zlayer.runtime.wsl;
