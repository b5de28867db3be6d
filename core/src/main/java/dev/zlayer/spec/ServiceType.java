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

  public boolean wasm() {
    return this != STANDARD && this != JOB;
  }
}
