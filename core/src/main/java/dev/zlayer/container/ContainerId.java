package dev.zlayer.container;

import dev.zlayer.error.AgentException;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.HexFormat;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

/**
 * Who a container is, as fields. The name that a runtime, a cgroup or a file needs is derived from
 * them; nothing ever parses such a name back.
 *
 * @param deployment the deployment it belongs to, or {@link #STANDALONE}
 * @param service the service or job
 * @param role the replica group, {@link #DEFAULT_ROLE} without groups
 * @param replica counted from 1 within its role
 * @param generation distinguishes successive containers of one replica (a new revision, the next
 *     run of a job), so that the old and the new one can exist side by side
 */
public record ContainerId(
    String deployment, String service, String role, int replica, long generation) {
  public static final String STANDALONE = "standalone";
  public static final String DEFAULT_ROLE = "default";

  /** Stands for the deployment of a job that belongs to none. */
  public static final String NO_DEPLOYMENT = "-";

  /** Role of the containers that run a job; see {@link #ofExecution}. */
  public static final String JOB_ROLE = "job";

  /** More than the attempts that an execution may have. */
  private static final int ATTEMPTS = 1 << 11;

  /** Replica of the containers of jobs that are made ahead; see {@link #ofPrepared}. */
  private static final int PREPARED = 2;

  private static final int MAX_READABLE = 30;

  /** Every listing asks every container for its name, and a hash takes longer than all the rest. */
  private static final Map<ContainerId, String> NAMES = new ConcurrentHashMap<>();

  private static final int MOST_NAMES = 2_000;

  public ContainerId {
    require(!deployment.isBlank(), "deployment is empty");
    require(!service.isBlank(), "service is empty");
    require(!role.isBlank(), "role is empty");
    require(replica >= 1, "replicas are counted from 1, not " + replica);
    require(generation >= 0, "generation is negative");
  }

  public static ContainerId of(String deployment, String service, int replica) {
    return new ContainerId(deployment, service, DEFAULT_ROLE, replica, 0);
  }

  /** The container of one attempt of an execution; no other attempt ever has the same. */
  public static ContainerId ofExecution(String deployment, String job, long number, int attempt) {
    return new ContainerId(deployment, job, JOB_ROLE, 1, number * ATTEMPTS + attempt);
  }

  /** A container of a job that is made before it is known which execution will run in it. */
  public static ContainerId ofPrepared(String deployment, String job, long number) {
    return new ContainerId(deployment, job, JOB_ROLE, PREPARED, number);
  }

  /** Whether it is one of {@link #ofPrepared}. */
  public boolean prepared() {
    return role.equals(JOB_ROLE) && replica == PREPARED;
  }

  public ContainerId withGeneration(long generation) {
    return new ContainerId(deployment, service, role, replica, generation);
  }

  /**
   * A name for runtimes, cgroups, files and interfaces: readable head, then enough of a hash over
   * all fields that two different identities never share it. At most 47 characters of {@code
   * [a-z0-9-]}.
   */
  public String runtimeName() {
    String known = NAMES.get(this);
    if (known != null) {
      return known;
    }
    String slug = slug(service);
    String name = (slug.isEmpty() ? "c" : slug) + "-" + hash().substring(0, 16);
    if (NAMES.size() >= MOST_NAMES) {
      NAMES.clear();
    }
    NAMES.put(this, name);
    return name;
  }

  /**
   * Text for people: {@code deployment/service/replica}, with the role if it has one; {@code
   * deployment/job/number} for an execution, {@code deployment/job/prepared-number} for one made
   * ahead; only the name of a container that stands alone.
   */
  @Override
  public String toString() {
    if (equals(of(STANDALONE, service, 1))) {
      return service;
    }
    String job = (deployment.equals(NO_DEPLOYMENT) ? "" : deployment + "/") + service + "/";
    if (prepared()) {
      return job + "prepared-" + generation;
    }
    return role.equals(JOB_ROLE) && generation >= ATTEMPTS
        ? job + generation / ATTEMPTS
        : withGeneration(0).path();
  }

  /** All fields that distinguish it from others, the generation behind an {@code @}. */
  public String path() {
    var text = new StringBuilder(deployment).append('/').append(service).append('/');
    if (!role.equals(DEFAULT_ROLE)) {
      text.append(role).append('/');
    }
    text.append(replica);
    return generation == 0 ? text.toString() : text.append('@').append(generation).toString();
  }

  private static String slug(String text) {
    String slug =
        text.toLowerCase(Locale.ROOT).replaceAll("[^a-z0-9]+", "-").replaceAll("^-|-$", "");
    return slug.length() <= MAX_READABLE ? slug : slug.substring(0, MAX_READABLE);
  }

  private String hash() {
    try {
      var sha = MessageDigest.getInstance("SHA-256");
      for (String field : new String[] {deployment, service, role}) {
        byte[] bytes = field.getBytes(StandardCharsets.UTF_8);
        sha.update((bytes.length + ":").getBytes(StandardCharsets.UTF_8));
        sha.update(bytes);
      }
      sha.update((replica + ":" + generation).getBytes(StandardCharsets.UTF_8));
      return HexFormat.of().formatHex(sha.digest());
    } catch (NoSuchAlgorithmException e) {
      throw new IllegalStateException("every JDK has SHA-256", e);
    }
  }

  private static void require(boolean right, String problem) {
    if (!right) {
      throw new AgentException.InvalidSpec("container id: " + problem);
    }
  }
}
