package dev.zlayer.cli.command.container;

import dev.zlayer.cli.client.DaemonClient;
import dev.zlayer.cli.client.DaemonProblem;
import dev.zlayer.cli.client.JsonLines;
import dev.zlayer.cli.client.Output;
import dev.zlayer.cli.client.Query;
import dev.zlayer.cli.client.Reconnecting;
import dev.zlayer.cli.client.Target;
import dev.zlayer.cli.print.LogPrinter;
import dev.zlayer.container.LogPosition;
import dev.zlayer.json.Json;
import dev.zlayer.json.JsonText;
import dev.zlayer.task.Pauses;
import dev.zlayer.task.TaskScope;
import java.io.PrintStream;
import java.time.Duration;
import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import java.util.PriorityQueue;
import java.util.Set;

/** The output of some containers: merged by time, or followed side by side. */
final class LogView {
  private static final Duration LOOK_FOR_NEW = Duration.ofSeconds(1);

  private final DaemonClient client;
  private final Reconnecting reconnecting;
  private final PrintStream out;
  private final LogPrinter printer;
  private final LogRequest request;

  LogView(
      DaemonClient client,
      Reconnecting reconnecting,
      PrintStream out,
      LogPrinter printer,
      LogRequest request) {
    this.client = client;
    this.reconnecting = reconnecting;
    this.out = out;
    this.printer = printer;
    this.request = request;
  }

  /** False: there was nothing to print. */
  boolean show(List<String> words) throws InterruptedException {
    List<Json> containers = Containers.named(Containers.all(client), words);
    boolean one = words.size() == 1 && containers.size() == 1 && names(containers, words);
    if (request.follow()) {
      follow(containers, words, one);
      return true;
    }
    return merge(containers);
  }

  /** Whether the word names this very container and not a service with more to come. */
  private static boolean names(List<Json> containers, List<String> words) {
    Target target = Target.parse(words.getFirst());
    return !target.service()
        && !containers.getFirst().at("deployment").string().equals(Optional.of(target.text()));
  }

  /** One container's stream of lines with the line that comes next. */
  private record Source(LogPrinter.Source to, JsonLines lines, Json head, Output line) {
    java.time.Instant time() {
      return line.time().orElse(java.time.Instant.MIN);
    }
  }

  private boolean merge(List<Json> containers) throws InterruptedException {
    var sources = new PriorityQueue<Source>((one, other) -> one.time().compareTo(other.time()));
    try {
      for (Json container : containers) {
        var to = source(container, containers.size() == 1);
        try {
          next(to, open(container, Optional.empty(), false)).ifPresent(sources::add);
        } catch (DaemonProblem e) {
          if (!e.notFound()) {
            throw e;
          } // removed since it was listed
        }
      }
      boolean any = !sources.isEmpty();
      while (!sources.isEmpty()) {
        Source source = sources.poll();
        print(source.to, source.head, source.line);
        next(source.to, source.lines).ifPresentOrElse(sources::add, source.to::end);
      }
      return any;
    } finally {
      sources.forEach(source -> source.lines.close());
    }
  }

  private static Optional<Source> next(LogPrinter.Source to, JsonLines lines)
      throws InterruptedException {
    return lines.next().map(json -> new Source(to, lines, json, Output.of(json)));
  }

  /** Ends when the one container has ended; otherwise goes on with replicas that come later. */
  private void follow(List<Json> containers, List<String> words, boolean one)
      throws InterruptedException {
    Set<String> known = new HashSet<>();
    try (var scope = new TaskScope("logs")) {
      containers.forEach(container -> fork(scope, known, container, one));
      while (!one) {
        Pauses.REAL.pause(LOOK_FOR_NEW);
        List<Target> targets = words.stream().map(Target::parse).toList();
        for (Json container : reconnecting.run(() -> Containers.all(client))) {
          if (targets.stream().anyMatch(target -> Containers.matches(container, target))) {
            fork(scope, known, container, false);
          }
        }
      }
      scope.join();
    }
  }

  private void fork(TaskScope scope, Set<String> known, Json container, boolean one) {
    if (known.add(Containers.id(container))) {
      var to = source(container, one);
      scope.fork(() -> follow(container, to));
    }
  }

  private boolean follow(Json container, LogPrinter.Source to) throws InterruptedException {
    var resume = new LogPosition();
    boolean complete =
        reconnecting.run(
            () -> {
              resume.again();
              try (JsonLines lines = open(container, resume.since().map(Object::toString), true)) {
                for (Optional<Json> json = lines.next(); json.isPresent(); json = lines.next()) {
                  Output line = Output.of(json.get());
                  if (line.isNew(resume)) {
                    print(to, json.get(), line);
                  }
                }
                return true;
              }
            });
    to.end();
    return complete;
  }

  /** From the beginning as wished, or from where it was cut off. */
  private JsonLines open(Json container, Optional<String> from, boolean follow)
      throws InterruptedException {
    Query query =
        from.isPresent()
            ? request.filter().and("since", from.get())
            : request.window().andIf("tail", request.tail());
    return client.stream(
        "/containers/" + Query.segment(Containers.id(container)) + "/logs",
        query.flag("follow", follow));
  }

  private LogPrinter.Source source(Json container, boolean one) {
    return one || !request.prefixes()
        ? printer.source()
        : printer.source(Containers.name(container));
  }

  private void print(LogPrinter.Source to, Json json, Output line) {
    if (request.json()) {
      synchronized (this) {
        out.println(JsonText.print(json));
        out.flush();
      }
    } else {
      to.print(line);
    }
  }
}
