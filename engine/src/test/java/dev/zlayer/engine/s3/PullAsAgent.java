package dev.zlayer.engine.s3;

import java.nio.file.Path;
import java.util.Optional;

/** Pulls one object with the keys that a process of its own finds. Arguments: endpoint, place. */
public final class PullAsAgent {
  private PullAsAgent() {}

  public static void main(String[] arguments) throws Exception {
    var location =
        new S3Location("things", Optional.of(arguments[0]), Optional.empty(), Optional.empty());
    try (S3Transfer transfer = S3Transfer.open(location)) {
      transfer.pull(
          new DirectoryFiles(Path.of(arguments[1])), "one", "/one", new S3Transfer.Owner(0, 0));
    } catch (S3Failure e) {
      System.err.println(e.getMessage());
      System.exit(1);
    }
  }
}
