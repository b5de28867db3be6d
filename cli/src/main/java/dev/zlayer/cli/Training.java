package dev.zlayer.cli;

import dev.zlayer.cli.terminal.RealTerminal;
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

  private static final String[][] COMMANDS = {
    {"version"},
    {"--help"},
    {"validate", "-"},
    {"validate", "-", "--json"},
    {"ps"},
    {"ps", "--json"},
    {"ps", "--all", "shop/web"},
    {"status"},
    {"logs", "shop/web"},
    {"exec", "web-1", "true"},
    {"stop", "web-1"},
    {"image", "ls"},
    {"job", "ls"},
    {"events"},
    {"up", "--no-wait", "-"},
    {"run", "--rm", "-d", "-p", "80:80", "-v", "data:/data", "web:1", "serve"},
    {"config", "show", "--local"},
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
      """;

  private Training() {}

  static void run() {
    var nowhere = new PrintStream(OutputStream.nullOutputStream(), false, StandardCharsets.UTF_8);
    try {
      Path directory = Files.createTempDirectory("zlayer-training");
      Path socket = directory.resolve("zlayer.sock");
      Map<String, String> env =
          Map.of("ZLAYER_DATA_DIR", directory.toString(), "ZLAYER_SOCKET", socket.toString());
      try (var _ = TrainingLoop.open(socket)) {
        train(nowhere, env, directory);
      }
      RootedDirectory.removeTree(directory);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private static void train(PrintStream nowhere, Map<String, String> env, Path directory) {
    for (String[] command : COMMANDS) {
      var input = new ByteArrayInputStream(DEPLOYMENT.getBytes(StandardCharsets.UTF_8));
      new Cli(
              new Session(
                  nowhere, nowhere, input, env, directory, false, false, false, new RealTerminal()))
          .run(command);
    }
  }
}
