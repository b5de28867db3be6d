package dev.zlayer.cli;

import dev.zlayer.cli.terminal.Terminal;
import dev.zlayer.host.linux.RootedDirectory;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.io.PrintStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;

/**
 * Runs the commands that people wait for, so that the AOT cache made from this run holds the
 * classes they need. Whatever they print is thrown away.
 */
final class Training {
  static final String FLAG = "--train-aot";

  /** A registry that refuses connections at once, which takes most of the classes of a pull. */
  private static final String NOBODY = "127.0.0.1:1/training:1";

  private static final String[][] COMMANDS = {
    {"version"},
    {"--help"},
    {"validate", "-"},
    {"validate", "-", "--json"},
    {"image", "ls", "--json"},
    {"pull", NOBODY},
    {"pull", "--policy", "never", NOBODY},
    {"info"},
    {"no-such-verb"},
  };

  private static final String DEPLOYMENT =
      """
      version: v1
      deployment: training
      services:
        web:
          image: {name: "busybox:1"}
          command: [httpd, -f]
          env: {A: "1"}
          resources: {memory: 64Mi, cpu: 0.5}
          endpoints: [{name: http, protocol: http, port: 8080, expose: public}]
          scale: {mode: fixed, replicas: 2}
          health: {check: {type: tcp, port: 8080}, interval: 5s}
          storage: [{type: named, name: data, target: /data}]
          init: {steps: [{id: wait, uses: init.wait_tcp, with: {host: db, port: 1}}]}
        tick:
          rtype: cron
          schedule: "*/5 * * * *"
          image: {name: "busybox:1"}
          depends: [{service: web}]
          no_such_key: 1
      """;

  private Training() {}

  static void run() {
    var nowhere = new PrintStream(OutputStream.nullOutputStream(), false, StandardCharsets.UTF_8);
    try {
      Path directory = Files.createTempDirectory("zlayer-training");
      Map<String, String> env = Map.of("ZLAYER_DATA_DIR", directory.toString());
      for (String[] command : COMMANDS) {
        var input = new ByteArrayInputStream(DEPLOYMENT.getBytes(StandardCharsets.UTF_8));
        new Cli(new Session(nowhere, nowhere, input, env, directory, false, false, Terminal.NONE))
            .run(command);
      }
      RootedDirectory.removeTree(directory);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }
}
