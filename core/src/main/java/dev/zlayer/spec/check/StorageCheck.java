package dev.zlayer.spec.check;

import dev.zlayer.spec.ServiceSpec;
import dev.zlayer.spec.problem.SpecPath;
import dev.zlayer.spec.storage.StorageSpec;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.regex.Pattern;
import java.util.stream.Collectors;

/** Mounts of one service: where they appear, and sizes that are not zero. */
final class StorageCheck {
  private static final Pattern WINDOWS = Pattern.compile("[A-Za-z]:[\\\\/].*");

  private StorageCheck() {}

  static void check(ServiceSpec service, SpecPath servicePath, Findings findings) {
    List<StorageSpec> storage = service.storage();
    Map<String, Integer> targets = new HashMap<>();
    for (int i = 0; i < storage.size(); i++) {
      SpecPath path = servicePath.key("storage").index(i);
      if (!findings.clean(path.key("type")) || !findings.clean(path.key("target"))) {
        continue;
      }
      String target = storage.get(i).target();
      targetProblem(target).ifPresent(message -> findings.problem(path.key("target"), message));
      Integer first = targets.putIfAbsent(normal(target), i);
      if (first != null) {
        findings.problem(
            path.key("target"),
            "'%s' is already the target of storage[%d], write another path"
                .formatted(target, first));
      }
      if (storage.get(i) instanceof StorageSpec.Tmpfs(_, var size, _)
          && size.isPresent()
          && size.get().bytes() == 0) {
        findings.problem(path.key("size"), "must be more than 0, write for example 64Mi");
      }
    }
  }

  private static Optional<String> targetProblem(String target) {
    if (WINDOWS.matcher(target).matches()) {
      return Optional.empty();
    }
    if (!target.startsWith("/")) {
      return Optional.of("'%s' is not absolute, write /%s".formatted(target, target));
    }
    if (Arrays.asList(target.split("/", -1)).contains("..")) {
      return Optional.of("'%s' leads upwards, write the path without '..'".formatted(target));
    }
    return normal(target).isEmpty()
        ? Optional.of("the root cannot be mounted over, write a path below it")
        : Optional.empty();
  }

  /** Without doubled and trailing slashes. */
  private static String normal(String target) {
    return Arrays.stream(target.split("/", -1))
        .filter(part -> !part.isEmpty() && !part.equals("."))
        .map(part -> "/" + part)
        .collect(Collectors.joining());
  }
}
