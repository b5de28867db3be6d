package dev.zlayer.cli.terminal;

import java.lang.reflect.InvocationHandler;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;

/**
 * Handlers for signals of this process. The JDK has them in a class that the compiler warns about
 * with no way to say that it is meant, hence by name.
 */
final class Signals {
  private Signals() {}

  /** Replaces what the signal does until closed; the action runs on a thread of the JVM. */
  static Terminal.Undo handle(String name, Runnable action) {
    try {
      Class<?> signalType = Class.forName("sun.misc.Signal");
      Class<?> handlerType = Class.forName("sun.misc.SignalHandler");
      Object signal = signalType.getConstructor(String.class).newInstance(name);
      Method handle = signalType.getMethod("handle", signalType, handlerType);
      InvocationHandler call =
          (proxy, method, arguments) ->
              switch (method.getName()) {
                case "handle" -> {
                  action.run();
                  yield null;
                }
                case "equals" ->
                    System.identityHashCode(proxy) == System.identityHashCode(arguments[0]);
                case "hashCode" -> System.identityHashCode(proxy);
                default -> name;
              };
      Object handler =
          Proxy.newProxyInstance(
              Signals.class.getClassLoader(), new Class<?>[] {handlerType}, call);
      Object before = handle.invoke(null, signal, handler);
      return () -> restore(handle, signal, before);
    } catch (ReflectiveOperationException _) {
      return () -> {}; // a JVM without signals: ^C then ends the command, as everywhere
    }
  }

  private static void restore(Method handle, Object signal, Object before) {
    try {
      Object ignored = handle.invoke(null, signal, before);
      assert ignored != null;
    } catch (ReflectiveOperationException e) {
      throw new IllegalStateException("a handler that was there cannot be put back", e);
    }
  }
}
