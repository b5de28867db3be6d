package dev.zlayer.port;

/** A container that can be given a name for people; its identity stays. */
public interface Renamable {
  /** Throws {@link dev.zlayer.error.AgentException.InvalidSpec} when the name is taken or odd. */
  void rename(String name);
}
