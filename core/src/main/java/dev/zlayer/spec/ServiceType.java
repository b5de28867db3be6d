package dev.zlayer.spec;

/** What kind of program a service is. */
public enum ServiceType {
  STANDARD,
  WASM_HTTP,
  WASM_PLUGIN,
  WASM_TRANSFORMER,
  WASM_AUTHENTICATOR,
  WASM_RATE_LIMITER,
  WASM_MIDDLEWARE,
  WASM_ROUTER,
  JOB;

  /** Whether it is called once per request, by something that serves them. */
  public boolean perRequest() {
    return switch (this) {
      case WASM_HTTP, WASM_AUTHENTICATOR, WASM_RATE_LIMITER, WASM_MIDDLEWARE, WASM_ROUTER -> true;
      case STANDARD, WASM_PLUGIN, WASM_TRANSFORMER, JOB -> false;
    };
  }

  public boolean wasm() {
    return this != STANDARD && this != JOB;
  }
}
