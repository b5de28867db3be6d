package dev.zlayer.spec.placement;

import dev.zlayer.spec.form.Doc;
import dev.zlayer.spec.form.Named;
import java.util.Optional;

/** A system and an architecture. */
@Doc("A system and an architecture.")
public record PlatformSpec(
    @Doc("Operating system.") Os os,
    @Doc("Architecture.") Architecture arch,
    @Doc("Version of the operating system; Windows only.") @Named("osVersion")
        Optional<String> osVersion) {
  public enum Os {
    LINUX,
    WINDOWS,
    @Named(alias = "darwin")
    MACOS
  }

  public enum Architecture {
    @Named(alias = "x86_64")
    AMD64,
    @Named(alias = "aarch64")
    ARM64
  }
}
