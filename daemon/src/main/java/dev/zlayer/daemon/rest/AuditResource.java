package dev.zlayer.daemon.rest;

import dev.zlayer.daemon.access.AuditLog;
import dev.zlayer.daemon.http.ApiRequest;
import dev.zlayer.daemon.http.ApiResponse;
import dev.zlayer.daemon.http.Route;
import java.time.Instant;
import java.time.InstantSource;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicLong;

/** Who changed what. */
public final class AuditResource implements Resource {
  private final AuditLog audit;
  private final InstantSource clock;

  /**
   * One request that changed something, or one whose caller could not prove who it is.
   *
   * @param object names of what it was about
   * @param status of the answer; 499 when the caller closed the connection first, 0 for a refused
   *     TLS handshake
   * @param suppressedBefore refused callers before this one that were not recorded
   */
  record AuditRecord(
      long seq,
      Instant time,
      String who,
      String listener,
      Optional<String> remote,
      String method,
      String route,
      Map<String, String> object,
      int status,
      Optional<Long> suppressedBefore) {}

  public AuditResource(AuditLog audit, InstantSource clock) {
    this.audit = audit;
    this.clock = clock;
  }

  @Override
  public String title() {
    return "Audit log";
  }

  @Override
  public List<Route> routes() {
    return List.of(
        Route.get("/audit", "Who changed what, oldest first.", this::read)
            .with("since", "From this time on: ISO-8601, seconds since 1970, or e.g. 1h ago.")
            .withNumber("limit", "Maximum number of items (default: all).")
            .withNumber("offset", "Number of items to skip.")
            .streams(AuditRecord.class, "One record per line."));
  }

  private ApiResponse read(ApiRequest call) {
    Optional<Instant> since = call.time("since", clock.instant());
    long from = call.number("offset").orElse(0);
    long to = from + call.number("limit").orElse(Integer.MAX_VALUE);
    var seen = new AtomicLong();
    return new ApiResponse.Lines(
        out -> {
          out.flush();
          audit.read(
              since,
              record -> {
                long number = seen.getAndIncrement();
                if (number >= from && number < to) {
                  out.add(record);
                }
              });
        });
  }
}
