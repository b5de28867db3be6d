package dev.zlayer.host.linux;

import dev.zlayer.host.process.Command;
import dev.zlayer.host.process.CommandResult;
import dev.zlayer.host.process.Processes;
import dev.zlayer.task.Deadline;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.StringReader;
import java.net.Inet6Address;
import java.net.InetAddress;
import java.nio.charset.StandardCharsets;
import java.nio.file.AccessDeniedException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.Set;
import java.util.TreeSet;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/** Connections that the kernel remembers because it translates their addresses. */
public final class Conntrack {
  private static final Path TABLE = Path.of("/proc/net/nf_conntrack");

  /** From the first packet until both sides have ended. */
  private static final Set<String> OPEN =
      Set.of("SYN_SENT", "SYN_RECV", "ESTABLISHED", "FIN_WAIT", "CLOSE_WAIT");

  /**
   * Ended by both sides: the next connection from the same port is led anew. One that the server
   * refused or reset is not ended in this sense.
   */
  private static final String ENDED = "TIME_WAIT";

  /** First as the client sends, then as the server answers. */
  private static final Pattern DATAGRAMS =
      Pattern.compile(
          "^ipv[46] .* udp .*? dst=(?<asked>\\S+) sport=\\d+ dport=(?<port>\\d+) (?:\\S+"
              + " )?src=(?<server>\\S+) ");

  private static final Duration LIMIT = Duration.ofSeconds(10);

  private Conntrack() {}

  /** Root of a user namespace may ask for its connections, but not read the kernel's file. */
  private static BufferedReader table() throws IOException {
    try {
      return Files.newBufferedReader(TABLE, StandardCharsets.US_ASCII);
    } catch (AccessDeniedException e) {
      try {
        CommandResult listed =
            Processes.run(
                Command.of("conntrack", "--dump", "--output", "extended"), Deadline.after(LIMIT));
        if (listed.success()) {
          return new BufferedReader(new StringReader(listed.stdout()));
        }
        throw e;
      } catch (InterruptedException interrupted) {
        Thread.currentThread().interrupt();
        throw new IOException("interrupted", interrupted);
      }
    }
  }

  /**
   * How many TCP connections to that address are open, whatever address their clients asked for;
   * empty when this kernel does not tell.
   */
  public static OptionalInt connections(InetAddress server) throws IOException {
    try (BufferedReader lines = table()) {
      return OptionalInt.of(count(lines, text(server)));
    } catch (NoSuchFileException _) {
      return OptionalInt.empty();
    }
  }

  static int count(BufferedReader lines, String server) throws IOException {
    return (int)
        answeredBy(lines, server)
            .filter(words -> words[2].equals("tcp") && OPEN.contains(words[5]))
            .count();
  }

  /**
   * Which kinds of memory would lead a client to that address again: states of TCP connections that
   * a new one from the same port does not begin anew, and other protocols by name. Empty when this
   * kernel does not tell.
   */
  public static Set<String> sticky(InetAddress server) throws IOException {
    try (BufferedReader lines = table()) {
      return sticky(lines, text(server));
    } catch (NoSuchFileException _) {
      return Set.of();
    }
  }

  static Set<String> sticky(BufferedReader lines, String server) throws IOException {
    return answeredBy(lines, server)
        .filter(words -> !words[5].equals(ENDED))
        .map(words -> words[2].equals("tcp") ? words[5] : words[2])
        .collect(Collectors.toCollection(TreeSet::new));
  }

  /**
   * Which addresses answer datagrams that clients send to a port; empty when this kernel does not
   * tell.
   *
   * @param at the address that the clients ask, if it matters
   */
  public static Set<String> datagramServers(Optional<InetAddress> at, int port) throws IOException {
    try (BufferedReader lines = table()) {
      return datagramServers(lines, at.map(Conntrack::text), port);
    } catch (NoSuchFileException _) {
      return Set.of();
    }
  }

  static Set<String> datagramServers(BufferedReader lines, Optional<String> at, int port)
      throws IOException {
    var servers = new TreeSet<String>();
    for (String line = lines.readLine(); line != null; line = lines.readLine()) {
      Matcher match = DATAGRAMS.matcher(line);
      if (match.find()
          && Integer.parseInt(match.group("port")) == port
          && at.map(match.group("asked")::equals).orElse(true)) {
        servers.add(match.group("server"));
      }
    }
    return servers;
  }

  /** As the kernel writes it here: all eight groups of four digits of an IPv6 address. */
  static String text(InetAddress address) {
    return address instanceof Inet6Address
        ? HexFormat.of().formatHex(address.getAddress()).replaceAll("(.{4})(?!$)", "$1:")
        : address.getHostAddress();
  }

  /** The words of each line about a connection that this address answers. */
  private static Stream<String[]> answeredBy(BufferedReader lines, String server)
      throws IOException {
    String answering = " src=" + server + " ";
    var found = new ArrayList<String[]>();
    for (String line = lines.readLine(); line != null; line = lines.readLine()) {
      // first how the client sees it, then how the server does: its address answers
      int second = line.indexOf(" src=", line.indexOf(" src=") + 1);
      if (second > 0 && line.startsWith(answering, second)) {
        found.add(line.split(" +", 7));
      }
    }
    return found.stream();
  }
}
