package dev.zlayer.port;

/** Credentials for one registry host; never printed. */
public sealed interface RegistryAuth {
  record Basic(String user, String password) implements RegistryAuth {
    @Override
    public String toString() {
      return "Basic[" + user + "]";
    }
  }

  /** An identity token, exchanged for access tokens at the registry's token service. */
  record Token(String token) implements RegistryAuth {
    @Override
    public String toString() {
      return "Token";
    }
  }
}
