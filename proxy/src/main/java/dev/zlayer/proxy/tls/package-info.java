/**
 * Certificates for host names: from a local authority, from secrets, or from an ACME server. The
 * only package that knows the ACME client and the library that writes certificates.
 */
@NullMarked
package dev.zlayer.proxy.tls;

import org.jspecify.annotations.NullMarked;
