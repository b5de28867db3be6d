package dev.zlayer.cli.client;

import dev.zlayer.error.AgentException;
import dev.zlayer.host.http.HttpAddress;
import dev.zlayer.host.process.Command;
import java.net.URI;
import java.net.URISyntaxException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/**
 * A daemon on another machine, reached through {@code ssh}: there, {@code zlayer daemon dial-stdio}
 * passes bytes between its standard streams and the socket.
 */
public final class SshAddress {
  public static final String SCHEME = "ssh://";
  private static final String FORM = "ssh://[USER@]HOST[:PORT][/SOCKET]";
  private static final Path SETSID = Path.of("/usr/bin/setsid");

  private SshAddress() {}

  /**
   * Reads {@code ssh://user@host:22/path/to/zlayer.sock}.
   *
   * @param program what to run as {@code ssh}
   */
  public static HttpAddress parse(String text, String program) {
    URI uri;
    try {
      uri = new URI(text);
    } catch (URISyntaxException e) {
      throw refused(text, "is not an address");
    }
    String user = uri.getUserInfo() == null ? "" : uri.getUserInfo();
    String socket = uri.getPath() == null || uri.getPath().equals("/") ? "" : uri.getPath();
    // every word reaches a command line, and the last ones a shell of the other machine
    if (uri.getHost() == null || !uri.getHost().matches("\\[?[A-Za-z0-9][A-Za-z0-9.:_-]*]?")) {
      throw refused(text, "names no host");
    }
    if (user.contains(":")) {
      throw refused(text.replaceFirst(":[^@]*@", ":...@"), "must hold no password");
    }
    if (!user.matches("([A-Za-z0-9_][A-Za-z0-9._-]*)?")
        || !socket.matches("(/[A-Za-z0-9._-]+)*")
        || uri.getQuery() != null
        || uri.getFragment() != null) {
      throw refused(text, "is malformed");
    }
    return new HttpAddress.Program(text, command(uri, user, socket, program));
  }

  private static Command command(URI uri, String user, String socket, String program) {
    var words = new ArrayList<String>();
    if (Files.isExecutable(SETSID)) {
      words.add(SETSID.toString()); // ^C is for this command line, not for the connection
    }
    words.addAll(List.of(program, "-T", "-o", "ConnectTimeout=30"));
    if (!user.isEmpty()) {
      words.addAll(List.of("-l", user));
    }
    if (uri.getPort() > 0) {
      words.addAll(List.of("-p", String.valueOf(uri.getPort())));
    }
    words.addAll(
        List.of("--", uri.getHost().replaceAll("[\\[\\]]", ""), "zlayer", "daemon", "dial-stdio"));
    if (!socket.isEmpty()) {
      words.addAll(List.of("--socket", socket));
    }
    return Command.of(words).inheritingAll();
  }

  private static AgentException refused(String text, String reason) {
    return new AgentException.InvalidSpec("'%s' %s: write %s".formatted(text, reason, FORM));
  }
}
