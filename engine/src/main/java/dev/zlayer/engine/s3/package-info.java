/**
 * Files between containers and stores that speak S3: streamed, in parts, with checksums, and with a
 * bounded amount of memory. Only this package knows the client library, whose classes are loaded
 * when the first transfer runs. Runs on the caller's thread and helpers that end with the call.
 */
@org.jspecify.annotations.NullMarked
package dev.zlayer.engine.s3;
