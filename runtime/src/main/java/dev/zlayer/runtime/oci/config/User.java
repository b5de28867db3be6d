package dev.zlayer.runtime.oci.config;

import java.util.List;

/** A user as the kernel knows it. HOME is left to the OCI runtime, which looks inside. */
public record User(long uid, long gid, List<Long> extraGids) {
  public User {
    extraGids = List.copyOf(extraGids);
  }
}
