package dev.zlayer.daemon.rest;

import dev.zlayer.daemon.backup.StateBackup;
import dev.zlayer.daemon.http.ApiRequest;
import dev.zlayer.daemon.http.ApiResponse;
import dev.zlayer.daemon.http.Route;
import java.util.List;
import java.util.Map;

/** Backups of the agent's state. */
public final class BackupResource implements Resource {
  private final StateBackup backup;

  public BackupResource(StateBackup backup) {
    this.backup = backup;
  }

  @Override
  public String title() {
    return "Backup of the state";
  }

  @Override
  public List<Route> routes() {
    return List.of(
        Route.get(
                "/backup",
                "Back the state up, without images, containers and volumes.",
                _ -> new ApiResponse.Bytes(ApiRequest.TAR, Map.of(), backup::write))
            .givesType(
                ApiRequest.TAR,
                "For 'zlayer daemon restore'. Holds the key of the secrets: keep it private."));
  }
}
