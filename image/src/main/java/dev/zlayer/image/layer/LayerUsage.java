package dev.zlayer.image.layer;

/** What a layer takes: the content of its files and the number of its inodes. */
public record LayerUsage(long bytes, long inodes) {}
