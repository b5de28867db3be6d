package dev.zlayer.spec.service;

import dev.zlayer.spec.form.Default;
import dev.zlayer.spec.form.Doc;
import dev.zlayer.spec.form.Range;
import dev.zlayer.spec.form.Tagged;
import dev.zlayer.spec.form.Text;
import dev.zlayer.spec.value.CommandLine;
import dev.zlayer.spec.value.ExpectedStatus;
import java.util.Map;

/** One way to check a replica. */
@Doc("The check, selected by type.")
@Tagged(by = "type")
public sealed interface HealthCheck {
  /** Connects to a port of the container; 0 stands for the first endpoint's. */
  @Doc("The port accepts connections.")
  record Tcp(
      @Doc("Port in the container; 0 is the first endpoint's.") @Range(min = 0, max = 65_535)
          int port)
      implements HealthCheck {}

  /** Sends a request to the container. */
  @Doc("A GET request is answered with the expected status.")
  record Http(
      @Doc(
              "Full URL, in which localhost and 127.0.0.1 mean the container, or a path on the"
                  + " first endpoint's port.")
          @Text(
              pattern = "https?://[^\\s/]+(/\\S*)?|/\\S*",
              write = "a full address such as http://localhost:8080/health, or a path")
          String url,
      @Doc("Expected status code, or a class such as 2xx.") @Default("200")
          ExpectedStatus expectStatus,
      @Doc("Headers to send.") Map<String, String> headers)
      implements HealthCheck {}

  /** Runs a command inside the container. */
  @Doc("A command inside the container exits with 0.")
  record Command(@Doc("The command, as text for the shell or as a list.") CommandLine command)
      implements HealthCheck {}

  /** Nothing is tried. */
  @Doc("A running replica is healthy.")
  record None() implements HealthCheck {}
}
