package dev.zlayer.cli.command.container;

import dev.zlayer.cli.client.Query;
import java.util.Optional;

/**
 * Which output to show and how.
 *
 * @param filter the streams and the text
 * @param window the filter with the time window
 * @param prefixes whether lines of several containers say whose they are
 */
record LogRequest(
    Query filter,
    Query window,
    Optional<Integer> tail,
    boolean follow,
    boolean json,
    boolean prefixes) {}
