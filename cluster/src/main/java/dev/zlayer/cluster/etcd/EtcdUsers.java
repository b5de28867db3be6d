package dev.zlayer.cluster.etcd;

import dev.zlayer.cluster.etcd.EtcdClient.Kind;
import dev.zlayer.cluster.etcd.EtcdClient.Refused;
import dev.zlayer.cluster.etcd.EtcdConfig.Login;
import dev.zlayer.json.Json;
import dev.zlayer.task.Deadline;
import java.util.HashSet;
import java.util.List;
import java.util.Set;

/**
 * Users of etcd, and the roles that say which keys they may read and write. Only the user root may
 * change them. All of it can be done again: what is there already stays.
 */
public final class EtcdUsers {
  /** The user, and its role, without which etcd has no users. */
  public static final String ROOT = "root";

  private static final String USER_EXISTS = "etcdserver: user name already exists";
  private static final String ROLE_EXISTS = "etcdserver: role name already exists";
  private static final String NO_USER = "etcdserver: user name not found";
  private static final String NO_ROLE = "etcdserver: role name not found";

  /**
   * What a role may do.
   *
   * @param key one key, or what all keys begin with
   * @param prefix whether it is the latter
   * @param writes whether it may write as well as read
   */
  public record Permission(String key, boolean prefix, boolean writes) {
    private Json json() {
      Json.Builder range =
          prefix ? EtcdStore.range(key) : Json.object().put("key", EtcdStore.encode(key));
      return range.put("permType", writes ? "READWRITE" : "READ").build();
    }

    /** Etcd leaves out what is its default. */
    private static Json shown(Json permission) {
      return Json.object()
          .put("key", permission.at("key").string().orElse(""))
          .put("range_end", permission.at("range_end").string().orElse(""))
          .put("permType", permission.at("permType").string().orElse("READ"))
          .build();
    }
  }

  private final EtcdClient client;

  public EtcdUsers(EtcdClient client) {
    this.client = client;
  }

  /** From now on etcd asks everybody for a user. The client has to be one that logs in as root. */
  public void begin(Login root, Deadline deadline) throws InterruptedException {
    role(ROOT, List.of(), deadline);
    user(root, List.of(ROOT), deadline);
    Json _ = client.ask("/v3/auth/enable", Json.object().build(), Kind.WRITE, deadline);
  }

  /**
   * Makes a role that may do at least this: what a later version of the agent has granted stays,
   * since nodes of both work beside each other.
   */
  public void role(String name, List<Permission> wanted, Deadline deadline)
      throws InterruptedException {
    ask("role/add", Json.object().put("name", name), Set.of(ROLE_EXISTS), deadline);
    if (wanted.isEmpty()) {
      return;
    }
    var granted = new HashSet<Json>();
    Json role = ask("role/get", Json.object().put("role", name), Set.of(), deadline);
    role.at("perm").items().forEach(one -> granted.add(Permission.shown(one)));
    for (Permission permission : wanted) {
      if (!granted.contains(Permission.shown(permission.json()))) {
        Json.Builder grant = Json.object().put("name", name).put("perm", permission.json());
        ask("role/grant", grant, Set.of(), deadline);
      }
    }
  }

  public void removeRole(String name, Deadline deadline) throws InterruptedException {
    ask("role/delete", Json.object().put("role", name), Set.of(NO_ROLE), deadline);
  }

  /** Makes a user; the password of one that exists stays. */
  public void user(Login user, List<String> roles, Deadline deadline) throws InterruptedException {
    ask(
        "user/add",
        Json.object().put("name", user.user()).put("password", user.password()),
        Set.of(USER_EXISTS),
        deadline);
    for (String role : roles) {
      Json.Builder grant = Json.object().put("user", user.user()).put("role", role);
      ask("user/grant", grant, Set.of(), deadline);
    }
  }

  /** Also ends what the user has open, but for watches. */
  public void removeUser(String name, Deadline deadline) throws InterruptedException {
    ask("user/delete", Json.object().put("name", name), Set.of(NO_USER), deadline);
  }

  /** The names of all. */
  public List<String> users(Deadline deadline) throws InterruptedException {
    return ask("user/list", Json.object(), Set.of(), deadline).at("users").strings();
  }

  private Json ask(String path, Json.Builder body, Set<String> expected, Deadline deadline)
      throws InterruptedException {
    try {
      return client.call("/v3/auth/" + path, body.build(), Kind.WRITE, deadline);
    } catch (Refused e) {
      if (expected.contains(e.reason())) {
        return Json.Null.INSTANCE;
      }
      throw EtcdClient.refusal(e);
    }
  }
}
