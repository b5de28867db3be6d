package dev.zlayer.runtime.docker;

import dev.zlayer.error.AgentException;
import dev.zlayer.json.Json;

/**
 * Which version of its API the engine is spoken to in: the one that this was tried with, or the
 * nearest that the engine still speaks. An engine changes what answers mean from one version to the
 * next, and drops old ones. Pure.
 *
 * @param prefix begins every target; empty for an engine that tells no versions
 */
record ApiVersion(String prefix) {
  private static final int TRIED = 41;

  /** The range in which nothing that is used here has changed. */
  private static final int OLDEST = 40;

  private static final int NEWEST = 51;

  static ApiVersion choose(Json version) {
    String newest = version.at("ApiVersion").string().orElse("");
    if (newest.isEmpty()) {
      return new ApiVersion("");
    }
    int most = minor(newest);
    int least = minor(version.at("MinAPIVersion").string().orElse("1." + OLDEST));
    int chosen = Math.max(least, Math.min(TRIED, most));
    if (chosen < OLDEST || chosen > NEWEST) {
      throw new AgentException.Configuration(
          "the docker engine speaks versions 1.%d to 1.%d of its API, and this agent 1.%d to 1.%d: update the older of the two"
              .formatted(least, most, OLDEST, NEWEST));
    }
    return new ApiVersion("/v1." + chosen);
  }

  private static int minor(String version) {
    if (!version.matches("1\\.[0-9]{1,4}")) {
      throw new AgentException.Configuration(
          "the docker engine speaks version %s of its API, which this agent does not know"
              .formatted(version));
    }
    return Integer.parseInt(version.substring(2));
  }
}
