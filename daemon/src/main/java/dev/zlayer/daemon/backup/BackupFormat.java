package dev.zlayer.daemon.backup;

import dev.zlayer.engine.state.SqliteStateStore;
import dev.zlayer.error.AgentException;
import dev.zlayer.json.Json;
import dev.zlayer.json.JsonText;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.time.Instant;

/**
 * What a backup says about itself, in a file at its top.
 *
 * @param format of the archive: which files are in it
 * @param store of the state store in it
 * @param version of the program that made it
 */
public record BackupFormat(int format, int store, String version, Instant time) {
  /** A change that an earlier program cannot read needs the next number. */
  static final int CURRENT = 1;

  private static final String FILE = "zlayer-backup.json";

  void write(Path directory) throws IOException {
    Json json =
        Json.object()
            .put("format", format)
            .put("store", store)
            .put("version", version)
            .put("time", time.toString())
            .build();
    Files.writeString(directory.resolve(FILE), JsonText.pretty(json));
  }

  /** Throws when it is no backup, or one that only a later program can read. */
  static BackupFormat read(Path directory) throws IOException {
    Path file = directory.resolve(FILE);
    if (!Files.isRegularFile(file, LinkOption.NOFOLLOW_LINKS)) {
      throw new AgentException.InvalidSpec(
          "the archive is not a backup of a daemon: use one made by 'zlayer daemon backup'");
    }
    Json json = JsonText.parse(Files.readAllBytes(file));
    var format =
        new BackupFormat(
            number(json, "format"),
            number(json, "store"),
            json.at("version").string().orElse("unknown"),
            Instant.parse(json.at("time").string().orElse("1970-01-01T00:00:00Z")));
    if (format.format > CURRENT || format.store > SqliteStateStore.version()) {
      throw new AgentException.InvalidSpec(
          "the backup was made by zlayer %s and has format %d with a state store of version %d; this program reads up to %d and %d: use that version or a later one"
              .formatted(
                  format.version,
                  format.format,
                  format.store,
                  CURRENT,
                  SqliteStateStore.version()));
    }
    return format;
  }

  private static int number(Json json, String name) {
    return (int) (long) json.at(name).integer().orElse((long) Integer.MAX_VALUE);
  }
}
