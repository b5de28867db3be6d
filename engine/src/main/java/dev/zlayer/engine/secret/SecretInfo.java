package dev.zlayer.engine.secret;

import java.time.Instant;

/**
 * What may be told of a secret.
 *
 * @param revision counts how often it was set
 * @param fingerprint changes with the value and tells nothing about it without the key
 */
public record SecretInfo(SecretName name, Instant changedAt, long revision, String fingerprint) {}
