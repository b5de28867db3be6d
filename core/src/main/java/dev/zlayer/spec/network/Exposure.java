package dev.zlayer.spec.network;

/** From where something can be reached. */
public enum Exposure {
  /** From everywhere the machine can be reached. */
  PUBLIC,
  /** From other services and the machine itself. */
  INTERNAL
}
