package dev.zlayer.spec.service;

import dev.zlayer.spec.form.Default;
import dev.zlayer.spec.form.Doc;
import dev.zlayer.spec.form.Inline;
import dev.zlayer.spec.form.Named;
import dev.zlayer.spec.form.Range;
import dev.zlayer.spec.form.Tagged;
import dev.zlayer.spec.form.Text;
import dev.zlayer.spec.value.CommandLine;
import dev.zlayer.spec.value.EnvValue;
import java.time.Duration;
import java.util.Map;
import java.util.Optional;

/** What an init step does. */
@Doc("What an init step does: uses names the action, with holds its parameters.")
@Tagged(by = "uses", content = "with")
public sealed interface InitAction {
  /** Waits until a port accepts connections. */
  @Named("init.wait_tcp")
  @Doc("Waits until a port accepts connections.")
  record WaitTcp(
      @Doc("Host name or address.") @Text(pattern = "\\S+", write = "a host name or address")
          String host,
      @Doc("Port.") @Range(min = 1, max = 65_535) int port,
      @Doc("Time limit.") @Default("30s") Duration timeout,
      @Doc("Time between two attempts.") @Default("2s") Duration interval)
      implements InitAction {}

  /** Waits until an address answers. */
  @Named("init.wait_http")
  @Doc("Waits until a GET request is answered.")
  record WaitHttp(
      @Doc("URL.")
          @Text(
              pattern = "https?://[^\\s/]+(/\\S*)?",
              write = "a full address such as http://db:8080/health")
          String url,
      @Doc("Expected status code (default: any 2xx).") @Range(min = 100, max = 599)
          Optional<Integer> expectStatus,
      @Doc("Headers to send.") Map<String, EnvValue> headers,
      @Doc("Time limit.") @Default("30s") Duration timeout,
      @Doc("Time between two attempts.") @Default("2s") Duration interval)
      implements InitAction {}

  /** Runs a command in a container like the main one. */
  @Named("init.run")
  @Doc("Runs a command in a container like the main one; it must exit with 0.")
  record Run(
      @Doc("The command, as text for the shell or as a list.") CommandLine command,
      @Doc("Time limit.") @Default("300s") Duration timeout)
      implements InitAction {}

  /** Runs a command on the machine itself. */
  @Named("init.host_run")
  @Doc("Runs a command on the host; refused unless the agent's configuration allows it.")
  record HostRun(
      @Doc("The command, as text for the shell or as a list.") CommandLine command,
      @Doc("Time limit.") @Default("300s") Duration timeout)
      implements InitAction {}

  /** Uploads a file or a directory. */
  @Named("init.s3_push")
  @Doc("Uploads a file or a directory with its contents.")
  record S3Push(
      @Doc("File or directory.") @Text(pattern = ".+", write = "a path") String source,
      @Doc("Bucket.") @Text(pattern = "[a-z0-9.-]{3,63}", write = "a bucket name") String bucket,
      @Doc("Key of the object, or the prefix for a directory.")
          @Text(pattern = ".+", write = "a key")
          String key,
      @Inline S3Access access,
      @Doc("Time limit.") @Default("300s") Duration timeout)
      implements InitAction {}

  /** Downloads an object or all below a prefix. */
  @Named("init.s3_pull")
  @Doc("Downloads an object, or all objects below a prefix that ends in a slash.")
  record S3Pull(
      @Doc("Bucket.") @Text(pattern = "[a-z0-9.-]{3,63}", write = "a bucket name") String bucket,
      @Doc("Key of the object, or a prefix that ends in a slash.")
          @Text(pattern = ".+", write = "a key")
          String key,
      @Doc("File or directory to write.") @Text(pattern = ".+", write = "a path")
          String destination,
      @Inline S3Access access,
      @Doc("Time limit.") @Default("300s") Duration timeout)
      implements InitAction {}

  /** How to reach a store that speaks S3. */
  record S3Access(
      @Doc("Endpoint of the object store (default: Amazon S3).")
          @Text(pattern = "https?://\\S+", write = "an address such as https://s3.example.org")
          Optional<String> endpoint,
      @Doc("Region.") Optional<String> region,
      @Doc("Credentials (default: from the agent's environment).")
          Optional<S3Credentials> credentials) {}
}
