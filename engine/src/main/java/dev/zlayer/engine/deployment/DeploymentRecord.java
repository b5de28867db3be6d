package dev.zlayer.engine.deployment;

import dev.zlayer.json.Json;
import dev.zlayer.json.JsonText;
import dev.zlayer.json.RecordJson;
import dev.zlayer.json.StoredFormat;
import java.nio.file.Path;
import java.time.Instant;
import java.util.Optional;

/**
 * What is remembered of a deployment beside its revisions.
 *
 * @param revision the newest revision, which is the one that is wanted
 * @param removing somebody asked for it to be taken away
 * @param volumes with its volumes
 */
record DeploymentRecord(
    String name,
    Instant createdAt,
    Instant updatedAt,
    long revision,
    boolean removing,
    boolean volumes) {
  static final String KIND = "deployment";
  static final String REVISIONS = "deployment.revision";
  static final StoredFormat FORMAT = StoredFormat.of("the deployment");
  static final StoredFormat REVISION_FORMAT = StoredFormat.of("the revision of a deployment");

  static DeploymentRecord fresh(String name, Instant now) {
    return new DeploymentRecord(name, now, now, 0, false, false);
  }

  DeploymentRecord with(Revision revision) {
    return new DeploymentRecord(name, createdAt, revision.at(), revision.number(), false, false);
  }

  DeploymentRecord removing(boolean volumes, Instant now) {
    return new DeploymentRecord(name, createdAt, now, revision, true, volumes || this.volumes);
  }

  byte[] write() {
    return JsonText.bytes(
        FORMAT
            .begin()
            .put("name", name)
            .put("created_at", createdAt)
            .put("updated_at", updatedAt)
            .put("revision", revision)
            .put("removing", removing)
            .put("volumes", volumes)
            .build());
  }

  static DeploymentRecord read(byte[] bytes) {
    Json json = FORMAT.upgrade(JsonText.parse(bytes), "state.db");
    return new DeploymentRecord(
        text(json, "name"),
        Instant.parse(text(json, "created_at")),
        Instant.parse(text(json, "updated_at")),
        json.at("revision").integer().orElse(0L),
        json.at("removing").bool().orElse(false),
        json.at("volumes").bool().orElse(false));
  }

  static byte[] write(Revision revision) {
    return JsonText.bytes(
        REVISION_FORMAT
            .begin()
            .put("deployment", revision.deployment())
            .put("number", revision.number())
            .put("at", revision.at())
            .put("reason", revision.reason())
            .put("directory", revision.directory().toString())
            .put("file", revision.file())
            .putIf("share", revision.share().map(RecordJson::write))
            .build());
  }

  static Revision readRevision(byte[] bytes) {
    Json json = REVISION_FORMAT.upgrade(JsonText.parse(bytes), "state.db");
    return new Revision(
        text(json, "deployment"),
        json.at("number").integer().orElse(0L),
        Instant.parse(text(json, "at")),
        text(json, "reason"),
        Path.of(text(json, "directory")),
        text(json, "file"),
        json.at("share").isNull()
            ? Optional.empty()
            : Optional.of(RecordJson.read(json.at("share"), Share.class)));
  }

  /** Sorts like the number. */
  static String revisionKey(String deployment, long number) {
    return "%s/%010d".formatted(deployment, number);
  }

  private static String text(Json json, String name) {
    return json.at(name).string().orElseThrow();
  }
}
