package dev.zlayer.proxy.ingress;

import dev.zlayer.error.AgentException;
import dev.zlayer.host.file.AtomicFile;
import dev.zlayer.proxy.tls.Certificates;
import dev.zlayer.proxy.tls.HostTls;
import dev.zlayer.proxy.tls.PemPair;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Collection;
import java.util.HashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.function.Supplier;
import java.util.stream.Collectors;

/**
 * The certificates of hosts, and answers to challenges, as HAProxy has them: written to files that
 * its next start reads, then given to the running one through its socket. Connections that exist
 * keep the certificate they began with. Used by the owner of the ingress alone.
 */
final class IngressCertificates {
  static final String LIST = "certificates.list";
  static final String CHALLENGES = "challenges.map";
  private static final String DIRECTORY = "certificates";
  private static final String END = ".pem";

  /** HAProxy takes a command with its payload into one buffer of 16 KiB. */
  private static final int LARGEST_COMMAND = 15_000;

  private final Path directory;
  private final Haproxy haproxy;
  private final Supplier<Optional<Certificates>> source;
  private Optional<Set<HostTls>> wanted = Optional.empty();

  /** By file, as far as it is known what the worker has. */
  private final Map<Path, String> loaded = new HashMap<>();

  IngressCertificates(
      IngressConfig config, Haproxy haproxy, Supplier<Optional<Certificates>> source) {
    this.directory = config.directory();
    this.haproxy = haproxy;
    this.source = source;
  }

  /** Has certificates made, read or ordered for the hosts of these endpoints. */
  void want(Collection<IngressEndpoint> endpoints) {
    Set<HostTls> hosts =
        endpoints.stream()
            .flatMap(endpoint -> endpoint.certificates().stream())
            .collect(Collectors.toSet());
    Optional<Certificates> certificates = source.get();
    if (certificates.isPresent() && !wanted.equals(Optional.of(hosts))) {
      certificates.get().want(hosts);
      wanted = Optional.of(hosts);
    }
  }

  /** What the next worker begins with. Before there is a source, that is what was written last. */
  void write() {
    try {
      Files.createDirectories(directory.resolve(DIRECTORY));
      for (String name : List.of(LIST, CHALLENGES)) {
        if (!Files.exists(directory.resolve(name))) {
          write(directory.resolve(name), "");
        }
      }
      if (source.get().isPresent() && wanted.isPresent()) {
        write(source.get().get(), wanted.get());
      }
    } catch (IOException e) {
      throw failure(e);
    }
  }

  private void write(Certificates certificates, Set<HostTls> hosts) throws IOException {
    Map<Path, String> files = files(certificates, hosts);
    for (Map.Entry<Path, String> file : files.entrySet()) {
      if (!Files.exists(file.getKey())
          || !Files.readString(file.getKey()).equals(file.getValue())) {
        write(file.getKey(), file.getValue());
      }
    }
    write(
        directory.resolve(LIST),
        files.keySet().stream().map(file -> line(file) + "\n").collect(Collectors.joining()));
    try (var found = Files.list(directory.resolve(DIRECTORY))) {
      for (Path file : found.filter(one -> !files.containsKey(one)).toList()) {
        Files.delete(file);
      }
    }
  }

  private Map<Path, String> files(Certificates certificates, Set<HostTls> hosts) {
    var files = new TreeMap<Path, String>();
    for (HostTls host : hosts) {
      Optional<PemPair> pem = certificates.find(host.host());
      pem.ifPresent(
          one ->
              files.put(
                  directory.resolve(DIRECTORY).resolve(host.host().replace('*', '_') + END),
                  text(one)));
    }
    return files;
  }

  private static String text(PemPair pem) {
    return pem.chain().strip() + "\n" + pem.key().strip() + "\n";
  }

  /** Which names it is for; a certificate of somebody else may have others, too. */
  private static String line(Path file) {
    String name = String.valueOf(file.getFileName());
    return "%s %s"
        .formatted(file, name.substring(0, name.length() - END.length()).replace('_', '*'));
  }

  /** A worker has read what was written. */
  void read() {
    loaded.clear();
    source
        .get()
        .ifPresent(
            certificates -> wanted.ifPresent(hosts -> loaded.putAll(files(certificates, hosts))));
  }

  /** It is unknown what the worker has. */
  void forget() {
    loaded.clear();
  }

  /** Gives the worker what was written and it does not have. */
  void apply() throws InterruptedException {
    if (source.get().isEmpty() || wanted.isEmpty()) {
      return;
    }
    Map<Path, String> files = files(source.get().get(), wanted.get());
    if (files.equals(loaded)) {
      return;
    }
    if (files.values().stream().anyMatch(text -> text.length() > LARGEST_COMMAND)) {
      haproxy.renew();
      read();
      return;
    }
    Set<String> stored = names(haproxy.ask("show ssl cert"));
    Set<String> listed = names(haproxy.ask("show ssl crt-list " + directory.resolve(LIST)));
    for (Map.Entry<Path, String> file : files.entrySet()) {
      Path path = file.getKey();
      if (!file.getValue().equals(loaded.get(path)) || !listed.contains(path.toString())) {
        set(path, file.getValue(), stored.contains(path.toString()));
        if (!listed.contains(path.toString())) {
          add(path);
        }
        loaded.put(path, file.getValue());
      }
    }
    for (String name : listed) {
      if (!files.containsKey(Path.of(name))) {
        String _ = haproxy.ask("del ssl crt-list %s %s".formatted(directory.resolve(LIST), name));
        String _ = haproxy.ask("del ssl cert " + name);
      }
    }
    loaded.keySet().retainAll(files.keySet());
  }

  private static Set<String> names(String answer) {
    return answer
        .lines()
        .map(String::strip)
        .filter(line -> line.startsWith("/"))
        .map(line -> line.split("[ :]", 2)[0])
        .collect(Collectors.toCollection(LinkedHashSet::new));
  }

  private void set(Path file, String pem, boolean stored) {
    if (!stored) {
      String _ = haproxy.ask("new ssl cert " + file);
    }
    String prepared = haproxy.ask("set ssl cert %s <<\n%s".formatted(file, pem));
    String committed = haproxy.ask("commit ssl cert " + file);
    if (!committed.contains("Success!")) {
      String _ = haproxy.ask("abort ssl cert " + file);
      throw new AgentException.Configuration(
          "HAProxy did not take %s: %s %s"
              .formatted(file.getFileName(), oneLine(prepared), oneLine(committed)));
    }
  }

  private void add(Path file) {
    String list = directory.resolve(LIST).toString();
    String answer = haproxy.ask("add ssl crt-list %s <<\n%s\n".formatted(list, line(file)));
    if (!answer.contains("Success!")) {
      throw new AgentException.Configuration(
          "HAProxy does not serve %s: %s".formatted(file.getFileName(), oneLine(answer)));
    }
  }

  private static String oneLine(String answer) {
    String line = answer.strip().replaceAll("\\s+", " ");
    return line.substring(0, Math.min(line.length(), 200));
  }

  /** Answers these from now on, and no others. */
  void answer(Map<String, String> challenges) {
    Path map = directory.resolve(CHALLENGES);
    try {
      write(
          map,
          challenges.entrySet().stream()
              .map(one -> one.getKey() + " " + one.getValue() + "\n")
              .collect(Collectors.joining()));
    } catch (IOException e) {
      throw failure(e);
    }
    Map<String, String> served = served(map);
    challenges.forEach(
        (token, text) -> {
          if (!served.containsKey(token)) {
            String _ = haproxy.ask("add map %s %s %s".formatted(map, token, text));
          }
        });
    served.keySet().stream()
        .filter(token -> !challenges.containsKey(token))
        .forEach(
            token -> {
              String _ = haproxy.ask("del map %s %s".formatted(map, token));
            });
    if (!served(map).equals(challenges)) {
      throw new AgentException.Configuration("HAProxy does not answer the challenge");
    }
  }

  /** Lines of a map are an id, the key and the value. */
  private Map<String, String> served(Path map) {
    return haproxy
        .ask("show map " + map)
        .lines()
        .map(line -> line.strip().split(" ", 3))
        .filter(fields -> fields.length == 3 && fields[0].startsWith("0x"))
        .collect(Collectors.toMap(fields -> fields[1], fields -> fields[2], (one, _) -> one));
  }

  private static void write(Path file, String text) throws IOException {
    AtomicFile.writeRelaxed(file, text.getBytes(StandardCharsets.UTF_8));
  }

  private static AgentException failure(IOException e) {
    return new AgentException.Configuration(
        "cannot write the certificates of the ingress: " + e.getMessage(), e);
  }
}
