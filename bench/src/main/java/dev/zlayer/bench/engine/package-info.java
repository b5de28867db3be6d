/**
 * The contestants that run containers: ours, the bare parts, and the peers. Each keeps everything
 * below a directory of its own and owns its daemon, which ends on close. They may start programs
 * and mount; names of containers are chosen by the caller.
 */
@org.jspecify.annotations.NullMarked
package dev.zlayer.bench.engine;
