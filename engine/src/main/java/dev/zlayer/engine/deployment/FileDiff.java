package dev.zlayer.engine.deployment;

import dev.zlayer.engine.deployment.DeploymentDiff.Action;
import dev.zlayer.engine.deployment.DeploymentDiff.ServiceChange;
import dev.zlayer.error.AgentException;
import dev.zlayer.spec.DeploymentSpec;
import dev.zlayer.spec.RunType;
import dev.zlayer.spec.ServiceSpec;
import dev.zlayer.spec.form.Inline;
import dev.zlayer.spec.form.Named;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.RecordComponent;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;
import java.util.function.Function;

/** Compares two deployment files, service by service and key by key. Pure. */
final class FileDiff {
  /** Keys that take effect without new containers. */
  private static final Set<String> IN_PLACE =
      Set.of(
          "scale",
          "depends",
          "health",
          "update",
          "restart_policy",
          "errors",
          "endpoints",
          "localhost_reachability",
          "lifecycle",
          "expose",
          "schedule",
          "job",
          "cron");

  private FileDiff() {}

  /** A file as it was parsed and as it is written. */
  record Side(DeploymentSpec spec, String file) {
    static Side of(Revision revision) {
      return new Side(DeploymentFile.read(revision), revision.file());
    }
  }

  /** An earlier file that runs because a later one was rolled back. */
  record RolledBack(long runs, Side side) {}

  /** What a request would change of what runs. */
  static DeploymentDiff of(
      DeploymentStore store, Function<String, Optional<LiveDeployment>> live, UpRequest request) {
    DeploymentSpec spec = DeploymentFile.read(request.name(), request.file());
    var after = new Side(spec, new String(request.file(), StandardCharsets.UTF_8));
    String name = spec.deployment();
    Optional<LiveDeployment> known = live.apply(name);
    Optional<Side> before =
        known.flatMap(now -> store.revision(name, now.record().revision())).map(Side::of);
    return of(before, known.map(LiveDeployment::rolledBack).orElse(Map.of()), after);
  }

  /**
   * What would change.
   *
   * @param before the newest file, if there is one
   * @param rolledBack services that run an earlier one
   */
  static DeploymentDiff of(Optional<Side> before, Map<String, RolledBack> rolledBack, Side after) {
    Set<String> names =
        new TreeSet<>(before.map(side -> side.spec().services().keySet()).orElse(Set.of()));
    names.addAll(after.spec().services().keySet());
    var changes = new ArrayList<ServiceChange>();
    for (String name : names) {
      Optional<RolledBack> earlier = Optional.ofNullable(rolledBack.get(name));
      Optional<Side> running = earlier.map(RolledBack::side).or(() -> before);
      changes.add(change(name, running, after, earlier.map(RolledBack::runs)));
    }
    return new DeploymentDiff(after.spec().deployment(), changes);
  }

  private static ServiceChange change(
      String name, Optional<Side> running, Side wanted, Optional<Long> runs) {
    Optional<ServiceSpec> before =
        running.flatMap(side -> Optional.ofNullable(side.spec().services().get(name)));
    Optional<ServiceSpec> after = Optional.ofNullable(wanted.spec().services().get(name));
    int now = before.map(FileDiff::replicas).orElse(0);
    int then = after.map(FileDiff::replicas).orElse(0);
    if (before.isEmpty() || after.isEmpty()) {
      Action action = before.isEmpty() ? Action.CREATE : Action.REMOVE;
      return new ServiceChange(name, action, List.of(), List.of(), runs, false, now, then);
    }
    var fields = new ArrayList<String>();
    compare(before.get(), after.get(), fields);
    boolean replaces = fields.stream().anyMatch(field -> !IN_PLACE.contains(field));
    return new ServiceChange(
        name,
        fields.isEmpty() ? Action.KEEP : Action.UPDATE,
        fields,
        ValueDiff.of(name, fields, running.orElseThrow().file(), wanted.file()),
        runs,
        replaces,
        now,
        then);
  }

  private static int replicas(ServiceSpec service) {
    return service.rtype() == RunType.SERVICE ? service.lifecycle().initialReplicas() : 0;
  }

  /** The file writes the keys of inlined records side by side. */
  private static void compare(Record before, Record after, List<String> fields) {
    for (RecordComponent component : before.getClass().getRecordComponents()) {
      Object old = value(component, before);
      Object fresh = value(component, after);
      boolean inline = component.isAnnotationPresent(Inline.class);
      if (inline && old instanceof Record one && fresh instanceof Record other) {
        compare(one, other, fields);
      } else if (!old.equals(fresh)) {
        fields.add(key(component));
      }
    }
  }

  private static Object value(RecordComponent component, Record record) {
    try {
      return component.getAccessor().invoke(record);
    } catch (IllegalAccessException | InvocationTargetException e) {
      throw new AgentException.Internal("cannot read " + component, e);
    }
  }

  private static String key(RecordComponent component) {
    Named named = component.getAnnotation(Named.class);
    if (named != null && !named.value().isEmpty()) {
      return named.value();
    }
    return component.getName().replaceAll("([A-Z])", "_$1").toLowerCase(Locale.ROOT);
  }
}
