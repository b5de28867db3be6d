package dev.zlayer.proxy.tls;

/** Takes answers to HTTP-01 challenges; each is served when {@link #present} returns. */
interface ChallengeSink {
  void present(String token, String authorization);

  void withdraw(String token);
}
