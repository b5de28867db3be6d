package dev.zlayer.proxy.tls;

import dev.zlayer.error.AgentException;
import dev.zlayer.host.process.Command;
import dev.zlayer.host.process.CommandResult;
import dev.zlayer.host.process.Processes;
import dev.zlayer.proxy.tls.CertificateIssuer.OrderFailed;
import dev.zlayer.task.Deadline;
import dev.zlayer.task.LazyLogger;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Optional;

/**
 * The operator's program that writes DNS records: {@code PROGRAM present|cleanup DOMAIN NAME
 * VALUE}. It returns when the name servers of the domain answer with the record.
 */
record DnsHook(Path program) {
  private static final System.Logger LOG = LazyLogger.of(DnsHook.class);
  private static final Duration LIMIT = Duration.ofMinutes(5);

  void present(String domain, String name, String value) throws OrderFailed, InterruptedException {
    Optional<String> failure = run("present", domain, name, value);
    if (failure.isPresent()) {
      throw new OrderFailed(failure.get(), false, Optional.empty());
    }
  }

  /** What is left harms nobody; it is logged. */
  void cleanup(String domain, String name, String value) throws InterruptedException {
    run("cleanup", domain, name, value)
        .ifPresent(failure -> LOG.log(System.Logger.Level.WARNING, failure));
  }

  private Optional<String> run(String verb, String domain, String name, String value)
      throws InterruptedException {
    try {
      CommandResult result =
          Processes.run(
              Command.of(program.toString(), verb, domain, name, value), Deadline.after(LIMIT));
      return result.success()
          ? Optional.empty()
          : Optional.of(
              "acme_dns_hook %s %s %s ended with %d: %s"
                  .formatted(program, verb, domain, result.code(), result.lastLine()));
    } catch (AgentException e) {
      return Optional.of(
          "acme_dns_hook %s %s %s: %s".formatted(program, verb, domain, e.getMessage()));
    }
  }
}
