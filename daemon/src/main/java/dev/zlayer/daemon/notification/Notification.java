package dev.zlayer.daemon.notification;

import dev.zlayer.daemon.config.NotificationTemplate;
import dev.zlayer.daemon.config.NotificationTrigger;
import dev.zlayer.engine.state.Event;
import dev.zlayer.engine.state.EventPage;
import dev.zlayer.json.Json;
import dev.zlayer.json.JsonText;
import java.nio.charset.StandardCharsets;
import java.util.Map;
import java.util.Optional;

/** One event as its receiver gets it. */
@SuppressWarnings("ArrayRecordComponent") // sent once, compared never
record Notification(long sequence, String contentType, byte[] body) {
  static Notification of(
      EventPage.Numbered numbered,
      NotificationTrigger on,
      String node,
      Optional<NotificationTemplate> template) {
    Event event = numbered.event();
    String subject = event.detail().at("job").string().orElse(event.subject());
    String reason = reason(on, event.detail());
    String text = sentence(on, subject, reason);
    String body =
        template
            .map(
                form ->
                    form.fill(
                        Map.of(
                            "at",
                            event.at().toString(),
                            "kind",
                            event.kind(),
                            "node",
                            node,
                            "on",
                            on.word(),
                            "reason",
                            reason,
                            "sequence",
                            String.valueOf(numbered.sequence()),
                            "subject",
                            subject,
                            "text",
                            text)))
            .orElseGet(
                () ->
                    JsonText.print(
                        Json.object()
                            .put("sequence", numbered.sequence())
                            .put("at", event.at())
                            .put("node", node)
                            .put("on", on.word())
                            .put("kind", event.kind())
                            .put("subject", event.subject())
                            .put("reason", reason)
                            .put("text", "%s: %s".formatted(node, text))
                            .put("detail", event.detail())
                            .build()));
    return new Notification(
        numbered.sequence(),
        template.map(NotificationTemplate::contentType).orElse("application/json"),
        body.getBytes(StandardCharsets.UTF_8));
  }

  private static String reason(NotificationTrigger on, Json detail) {
    if (on == NotificationTrigger.DISK_PRESSURE) {
      return "the disk is %d%% full, the limit is %d%%"
          .formatted(
              detail.at("used_percent").integer().orElse(0L),
              detail.at("high_percent").integer().orElse(0L));
    }
    return detail
        .at("reason")
        .string()
        .or(() -> detail.at("failure").at("message").string())
        .orElse("unknown reason");
  }

  private static String sentence(NotificationTrigger on, String subject, String reason) {
    return switch (on) {
      case JOB_FAILED -> "job %s failed: %s".formatted(subject, reason);
      case CRASH_LOOP -> "service %s crashes again and again: %s".formatted(subject, reason);
      case ROLLOUT_FAILED -> "roll-out of service %s failed: %s".formatted(subject, reason);
      case DISK_PRESSURE -> reason;
      case CERTIFICATE_FAILED -> "certificate of %s: %s".formatted(subject, reason);
    };
  }
}
