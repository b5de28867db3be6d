package dev.zlayer.cli.command;

import dev.zlayer.cli.Session;
import dev.zlayer.spec.read.JsonSchema;
import dev.zlayer.spec.read.SpecReference;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Parameters;

@Command(
    name = "spec",
    description = "Print the JSON Schema or the reference of the deployment file",
    footer = {
      "",
      "For an editor that knows YAML schemas:  zlayer spec schema > zlayer.schema.json",
      "and on the first line of a file:        # yaml-language-server: $schema=zlayer.schema.json"
    })
public final class SpecCommand implements Callable<Integer> {
  enum Form {
    SCHEMA,
    REFERENCE
  }

  private final Session session;

  @Parameters(paramLabel = "FORM", description = "schema or reference")
  private Form form = Form.SCHEMA;

  public SpecCommand(Session session) {
    this.session = session;
  }

  @Override
  public Integer call() {
    session
        .out()
        .print(
            switch (form) {
              case SCHEMA -> JsonSchema.generate();
              case REFERENCE -> SpecReference.markdown();
            });
    return 0;
  }
}
