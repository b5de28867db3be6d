package dev.zlayer.engine.s3;

import java.util.Optional;

/**
 * A bucket and how to reach it; what the file refers to is resolved.
 *
 * @param endpoint when it is not Amazon's; buckets are then part of the path
 * @param keys from the usual chain (environment, profile, role) when absent
 */
public record S3Location(
    String bucket, Optional<String> endpoint, Optional<String> region, Optional<Keys> keys) {
  /** What requests are signed with. */
  public record Keys(String accessKey, String secretKey, Optional<String> sessionToken) {
    @Override
    public String toString() {
      return "keys of " + accessKey;
    }
  }
}
