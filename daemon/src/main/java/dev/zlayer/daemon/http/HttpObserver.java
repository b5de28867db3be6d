package dev.zlayer.daemon.http;

/** Is told of every request, for figures. */
public interface HttpObserver {
  /** A request that is being answered. */
  interface Timing extends AutoCloseable {
    void end(String method, String template, int status);

    @Override
    void close();
  }

  Timing begin();

  /** Nobody wants to know. */
  HttpObserver NONE =
      () ->
          new Timing() {
            @Override
            public void end(String method, String template, int status) {}

            @Override
            public void close() {}
          };
}
