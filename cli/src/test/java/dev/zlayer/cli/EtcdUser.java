package dev.zlayer.cli;

import static org.assertj.core.api.Assertions.assertThat;

import dev.zlayer.cluster.etcd.EtcdConfig;
import dev.zlayer.cluster.member.ClusterFiles;
import dev.zlayer.host.process.Command;
import dev.zlayer.host.process.CommandResult;
import dev.zlayer.host.process.Processes;
import dev.zlayer.json.JsonText;
import dev.zlayer.task.Deadline;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;

/**
 * Somebody who asks etcd itself, with curl, from a network namespace.
 *
 * @param network of a machine, as a file
 * @param files what that machine has of its cluster: with its certificate it asks
 * @param server address of the machine whose etcd is asked
 */
public record EtcdUser(Path network, Path files, String server) {
  private static final Duration LIMIT = Duration.ofSeconds(60);

  /** The user that the machine is. */
  public EtcdConfig.Login login() {
    return new ClusterFiles(files).login().orElseThrow();
  }

  /** A token of that user. */
  public String token() {
    EtcdConfig.Login own = login();
    return JsonText.parse(login(own.user(), own.password())).at("token").string().orElseThrow();
  }

  /** What etcd answers to a login. */
  public String login(String user, String password) {
    return ask(
        "", "auth/authenticate", "{\"name\":\"%s\",\"password\":\"%s\"}".formatted(user, password));
  }

  /** What it answers to the holder of a token; to nobody when that is empty. */
  public String ask(String token, String path, String body) {
    try {
      CommandResult result =
          Processes.run(Command.of(words(token, path, body)), Deadline.after(LIMIT));
      assertThat(result.code()).as(result.stderr()).isZero();
      return result.stdout();
    } catch (InterruptedException e) {
      throw new AssertionError(e);
    }
  }

  /** The command that asks. */
  public List<String> words(String token, String path, String body) {
    var words =
        new ArrayList<>(
            List.of(
                "nsenter",
                "--net=" + network,
                "curl",
                "--silent",
                "--show-error",
                "--no-buffer",
                "--cacert",
                files.resolve("ca.crt").toString(),
                "--cert",
                files.resolve("node.crt").toString(),
                "--key",
                files.resolve("node.key").toString(),
                "--data",
                body));
    if (!token.isEmpty()) {
      words.addAll(List.of("--header", "Authorization: " + token));
    }
    words.add("https://%s:2379/v3/%s".formatted(server, path));
    return words;
  }
}
