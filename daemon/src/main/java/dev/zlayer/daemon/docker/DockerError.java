package dev.zlayer.daemon.docker;

/** A refusal in the words and with the status that clients of Docker expect. */
@SuppressWarnings("serial")
final class DockerError extends RuntimeException {
  private final int status;

  private DockerError(int status, String message) {
    super(message);
    this.status = status;
  }

  int status() {
    return status;
  }

  static DockerError badRequest(String message) {
    return new DockerError(400, message);
  }

  static DockerError unauthorized(String message) {
    return new DockerError(401, message);
  }

  static DockerError forbidden(String message) {
    return new DockerError(403, message);
  }

  static DockerError notFound(String message) {
    return new DockerError(404, message);
  }

  static DockerError noSuchContainer(String reference) {
    return notFound("No such container: " + reference);
  }

  static DockerError noSuchImage(String reference) {
    return notFound("No such image: " + reference);
  }

  static DockerError conflict(String message) {
    return new DockerError(409, message);
  }

  static DockerError failed(String message) {
    return new DockerError(500, message);
  }

  static DockerError notImplemented(String message) {
    return new DockerError(501, message);
  }

  static DockerError unavailable(String message) {
    return new DockerError(503, message);
  }

  /** A field of a body that cannot be honoured. */
  static DockerError unsupportedField(String field, String reason) {
    return badRequest("%s is not supported: %s".formatted(field, reason));
  }
}
