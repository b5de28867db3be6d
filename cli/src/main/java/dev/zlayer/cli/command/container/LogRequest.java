package dev.zlayer.cli.command.container;

import dev.zlayer.cli.client.Query;
import java.util.Optional;

/**
 * Which output to show and how.
 *
 * @param window the time window and the streams
 * @param prefixes whether lines of several containers say whose they are
 */
record LogRequest(
    Query window, Optional<Integer> tail, boolean follow, boolean json, boolean prefixes) {}
