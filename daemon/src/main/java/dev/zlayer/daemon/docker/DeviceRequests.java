package dev.zlayer.daemon.docker;

import dev.zlayer.container.GpuRequest;
import dev.zlayer.container.GpuRequest.Sharing;
import dev.zlayer.error.AgentException;
import dev.zlayer.json.Json;
import dev.zlayer.spec.value.ByteSize;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.OptionalLong;
import java.util.Set;
import java.util.TreeMap;

/** GPUs as Docker's clients ask for them: {@code --gpus}, or {@code --device} with a CDI name. */
final class DeviceRequests {
  private static final String FIELD = "HostConfig.DeviceRequests";
  private static final int ALL = -1;
  private static final Set<String> OPTIONS =
      Set.of("sharing", "mps_memory", "mps_threads", "time_slice");

  private DeviceRequests() {}

  static Optional<GpuRequest> of(Json host) {
    List<Json> requests = host.at("DeviceRequests").items();
    if (requests.isEmpty()) {
      return Optional.empty();
    }
    if (requests.size() > 1) {
      throw refused("one request for all GPUs of a container, with all their names");
    }
    Json request = requests.getFirst();
    return Optional.of(
        request.at("Driver").string().orElse("").equals("cdi") ? cdi(request) : gpus(request));
  }

  private static GpuRequest gpus(Json request) {
    long count = request.at("Count").integer().orElse(0L);
    List<String> names = request.at("DeviceIDs").strings();
    if (!Set.of("", "nvidia").contains(request.at("Driver").string().orElse(""))) {
      throw refused("the driver is nvidia or cdi");
    }
    if (request.at("Capabilities").items().stream()
        .noneMatch(together -> together.strings().contains("gpu"))) {
      throw refused("the capability gpu is missing");
    }
    if (names.isEmpty() ? count != ALL && (count < 1 || count > 64) : count != 0) {
      throw refused("ask for a number of GPUs, for all, or for named ones, as --gpus device=0");
    }
    return new GpuRequest(
        names.isEmpty() && count != ALL ? (int) count : 1,
        "nvidia",
        Optional.empty(),
        names.isEmpty() && count == ALL ? List.of(GpuRequest.ALL) : names,
        sharing(request.at("Options").stringMap()));
  }

  /** As {@code --device vendor.com/gpu=NAME}. */
  private static GpuRequest cdi(Json request) {
    var vendors = new ArrayList<String>();
    var names = new ArrayList<String>();
    for (String device : request.at("DeviceIDs").strings()) {
      int equals = device.indexOf('=');
      if (equals < 0 || !device.substring(0, equals).matches("(nvidia|amd|intel)\\.com/gpu")) {
        throw refused("'%s' is not a GPU such as nvidia.com/gpu=0".formatted(device));
      }
      vendors.add(device.substring(0, device.indexOf('.')));
      names.add(device.substring(equals + 1));
    }
    if (names.isEmpty() || vendors.stream().distinct().count() > 1) {
      throw refused("name devices of one vendor");
    }
    return new GpuRequest(
        1, vendors.getFirst(), Optional.empty(), names, sharing(request.at("Options").stringMap()));
  }

  /** Docker has no words for it; its options are for what a driver has beyond. */
  private static Sharing sharing(Map<String, String> options) {
    for (String name : options.keySet()) {
      if (!OPTIONS.contains(name)) {
        throw refused(
            "the option '%s'; there are sharing, mps_memory, mps_threads, time_slice"
                .formatted(name));
      }
    }
    String sharing = options.getOrDefault("sharing", "exclusive");
    boolean mps = options.containsKey("mps_memory") || options.containsKey("mps_threads");
    if ((mps && !sharing.equals("mps"))
        || (options.containsKey("time_slice") && !sharing.equals("time-slice"))) {
      throw refused("mps_memory and mps_threads need sharing=mps, time_slice sharing=time-slice");
    }
    try {
      return switch (sharing) {
        case "exclusive" -> new Sharing.Exclusive();
        case "mps" ->
            new Sharing.Mps(
                Optional.empty(),
                Optional.empty(),
                options.containsKey("mps_memory")
                    ? OptionalLong.of(ByteSize.parse(options.get("mps_memory")).bytes())
                    : OptionalLong.empty(),
                options.containsKey("mps_threads")
                    ? OptionalInt.of(percent(options.get("mps_threads")))
                    : OptionalInt.empty());
        case "time-slice" ->
            new Sharing.TimeSlice(
                OptionalInt.empty(),
                Optional.empty(),
                Optional.ofNullable(options.get("time_slice")).map(DeviceRequests::turn));
        default -> throw refused("sharing is exclusive, mps or time-slice");
      };
    } catch (AgentException.InvalidSpec e) {
      throw refused(String.valueOf(e.getMessage()));
    }
  }

  private static int percent(String text) {
    if (!text.matches("[0-9]{1,3}") || Integer.parseInt(text) < 1 || Integer.parseInt(text) > 100) {
      throw refused("mps_threads is a percentage from 1 to 100");
    }
    return Integer.parseInt(text);
  }

  private static Sharing.Turn turn(String text) {
    for (Sharing.Turn turn : Sharing.Turn.values()) {
      if (turn.name().toLowerCase(Locale.ROOT).equals(text)) {
        return turn;
      }
    }
    throw refused("time_slice is default, short, medium or long");
  }

  /** Of a container that was not made by a client of Docker. */
  static Json json(Optional<GpuRequest> gpu) {
    if (gpu.isEmpty()) {
      return Json.Null.INSTANCE;
    }
    GpuRequest request = gpu.get();
    boolean nvidia = request.vendor().equals("nvidia");
    List<String> names =
        request.all() && nvidia
            ? List.of()
            : request.devices().stream()
                .map(name -> nvidia ? name : request.vendor() + ".com/gpu=" + name)
                .toList();
    return Json.of(
        List.of(
            Json.object()
                .put("Driver", nvidia ? "nvidia" : "cdi")
                .put("Count", request.all() ? ALL : names.isEmpty() ? request.count() : 0)
                .put("DeviceIDs", names.isEmpty() ? null : names)
                .put("Capabilities", List.of(List.of("gpu")))
                .put("Options", options(request.sharing()))
                .build()));
  }

  private static Map<String, String> options(Sharing sharing) {
    var options = new TreeMap<String, String>();
    switch (sharing) {
      case Sharing.Exclusive _ -> {}
      case Sharing.Mps mps -> {
        options.put("sharing", sharing.word());
        mps.memoryBytes().ifPresent(bytes -> options.put("mps_memory", bytes + "B"));
        mps.threadPercent().ifPresent(share -> options.put("mps_threads", "" + share));
      }
      case Sharing.TimeSlice(_, _, var turn) -> {
        options.put("sharing", sharing.word());
        turn.ifPresent(length -> options.put("time_slice", length.name().toLowerCase(Locale.ROOT)));
      }
    }
    return options;
  }

  private static DockerError refused(String reason) {
    return DockerError.unsupportedField(FIELD, reason);
  }
}
