package dev.zlayer.engine.service;

import java.util.Optional;

/**
 * A change on its way, or the last one that was taken back.
 *
 * @param revision the revision that is, or was to be, rolled out
 * @param updated replicas that already are as it wants
 * @param of replicas in all
 * @param step which step of a roll-out in steps was reached, in words
 * @param rolledBackTo the revision that runs instead, when it failed
 * @param reason why it was taken back, with the last lines of the replica that failed
 */
public record RolloutStatus(
    long revision,
    int updated,
    int of,
    Optional<String> step,
    Optional<Long> rolledBackTo,
    Optional<Failure> reason) {}
