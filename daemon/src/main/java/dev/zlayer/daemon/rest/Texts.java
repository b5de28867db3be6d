package dev.zlayer.daemon.rest;

import dev.zlayer.container.Signal;
import dev.zlayer.engine.job.ExecutionId;
import dev.zlayer.engine.job.JobKey;
import dev.zlayer.oci.Digest;
import dev.zlayer.oci.ImageRef;
import dev.zlayer.oci.Platform;
import java.util.Set;

/** Which records are told as one text. */
final class Texts {
  private static final Set<Class<?>> TYPES =
      Set.of(
          ImageRef.class,
          Digest.class,
          Platform.class,
          Signal.class,
          ExecutionId.class,
          JobKey.class);

  private Texts() {}

  static boolean is(Class<?> type) {
    return TYPES.contains(type);
  }
}
