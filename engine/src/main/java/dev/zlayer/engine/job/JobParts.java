package dev.zlayer.engine.job;

import dev.zlayer.engine.init.Initializer;
import dev.zlayer.engine.state.StateStore;
import dev.zlayer.port.ContainerRuntime;
import dev.zlayer.task.Pauses;
import dev.zlayer.task.Supervisor;
import dev.zlayer.task.TimeSource;
import java.nio.file.Path;
import java.util.random.RandomGenerator;

/**
 * What an executor works with.
 *
 * @param artifacts directory for files that jobs asked to be kept
 */
public record JobParts(
    StateStore store,
    ContainerRuntime runtime,
    JobContainers containers,
    Initializer initializer,
    Path artifacts,
    TimeSource clock,
    Pauses pauses,
    RandomGenerator random,
    Supervisor supervisor) {}
