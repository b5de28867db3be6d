package dev.zlayer.image.registry;

/** Told about a blob on its way; calls come from the fetching thread and must be quick. */
public interface BlobListener {
  /** So many bytes are here; fewer than before when it had to start again. */
  void received(long bytes);

  /** All bytes are here; now they are proven and made durable. */
  void verifying();
}
