package dev.zlayer.tar;

/** Part of a file whose bytes an archive holds; what is between such parts reads as zeros. */
public record TarRange(long offset, long length) {}
