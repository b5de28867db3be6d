package dev.zlayer.cli.command.system;

import dev.zlayer.cli.client.DaemonClient;
import dev.zlayer.cli.client.Query;
import dev.zlayer.json.Json;
import java.util.HashSet;
import java.util.List;
import java.util.Set;

/**
 * What the daemon has, and what of it nobody uses.
 *
 * @param containers all, also exited ones
 */
public record Unused(List<Json> containers, List<Json> images, List<Json> volumes) {
  public static Unused of(DaemonClient client) throws InterruptedException {
    return new Unused(
        client.get("/containers", Query.of("all", true).and("local", true)).items(),
        client.get("/images", Query.of("local", true)).items(),
        client.get("/volumes", Query.of("size", true).and("local", true)).items());
  }

  /** Single containers that do not run; those of deployments are removed by their deployment. */
  public List<Json> stopped() {
    return containers.stream().filter(Unused::single).filter(one -> !alive(one)).toList();
  }

  /**
   * Images that no container uses.
   *
   * @param all also those that have a name
   */
  public List<Json> images(boolean all) {
    Set<String> used = new HashSet<>();
    for (Json container : containers) {
      container.at("image").string().ifPresent(used::add);
      container.at("image_digest").string().ifPresent(used::add);
    }
    return images.stream()
        .filter(image -> !used.contains(image.at("digest").string().orElse("")))
        .filter(
            image -> {
              List<String> names = image.at("references").strings();
              return names.isEmpty() || (all && names.stream().noneMatch(used::contains));
            })
        .toList();
  }

  /** Volumes that no container mounts and no deployment has in its file. */
  public List<Json> unwanted() {
    return volumes.stream()
        .filter(volume -> volume.at("used_by").items().isEmpty())
        .filter(volume -> volume.at("deployments").items().isEmpty())
        .toList();
  }

  static long bytes(List<Json> things) {
    return things.stream().mapToLong(thing -> thing.at("size").integer().orElse(0L)).sum();
  }

  static boolean alive(Json container) {
    return switch (container.at("state").string().orElse("")) {
      case "running", "paused", "stopping" -> true;
      default -> false;
    };
  }

  private static boolean single(Json container) {
    return container.at("deployment").string().filter("standalone"::equals).isPresent();
  }
}
