package dev.zlayer.runtime.oci;

import dev.zlayer.host.linux.UserNamespaces;
import dev.zlayer.host.process.RootlessHost;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import org.junit.jupiter.engine.JupiterTestEngine;
import org.junit.platform.engine.CancellationToken;
import org.junit.platform.engine.ConfigurationParameters;
import org.junit.platform.engine.DiscoveryFilter;
import org.junit.platform.engine.DiscoverySelector;
import org.junit.platform.engine.EngineDiscoveryRequest;
import org.junit.platform.engine.EngineExecutionListener;
import org.junit.platform.engine.ExecutionRequest;
import org.junit.platform.engine.OutputDirectoryCreator;
import org.junit.platform.engine.TestDescriptor;
import org.junit.platform.engine.TestExecutionResult;
import org.junit.platform.engine.UniqueId;
import org.junit.platform.engine.discovery.DiscoverySelectors;
import org.junit.platform.engine.support.store.Namespace;
import org.junit.platform.engine.support.store.NamespacedHierarchicalStore;

/**
 * A program that runs {@link OciContractIT} in the namespaces of an ordinary user, as their agent
 * makes them. One line per test: {@code ok}, {@code skipped} or {@code failed}, the name, and why.
 */
final class RootlessContract {
  static final String ENDED = "all tests ended";

  private RootlessContract() {}

  /**
   * @param words where the agent's run directory is, and the name of the user
   */
  public static void main(String... words) throws Exception {
    if (!UserNamespaces.inside()) {
      new RootlessHost(Path.of(words[0]), System.getenv("PATH"), words[1])
          .enter(System.getenv(), System.out::println);
    }
    var engine = new JupiterTestEngine();
    TestDescriptor found =
        engine.discover(new Request(OciContractIT.class), UniqueId.forEngine(engine.getId()));
    try (var session = new NamespacedHierarchicalStore<Namespace>(null);
        var store = session.newChild()) {
      engine.execute(
          ExecutionRequest.create(
              found,
              new Printer(),
              new NoParameters(),
              new NoOutput(),
              store,
              CancellationToken.disabled()));
    }
    System.out.println(ENDED);
    System.exit(0); // threads of a runtime that was closed may still be about to end
  }

  private record Request(Class<?> type) implements EngineDiscoveryRequest {
    @Override
    public <T extends DiscoverySelector> List<T> getSelectorsByType(Class<T> selector) {
      DiscoverySelector one = DiscoverySelectors.selectClass(type);
      return selector.isInstance(one) ? List.of(selector.cast(one)) : List.of();
    }

    @Override
    public <T extends DiscoveryFilter<?>> List<T> getFiltersByType(Class<T> filter) {
      return List.of();
    }

    @Override
    public ConfigurationParameters getConfigurationParameters() {
      return new NoParameters();
    }

    @Override
    public OutputDirectoryCreator getOutputDirectoryCreator() {
      return new NoOutput();
    }
  }

  private record NoParameters() implements ConfigurationParameters {
    @Override
    public Optional<String> get(String key) {
      return Optional.empty();
    }

    @Override
    public Optional<Boolean> getBoolean(String key) {
      return Optional.empty();
    }

    @Override
    public Set<String> keySet() {
      return Set.of();
    }
  }

  private record NoOutput() implements OutputDirectoryCreator {
    @Override
    public Path getRootDirectory() {
      return Path.of(System.getProperty("java.io.tmpdir"));
    }

    @Override
    public Path createOutputDirectory(TestDescriptor test) {
      return getRootDirectory();
    }
  }

  private static final class Printer implements EngineExecutionListener {
    @Override
    public void executionSkipped(TestDescriptor test, String reason) {
      print("skipped", test, reason);
    }

    @Override
    public void executionFinished(TestDescriptor test, TestExecutionResult result) {
      switch (result.getStatus()) {
        case SUCCESSFUL -> {
          if (test.isTest()) {
            print("ok", test, "");
          }
        }
        case ABORTED -> print("skipped", test, message(result));
        case FAILED -> print("failed", test, trace(result));
      }
    }

    private static String message(TestExecutionResult result) {
      return result.getThrowable().map(Throwable::getMessage).orElse("");
    }

    private static String trace(TestExecutionResult result) {
      var text = new StringWriter();
      result.getThrowable().ifPresent(thrown -> thrown.printStackTrace(new PrintWriter(text)));
      return text.toString();
    }

    /** A test with parameters has the name of its method, too. */
    private static void print(String how, TestDescriptor test, String why) {
      String method =
          test.getUniqueId().getLastSegment().getType().equals("test-template-invocation")
              ? test.getParent().map(TestDescriptor::getDisplayName).orElse("") + " "
              : "";
      String name = (method + test.getDisplayName()).replace('\t', ' ');
      String line = how + "\t" + name + "\t" + why.strip().replace('\t', ' ').replace('\n', '\f');
      System.out.println(line);
    }
  }
}
