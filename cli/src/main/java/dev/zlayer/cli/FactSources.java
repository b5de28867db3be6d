package dev.zlayer.cli;

import dev.zlayer.daemon.Version;
import dev.zlayer.daemon.config.AgentConfig;
import dev.zlayer.spec.bind.ShapeSource;
import java.util.LinkedHashMap;
import java.util.Map;
import picocli.CommandLine;

/**
 * The sources of the classes that a distribution has in place of others: what reflection finds out
 * about the program, found out when it is built. {@code tools/dist} compiles them, and compares
 * them with those that the result makes.
 */
final class FactSources {
  private FactSources() {}

  /** By the name of the file. */
  static Map<String, String> of(CommandLine grammar) {
    var sources = new LinkedHashMap<String, String>();
    sources.put("BuildFacts.java", CommandModel.source(grammar, Version.CURRENT.version()));
    sources.put("ShapeFacts.java", ShapeSource.of(AgentConfig.class));
    for (String name : FieldSource.PACKAGES) {
      sources.put(
          name + "/BoundFields.java", FieldSource.of(name, CommandModel.of(grammar).values()));
    }
    return sources;
  }
}
