package dev.zlayer.testkit.image;

import dev.zlayer.json.Json;
import dev.zlayer.json.JsonText;
import dev.zlayer.oci.Digest;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;

/** A blob under its content address. */
@SuppressWarnings("ArrayRecordComponent") // the digest stands for the bytes
public record Content(String mediaType, byte[] bytes, Digest digest) {
  public static Content of(String mediaType, byte[] bytes) {
    return new Content(mediaType, bytes, digest(bytes));
  }

  public static Content of(String mediaType, Json json) {
    return of(mediaType, JsonText.bytes(json));
  }

  /** The address of any bytes. */
  public static Digest digest(byte[] bytes) {
    try {
      return Digest.sha256(MessageDigest.getInstance("SHA-256").digest(bytes));
    } catch (NoSuchAlgorithmException e) {
      throw new IllegalStateException("every JDK has SHA-256", e);
    }
  }

  public long size() {
    return bytes.length;
  }

  @Override
  public boolean equals(Object other) {
    return other instanceof Content that
        && digest.equals(that.digest)
        && mediaType.equals(that.mediaType);
  }

  @Override
  public int hashCode() {
    return digest.hashCode();
  }

  Json.Builder descriptor() {
    return Json.object().put("mediaType", mediaType).put("digest", digest).put("size", size());
  }
}
