/**
 * A store that speaks S3, and a way to it that breaks; needs s3proxy among the tests' libraries.
 */
@org.jspecify.annotations.NullMarked
package dev.zlayer.testkit.s3;
