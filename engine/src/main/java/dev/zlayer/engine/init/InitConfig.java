package dev.zlayer.engine.init;

/**
 * What the operator sets for init steps.
 *
 * @param hostCommands whether {@code init.host_run} may run commands on the machine itself
 */
public record InitConfig(boolean hostCommands) {
  public static final InitConfig DEFAULT = new InitConfig(false);
}
