package dev.zlayer.proxy.tls;

import dev.zlayer.error.AgentException;
import dev.zlayer.json.Json;
import dev.zlayer.json.JsonText;
import dev.zlayer.json.StoredFormat;
import dev.zlayer.port.SealedStore;
import dev.zlayer.task.LazyLogger;
import java.nio.charset.StandardCharsets;
import java.time.Instant;
import java.time.format.DateTimeParseException;
import java.util.Optional;
import java.util.function.Function;

/** What is durable of certificates, all of it sealed: there is a private key in every record. */
final class CertificateRecords {
  private static final System.Logger LOG = LazyLogger.of(CertificateRecords.class);
  private static final String AUTHORITY = "authority";
  private static final String ACCOUNT = "acme-account";
  static final StoredFormat ACCOUNT_FORMAT = StoredFormat.of("the record of an ACME account");

  private final SealedStore store;

  CertificateRecords(SealedStore store) {
    this.store = store;
  }

  /**
   * The account at an ACME server.
   *
   * @param location what the server calls it; empty until it has been registered
   * @param failures of the server as a whole, in a row
   * @param pausedUntil before which the server is asked nothing
   */
  record Account(
      String directory,
      String key,
      Optional<String> location,
      int failures,
      Optional<Instant> pausedUntil) {
    static Account create(String directory) {
      return new Account(
          directory,
          PemText.print(PemText.generate().getPrivate()),
          Optional.empty(),
          0,
          Optional.empty());
    }

    Account at(Optional<String> location) {
      return new Account(directory, key, location, failures, pausedUntil);
    }

    Account paused(int failures, Optional<Instant> until) {
      return new Account(directory, key, location, failures, until);
    }

    Json.Obj json() {
      return ACCOUNT_FORMAT
          .begin()
          .put("directory", directory)
          .put("key", key)
          .putIf("location", location)
          .put("failures", failures)
          .putIf("paused_until", pausedUntil.map(Instant::toString))
          .build();
    }

    static Account parse(String text) {
      Json json = ACCOUNT_FORMAT.upgrade(tree(text), ACCOUNT);
      return new Account(
          json.at("directory").string().orElse(""),
          json.at("key").string().orElse(""),
          json.at("location").string(),
          json.at("failures").integer().orElse(0L).intValue(),
          json.at("paused_until").string().map(Instant::parse));
    }
  }

  Optional<HostRecord> host(HostTls.Kind kind, String host) {
    String key = key(kind, host);
    return read(key, text -> HostRecord.parse(text, key));
  }

  void put(HostTls.Kind kind, String host, HostRecord record) {
    store.put(key(kind, host), record.print());
  }

  /** The authority of this agent, made and kept by the first use. */
  LocalAuthority authority(Instant now) {
    Optional<LocalAuthority> kept =
        read(AUTHORITY, LocalAuthority::parse).filter(one -> one.usable(now));
    if (kept.isPresent()) {
      return kept.get();
    }
    LocalAuthority made = LocalAuthority.create(now);
    store.put(AUTHORITY, made.print());
    return made;
  }

  /** The account for a server; another server has another account, with another key. */
  Account account(String directory) {
    String key = accountKey(directory);
    return read(key, Account::parse)
        .filter(account -> account.directory().equals(directory))
        .orElseGet(() -> Account.create(directory));
  }

  void put(Account account) {
    store.put(
        accountKey(account.directory()),
        new String(JsonText.bytes(account.json()), StandardCharsets.UTF_8));
  }

  /** Forgets hosts whose certificate ended long ago. */
  void prune(Instant now) {
    for (HostTls.Kind kind : HostTls.Kind.values()) {
      for (String key : store.keys()) {
        if (key.startsWith(prefix(kind))) {
          Optional<HostRecord> record = read(key, text -> HostRecord.parse(text, key));
          if (record.isPresent() && outdated(record.get(), now.minus(OrderHistory.LONGEST_WAIT))) {
            store.remove(key);
          }
        }
      }
    }
  }

  private static boolean outdated(HostRecord record, Instant before) {
    return record.pem().map(pem -> pem.notAfter().isBefore(before)).orElse(true)
        && record.history().last().map(last -> last.isBefore(before)).orElse(true);
  }

  /** One that cannot be used is as one that is not there, but not without a word. */
  private <T> Optional<T> read(String key, Function<String, T> parse) {
    try {
      return store.find(key).map(parse);
    } catch (AgentException.Configuration | AgentException.InvalidSpec | DateTimeParseException e) {
      LOG.log(
          System.Logger.Level.ERROR,
          "the stored certificate record %s cannot be used and is made anew: %s"
              .formatted(key, e.getMessage()));
      return Optional.empty();
    }
  }

  private static Json tree(String text) {
    return JsonText.parse(text.getBytes(StandardCharsets.UTF_8));
  }

  private static String prefix(HostTls.Kind kind) {
    return Json.of(kind).string().orElseThrow() + "/";
  }

  private static String key(HostTls.Kind kind, String host) {
    return prefix(kind) + host;
  }

  private static String accountKey(String directory) {
    return ACCOUNT + "/" + directory;
  }
}
