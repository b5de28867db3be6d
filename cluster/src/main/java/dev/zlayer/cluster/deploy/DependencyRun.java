package dev.zlayer.cluster.deploy;

import dev.zlayer.cluster.member.StoreKeys;
import dev.zlayer.json.Json;
import dev.zlayer.json.JsonText;
import dev.zlayer.json.RecordJson;
import dev.zlayer.spec.ServiceSpec;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import java.util.Optional;
import java.util.TreeMap;

/**
 * That a job ran because services wait for it. It is kept when its execution is forgotten, so that
 * what completed once is not run again while the job stays what it was.
 *
 * @param revision of the deployment for which it was run last
 * @param hash of what the job was then
 * @param number of that execution
 * @param failed why it did not complete
 * @param completed hashes of what the job was when it completed, newest last
 */
public record DependencyRun(
    long revision, String hash, long number, Optional<String> failed, List<String> completed) {
  private static final int MOST = 20;
  private static final int LENGTH = 24;

  public DependencyRun {
    completed = List.copyOf(completed);
  }

  static String key(String deployment, String job) {
    return StoreKeys.DEPENDENCIES + deployment + "/" + job;
  }

  /** Differs when jobs differ. */
  static String hash(ServiceSpec job) {
    try {
      byte[] digest =
          MessageDigest.getInstance("SHA-256")
              .digest(
                  JsonText.print(ordered(RecordJson.write(job))).getBytes(StandardCharsets.UTF_8));
      return HexFormat.of().formatHex(digest).substring(0, LENGTH);
    } catch (NoSuchAlgorithmException e) {
      throw new IllegalStateException("every JDK has SHA-256", e);
    }
  }

  /** Members of maps come in any order. */
  private static Json ordered(Json json) {
    return switch (json) {
      case Json.Obj(var members) -> {
        var sorted = new TreeMap<String, Json>();
        members.forEach((name, value) -> sorted.put(name, ordered(value)));
        yield new Json.Obj(sorted);
      }
      case Json.Arr(var items) -> new Json.Arr(items.stream().map(DependencyRun::ordered).toList());
      case Json.Str _, Json.Num _, Json.Bool _, Json.Null _ -> json;
    };
  }

  boolean completed(String wanted) {
    return completed.contains(wanted);
  }

  /** Whether it runs, or has run, as what the job is now. */
  boolean about(String wanted) {
    return hash.equals(wanted);
  }

  /** Whether its execution has not ended, as far as is known. */
  boolean open() {
    return failed.isEmpty() && !completed(hash);
  }

  /** Whether a failure is final until somebody brings the deployment up again. */
  boolean stays(String wanted, long desired) {
    return about(wanted) && failed.isPresent() && revision == desired;
  }

  /** The next one; what completed before stays known. */
  static DependencyRun begun(
      Optional<DependencyRun> before, long revision, String hash, long number) {
    return new DependencyRun(
        revision,
        hash,
        number,
        Optional.empty(),
        before.map(DependencyRun::completed).orElse(List.of()));
  }

  DependencyRun complete() {
    var all = new ArrayList<>(completed);
    all.remove(hash);
    all.add(hash);
    return new DependencyRun(
        revision,
        hash,
        number,
        Optional.empty(),
        all.subList(Math.max(0, all.size() - MOST), all.size()));
  }

  DependencyRun fail(String reason) {
    return new DependencyRun(revision, hash, number, Optional.of(reason), completed);
  }

  String json() {
    return JsonText.print(RecordJson.write(this));
  }

  static DependencyRun parse(String json) {
    return RecordJson.read(JsonText.parse(json), DependencyRun.class);
  }
}
