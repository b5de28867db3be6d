package dev.zlayer.daemon;

import dev.zlayer.error.AgentException;
import java.io.IOException;
import java.util.Properties;

/** Which build this is, and what it speaks. */
public record Version(String version, String api, String java) {
  public static final Version CURRENT = read();

  private static Version read() {
    var properties = new Properties();
    try (var in = Version.class.getResourceAsStream("version.properties")) {
      properties.load(in);
    } catch (IOException e) {
      throw new AgentException.Internal("the build has no version", e);
    }
    return new Version(
        properties.getProperty("version", "unknown"), "v1", Runtime.version().toString());
  }
}
