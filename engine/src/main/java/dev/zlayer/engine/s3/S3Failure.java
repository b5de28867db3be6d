package dev.zlayer.engine.s3;

import software.amazon.awssdk.core.exception.SdkException;
import software.amazon.awssdk.services.s3.model.S3Exception;

/** A transfer failed; another try may not. The message is for people and holds no key. */
public final class S3Failure extends RuntimeException {
  S3Failure(String message) {
    super(message);
  }

  private S3Failure(String message, Throwable cause) {
    super(message, cause);
  }

  static S3Failure of(String doing, SdkException cause) {
    if (cause instanceof S3Exception answer && answer.awsErrorDetails() != null) {
      String code = answer.awsErrorDetails().errorCode();
      return new S3Failure(
          "%s: the store answered %d %s"
              .formatted(doing, answer.statusCode(), code == null ? "" : code)
              .strip(),
          cause);
    }
    return new S3Failure("%s: %s".formatted(doing, cause.getMessage()), cause);
  }
}
