package dev.zlayer.engine.service;

import dev.zlayer.container.ServiceKey;
import dev.zlayer.error.Blame;
import dev.zlayer.json.Json;
import dev.zlayer.json.JsonText;
import dev.zlayer.json.StoredFormat;
import java.time.Instant;
import java.util.LinkedHashMap;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.TreeMap;

/** Services as JSON, for the store. */
final class ServiceCodec {
  static final String KIND = "service";
  static final StoredFormat FORMAT =
      StoredFormat.of("the service", ServiceCodec::neverIdle, ServiceCodec::withoutSteps);

  private ServiceCodec() {}

  /** In version 1 a service always had the replicas that were asked for. */
  private static Json.Obj neverIdle(Json.Obj service) {
    var members = new LinkedHashMap<>(service.members());
    members.put("idle", Json.of(false));
    return new Json.Obj(members);
  }

  /** In version 2 no roll-out had steps; outside of one nothing is written. */
  private static Json.Obj withoutSteps(Json.Obj service) {
    return service;
  }

  static byte[] write(ServiceRecord record) {
    var slots = Json.object();
    record.slots().forEach((slot, remembered) -> slots.put(slot.text(), json(remembered)));
    return JsonText.bytes(
        FORMAT
            .begin()
            .put("deployment", record.key().deployment())
            .put("service", record.key().service())
            .put("revision", record.revision())
            .putIf("good", record.good())
            .putIf("taken_back", record.takenBack().map(ServiceCodec::json))
            .put("stopped", record.stopped())
            .putIf("shutdown", record.shutdown().map(ServiceCodec::json))
            .putIf("replicas", record.replicas())
            .put("idle", record.idle())
            .putIf("step", record.step())
            .put("restarts", record.restarts())
            .put("generation", record.generation())
            .put("images", record.images())
            .put("slots", slots.build())
            .build());
  }

  static ServiceRecord read(byte[] bytes) {
    Json json = FORMAT.upgrade(JsonText.parse(bytes), "state.db");
    var slots = new TreeMap<ReplicaId, ReplicaRecord>();
    json.at("slots")
        .members()
        .forEach((slot, value) -> slots.put(ReplicaId.parse(slot), slot(value)));
    var images = new TreeMap<Long, String>();
    json.at("images")
        .stringMap()
        .forEach((number, image) -> images.put(Long.valueOf(number), image));
    return new ServiceRecord(
        new ServiceKey(
            json.at("deployment").string().orElseThrow(),
            json.at("service").string().orElseThrow()),
        json.at("revision").integer().orElse(0L),
        json.at("good").integer(),
        failure(json.at("taken_back")),
        json.at("stopped").bool().orElse(false),
        failure(json.at("shutdown")),
        json.at("replicas").integer().map(Math::toIntExact),
        json.at("idle").bool().orElse(false),
        json.at("step").integer().map(Math::toIntExact),
        Math.toIntExact(json.at("restarts").integer().orElse(0L)),
        json.at("generation").integer().orElse(0L),
        images,
        slots);
  }

  private static Json json(ReplicaRecord slot) {
    return Json.object()
        .put("failures", slot.failures())
        .put("restarts", slot.restarts())
        .putIf("not_before", slot.notBefore())
        .put("halt", slot.halt().name())
        .putIf("last_error", slot.lastError().map(ServiceCodec::json))
        .build();
  }

  private static ReplicaRecord slot(Json json) {
    return new ReplicaRecord(
        Math.toIntExact(json.at("failures").integer().orElse(0L)),
        Math.toIntExact(json.at("restarts").integer().orElse(0L)),
        json.at("not_before").string().map(Instant::parse),
        ReplicaRecord.Halt.valueOf(json.at("halt").string().orElse("NONE")),
        failure(json.at("last_error")));
  }

  static Json json(Failure failure) {
    var json =
        Json.object()
            .put("kind", failure.kind())
            .put("blame", failure.blame().name())
            .put("message", failure.message())
            .put("last_lines", failure.lastLines())
            .put("at", failure.at());
    failure.exitCode().ifPresent(code -> json.put("exit_code", code));
    return json.build();
  }

  private static Optional<Failure> failure(Json json) {
    if (json.isNull()) {
      return Optional.empty();
    }
    Optional<Long> code = json.at("exit_code").integer();
    return Optional.of(
        new Failure(
            json.at("kind").string().orElse("Internal"),
            Blame.valueOf(json.at("blame").string().orElse("SELF")),
            json.at("message").string().orElse(""),
            code.map(number -> OptionalInt.of(Math.toIntExact(number))).orElse(OptionalInt.empty()),
            json.at("last_lines").strings(),
            Instant.parse(json.at("at").string().orElseThrow())));
  }
}
