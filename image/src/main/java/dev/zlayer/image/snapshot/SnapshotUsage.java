package dev.zlayer.image.snapshot;

/** What was written to a snapshot: the content of its files and the number of its inodes. */
public record SnapshotUsage(long bytes, long inodes) {}
