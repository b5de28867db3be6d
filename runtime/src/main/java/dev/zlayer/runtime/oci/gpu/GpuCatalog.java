package dev.zlayer.runtime.oci.gpu;

import dev.zlayer.error.AgentException;
import dev.zlayer.host.linux.NvidiaDriver;
import dev.zlayer.task.LazyLogger;
import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;

/**
 * Which GPUs this host has: as a vendor describes them, else as the driver itself shows them. Looks
 * each time it is asked, so that an updated driver is found at once.
 */
final class GpuCatalog {
  private static final System.Logger LOG = LazyLogger.of(GpuCatalog.class);

  /**
   * Where to look.
   *
   * @param cdiDirectories specs of vendors, later ones win
   * @param driverRoot below which the driver's files are, with {@code dev} and {@code proc}
   */
  record Places(List<Path> cdiDirectories, Path driverRoot) {
    Places {
      cdiDirectories = List.copyOf(cdiDirectories);
    }
  }

  /**
   * What was found.
   *
   * @param own whether the description of NVIDIA's GPUs is ours
   * @param problem why there are no GPUs of NVIDIA
   */
  record Found(CdiDevices devices, boolean own, Optional<String> problem) {}

  private final Places places;
  private final DriverCdi cdi;

  GpuCatalog(Places places, Path directory) {
    this.places = places;
    this.cdi = new DriverCdi(directory);
  }

  Found look() {
    CdiDevices vendors = CdiDevices.read(places.cdiDirectories());
    Optional<String> stale = vendors.missingFile(DriverCdi.KIND);
    boolean described = !vendors.ofKind(DriverCdi.KIND).isEmpty();
    if (described && stale.isEmpty()) {
      return new Found(vendors, false, Optional.empty());
    }
    Optional<NvidiaDriver> driver = driver();
    Optional<String> problem = driver.map(GpuCatalog::problem).orElseGet(() -> notLoaded());
    if (problem.isPresent()) {
      return new Found(vendors, false, stale.map(file -> staleSpec(file)).or(() -> problem));
    }
    stale.ifPresent(
        file ->
            LOG.log(
                System.Logger.Level.WARNING,
                staleSpec(file) + "; the GPUs are described by the driver's own files instead"));
    try {
      cdi.write(driver.orElseThrow());
    } catch (IOException e) {
      throw new AgentException.Internal("cannot write the device spec: " + e.getMessage(), e);
    }
    return new Found(
        vendors.without(DriverCdi.KIND).with(CdiDevices.read(List.of(cdi.specs()))),
        true,
        Optional.empty());
  }

  /** Of the driver that is loaded now. */
  Optional<NvidiaDriver> driver() {
    try {
      return NvidiaDriver.find(places.driverRoot());
    } catch (IOException e) {
      throw new AgentException.Configuration(
          "the GPU driver cannot be looked at: " + e.getMessage(), e);
    }
  }

  Path driverRoot() {
    return places.driverRoot();
  }

  private static Optional<String> problem(NvidiaDriver driver) {
    if (driver.gpus().isEmpty()) {
      return Optional.of("the driver %s is loaded and has no GPU".formatted(driver.version()));
    }
    if (driver.library("libcuda.so.1").isEmpty()) {
      return Optional.of(
          "the driver %s is loaded and libcuda.so.%s is not found; install the libraries of the same version, or load their module"
              .formatted(driver.version(), driver.version()));
    }
    return Optional.empty();
  }

  private Optional<String> notLoaded() {
    return Optional.of(
        "%s does not exist: load the driver, or describe the devices in %s"
            .formatted(
                places.driverRoot().resolve("proc/driver/nvidia/version"),
                String.join(
                    " or ", places.cdiDirectories().stream().map(Path::toString).toList())));
  }

  private static String staleSpec(String file) {
    return "the vendor's device spec names %s, which does not exist; generate it again"
        .formatted(file);
  }
}
