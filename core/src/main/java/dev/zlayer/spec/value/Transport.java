package dev.zlayer.spec.value;

/** The protocols that have ports. */
public enum Transport {
  TCP,
  UDP
}
