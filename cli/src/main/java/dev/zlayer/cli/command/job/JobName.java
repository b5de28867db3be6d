package dev.zlayer.cli.command.job;

import dev.zlayer.cli.client.Query;
import dev.zlayer.error.AgentException;
import java.util.List;

/** {@code deployment/job}, or {@code job} without a deployment, as a person writes it. */
record JobName(String deployment, String job) {
  /** In place of a deployment; none can have this name. */
  private static final String NO_DEPLOYMENT = "-";

  static JobName single(String job) {
    return new JobName(NO_DEPLOYMENT, job);
  }

  static JobName parse(String text) {
    if (!text.isBlank() && !text.contains("/")) {
      return single(text);
    }
    List<String> parts = List.of(text.split("/", -1));
    if (parts.size() != 2 || parts.stream().anyMatch(String::isBlank)) {
      throw new AgentException.InvalidSpec(
          "'%s' is not a job; write deployment/job ('zlayer job ls' lists all jobs)"
              .formatted(text));
    }
    return new JobName(parts.getFirst(), parts.getLast());
  }

  String path() {
    return "/" + Query.segment(deployment) + "/" + Query.segment(job);
  }

  @Override
  public String toString() {
    return deployment.equals(NO_DEPLOYMENT) ? job : deployment + "/" + job;
  }
}
