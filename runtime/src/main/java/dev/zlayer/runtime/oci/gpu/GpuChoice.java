package dev.zlayer.runtime.oci.gpu;

import dev.zlayer.container.GpuRequest;
import dev.zlayer.error.AgentException;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Locale;
import java.util.Optional;

/** Which devices a request gets: pure. */
final class GpuChoice {
  private final GpuCatalog.Found found;
  private final List<GpuUse> uses;

  GpuChoice(GpuCatalog.Found found, List<GpuUse> uses) {
    this.found = found;
    this.uses = uses;
  }

  List<CdiDevices.Device> of(GpuRequest request) {
    String kind = kind(request.vendor());
    List<CdiDevices.Device> fitting =
        found.devices().ofKind(kind).stream()
            .filter(device -> fits(device, request.model()))
            .toList();
    if (request.all() && !fitting.isEmpty()) {
      return free(request, fitting);
    }
    if (!request.devices().isEmpty()) {
      return free(request, named(kind, request.devices(), fitting));
    }
    if (request.sharing() instanceof GpuRequest.Sharing.TimeSlice(var index, _, _)
        && index.isPresent()) {
      return free(request, named(kind, List.of("" + index.getAsInt()), fitting));
    }
    return some(request, kind, fitting);
  }

  private List<CdiDevices.Device> some(
      GpuRequest request, String kind, List<CdiDevices.Device> fitting) {
    if (fitting.isEmpty() || fitting.size() < request.count()) {
      throw missing(
          kind,
          "%d of %s%s"
              .formatted(
                  request.count(), kind, request.model().map(m -> " model " + m).orElse("")));
    }
    List<CdiDevices.Device> free =
        fitting.stream()
            .filter(device -> blocking(request, device).isEmpty())
            .sorted(Comparator.comparingLong(this::users))
            .toList();
    if (free.size() < request.count()) {
      throw new AgentException.GpuSharingUnavailable(
          request.sharing().word(),
          "%d of %d %s devices are free and %d are wanted; %s"
              .formatted(
                  free.size(), fitting.size(), kind, request.count(), holders(request, fitting)));
    }
    return free.subList(0, request.count());
  }

  private List<CdiDevices.Device> named(
      String kind, List<String> names, List<CdiDevices.Device> fitting) {
    var chosen = new ArrayList<CdiDevices.Device>();
    for (String name : names) {
      CdiDevices.Device device =
          fitting.stream()
              .filter(one -> isNamed(one, name))
              .findFirst()
              .or(() -> found.devices().find(kind, name).flatMap(one -> listed(one, fitting)))
              .orElseThrow(() -> missing(kind, kind + "=" + name));
      if (!chosen.contains(device)) {
        chosen.add(device);
      }
    }
    return chosen;
  }

  /** Under the name by which it is listed, so that it is not given twice. */
  private static Optional<CdiDevices.Device> listed(
      CdiDevices.Device device, List<CdiDevices.Device> fitting) {
    return fitting.stream().filter(one -> one.nodes().equals(device.nodes())).findFirst();
  }

  private static boolean isNamed(CdiDevices.Device device, String name) {
    return device.name().equals(name)
        || device.annotation(DriverCdi.UUID).filter(name::equals).isPresent();
  }

  private List<CdiDevices.Device> free(GpuRequest request, List<CdiDevices.Device> wanted) {
    for (CdiDevices.Device device : wanted) {
      Optional<GpuUse> other = blocking(request, device);
      if (other.isPresent()) {
        throw new AgentException.GpuSharingUnavailable(
            request.sharing().word(), held(device, other.get()));
      }
    }
    return wanted;
  }

  /** Nobody shares with a container that has it alone, and nobody gets alone what others have. */
  private Optional<GpuUse> blocking(GpuRequest request, CdiDevices.Device device) {
    boolean alone = request.sharing() instanceof GpuRequest.Sharing.Exclusive;
    return uses.stream()
        .filter(use -> use.devices().contains(device.qualified()))
        .filter(use -> alone || use.exclusive())
        .findFirst();
  }

  private long users(CdiDevices.Device device) {
    return uses.stream().filter(use -> use.devices().contains(device.qualified())).count();
  }

  private String holders(GpuRequest request, List<CdiDevices.Device> devices) {
    return String.join(
        ", ",
        devices.stream()
            .flatMap(one -> blocking(request, one).map(use -> held(one, use)).stream())
            .toList());
  }

  private static String held(CdiDevices.Device device, GpuUse use) {
    return "%s belongs to container %s (%s)"
        .formatted(device.qualified(), use.container(), use.request().sharing().word());
  }

  private AgentException missing(String kind, String what) {
    String names =
        String.join(
            ", ", found.devices().ofKind(kind).stream().map(CdiDevices.Device::name).toList());
    String reason =
        names.isEmpty()
            ? found
                .problem()
                .filter(_ -> kind.equals(DriverCdi.KIND))
                .orElse("no device spec describes one; generate it with the vendor's tool")
            : "this host has " + names;
    return new AgentException.Configuration("gpu %s is not there: %s".formatted(what, reason));
  }

  private static boolean fits(CdiDevices.Device device, Optional<String> model) {
    return model
        .map(part -> part.toLowerCase(Locale.ROOT))
        .map(
            part ->
                device.annotations().stringMap().values().stream()
                    .anyMatch(text -> text.toLowerCase(Locale.ROOT).contains(part)))
        .orElse(true);
  }

  static String kind(String vendor) {
    return switch (vendor) {
      case "nvidia", "amd", "intel" -> vendor + ".com/gpu";
      default ->
          throw new AgentException.Unsupported(
              "gpu vendor '%s': only nvidia, amd and intel have device specs on Linux"
                  .formatted(vendor));
    };
  }
}
