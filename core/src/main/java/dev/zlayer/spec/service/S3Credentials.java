package dev.zlayer.spec.service;

import dev.zlayer.spec.form.Doc;
import dev.zlayer.spec.value.EnvValue;
import java.util.Optional;

/** Keys for a store that speaks S3. */
@Doc("Credentials of an S3 object store; write them as references: $S:name or $E:NAME.")
public record S3Credentials(
    @Doc("Access key.") EnvValue accessKey,
    @Doc("Secret key.") EnvValue secretKey,
    @Doc("Session token.") Optional<EnvValue> sessionToken) {}
