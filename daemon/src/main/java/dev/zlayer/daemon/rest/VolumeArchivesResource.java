package dev.zlayer.daemon.rest;

import dev.zlayer.daemon.http.ApiRequest;
import dev.zlayer.daemon.http.ApiResponse;
import dev.zlayer.daemon.http.Route;
import dev.zlayer.daemon.volume.VolumeArchives;
import dev.zlayer.daemon.volume.VolumeUsers.Quiesce;
import dev.zlayer.error.AgentException;
import java.io.IOException;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/** Backups of volumes. */
public final class VolumeArchivesResource implements Resource {
  private final VolumeArchives archives;

  public VolumeArchivesResource(VolumeArchives archives) {
    this.archives = archives;
  }

  @Override
  public String title() {
    return "Backups of volumes";
  }

  @Override
  public List<Route> routes() {
    return List.of(
        Route.get("/volumes/{name}/archive", "Back a volume up.", this::backup)
            .with(
                "quiesce",
                "pause or stop the containers that use it; they continue afterwards. Required"
                    + " while containers use it.")
            .givesType(ApiRequest.TAR, "All of it: owners, modes, links, attributes and holes."),
        Route.put("/volumes/{name}/archive", "Restore a volume, which may be new.", this::restore)
            .withFlag("replace", "Discard what is in it; otherwise it has to be empty.")
            .takes(ApiRequest.TAR, "A backup.")
            .gives(StorageResource.VolumeView.class));
  }

  private ApiResponse backup(ApiRequest call) {
    String name = call.path("name");
    Optional<Quiesce> how = call.query("quiesce").map(VolumeArchivesResource::quiesce);
    archives.requireBackup(name, how);
    return new ApiResponse.Bytes(ApiRequest.TAR, Map.of(), out -> archives.backup(name, how, out));
  }

  private static Quiesce quiesce(String word) {
    return switch (word) {
      case "pause" -> Quiesce.PAUSE;
      case "stop" -> Quiesce.STOP;
      default ->
          throw new AgentException.InvalidSpec(
              "quiesce is pause or stop, not '%s'".formatted(word));
    };
  }

  private ApiResponse restore(ApiRequest call) throws InterruptedException {
    String name = call.path("name");
    try {
      return ApiResponse.json(
          ViewJson.of(
              StorageResource.VolumeView.of(
                  archives.restore(name, call.flag("replace", false), call.body()))));
    } catch (IOException e) {
      throw new AgentException.Configuration(
          "volume '%s' cannot be restored: %s".formatted(name, e.getMessage()), e);
    }
  }
}
