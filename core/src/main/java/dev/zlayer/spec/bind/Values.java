package dev.zlayer.spec.bind;

import dev.zlayer.error.AgentException;
import dev.zlayer.error.Durations;
import dev.zlayer.oci.ImageRef;
import dev.zlayer.schedule.CronExpression;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.net.InetAddress;
import java.time.DateTimeException;
import java.time.Duration;
import java.time.ZoneId;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.Function;

/** Finds how a type is written as text: from its own annotation, or here for foreign types. */
final class Values {
  private static final Map<Class<?>, ValueForm> FOREIGN =
      Map.of(
          Duration.class,
          ValueForm.text(
              "a duration",
              "1m 30s",
              "^\\s*([0-9]+(\\.[0-9]+)?|([0-9]+\\s*[A-Za-z]+\\s*)+)\\s*$",
              true,
              Durations::parse),
          ImageRef.class,
          ValueForm.text("an image reference", "busybox:1.36", "^\\S+$", false, ImageRef::parse),
          CronExpression.class,
          ValueForm.text(
              "a cron expression",
              "*/5 * * * *",
              "^(@\\S+( .*)?|\\S+(\\s+\\S+){4,6})$",
              false,
              CronExpression::parse),
          ZoneId.class,
          ValueForm.text("a time zone", "Europe/Berlin", "", false, Values::zone),
          InetAddress.class,
          ValueForm.text("an ip address", "192.0.2.1", "^[0-9A-Fa-f:.]+$", false, Values::address));

  private Values() {}

  static Optional<ValueForm> find(Class<?> type) {
    Optional<Marks.Written> written = Marks.of(type).form();
    if (written.isEmpty()) {
      return Optional.ofNullable(FOREIGN.get(type));
    }
    Marks.Written own = written.get();
    Function<String, Object> parse = factory(type, "parse", String.class);
    Function<List<String>, Object> parseList =
        own.list() ? factory(type, "of", List.class) : words -> words;
    return Optional.of(
        new ValueForm(
            own.is(), own.example(), own.pattern(), own.number(), parse, own.list(), parseList));
  }

  private static <A> Function<A, Object> factory(Class<?> type, String name, Class<?> argument) {
    try {
      Method method = type.getMethod(name, argument);
      return input -> call(method, input);
    } catch (NoSuchMethodException e) {
      throw new AgentException.Internal(type + " has no static method " + name, e);
    }
  }

  private static Object call(Method method, Object input) {
    try {
      return method.invoke(null, input);
    } catch (InvocationTargetException e) {
      if (e.getCause() instanceof AgentException ours) {
        throw ours;
      }
      throw new AgentException.Internal(method + " failed for '" + input + "'", e);
    } catch (IllegalAccessException e) {
      throw new AgentException.Internal(method + " must be public", e);
    }
  }

  private static Object zone(String text) {
    try {
      return ZoneId.of(text);
    } catch (DateTimeException e) {
      throw new AgentException.InvalidSpec(
          "'%s' is not a time zone, write a name such as Europe/Berlin or UTC".formatted(text), e);
    }
  }

  private static Object address(String text) {
    try {
      return InetAddress.ofLiteral(text);
    } catch (IllegalArgumentException e) {
      throw new AgentException.InvalidSpec(
          "'%s' is not an ip address, write one such as 192.0.2.1 or 2001:db8::1".formatted(text),
          e);
    }
  }
}
