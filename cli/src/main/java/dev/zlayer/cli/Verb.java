package dev.zlayer.cli;

import dev.zlayer.cli.command.CompletionsCommand;
import dev.zlayer.cli.command.ConvertCommand;
import dev.zlayer.cli.command.Group;
import dev.zlayer.cli.command.InfoCommand;
import dev.zlayer.cli.command.SpecCommand;
import dev.zlayer.cli.command.ValidateCommand;
import dev.zlayer.cli.command.VersionCommand;
import dev.zlayer.cli.command.cluster.ClusterCommand;
import dev.zlayer.cli.command.cluster.NodeCommand;
import dev.zlayer.cli.command.container.AttachCommand;
import dev.zlayer.cli.command.container.CommitCommand;
import dev.zlayer.cli.command.container.ContainerCommand;
import dev.zlayer.cli.command.container.CopyCommand;
import dev.zlayer.cli.command.container.EventsCommand;
import dev.zlayer.cli.command.container.ExecCommand;
import dev.zlayer.cli.command.container.ExportCommand;
import dev.zlayer.cli.command.container.InspectCommand;
import dev.zlayer.cli.command.container.KillCommand;
import dev.zlayer.cli.command.container.LogsCommand;
import dev.zlayer.cli.command.container.PauseCommand;
import dev.zlayer.cli.command.container.PortCommand;
import dev.zlayer.cli.command.container.PsCommand;
import dev.zlayer.cli.command.container.RemoveCommand;
import dev.zlayer.cli.command.container.RenameCommand;
import dev.zlayer.cli.command.container.RestartCommand;
import dev.zlayer.cli.command.container.StartCommand;
import dev.zlayer.cli.command.container.StatsCommand;
import dev.zlayer.cli.command.container.StopCommand;
import dev.zlayer.cli.command.container.TopCommand;
import dev.zlayer.cli.command.container.UnpauseCommand;
import dev.zlayer.cli.command.container.WaitCommand;
import dev.zlayer.cli.command.context.ContextCommand;
import dev.zlayer.cli.command.daemon.ConfigCommand;
import dev.zlayer.cli.command.daemon.DaemonCommand;
import dev.zlayer.cli.command.daemon.DashboardCommand;
import dev.zlayer.cli.command.daemon.DoctorCommand;
import dev.zlayer.cli.command.daemon.ServeCommand;
import dev.zlayer.cli.command.deploy.DiffCommand;
import dev.zlayer.cli.command.deploy.DownCommand;
import dev.zlayer.cli.command.deploy.RevisionsCommand;
import dev.zlayer.cli.command.deploy.RollbackCommand;
import dev.zlayer.cli.command.deploy.ScaleCommand;
import dev.zlayer.cli.command.deploy.StatusCommand;
import dev.zlayer.cli.command.deploy.UpCommand;
import dev.zlayer.cli.command.gpu.GpuCommand;
import dev.zlayer.cli.command.image.BuildCommand;
import dev.zlayer.cli.command.image.ImageCommand;
import dev.zlayer.cli.command.image.LoginCommand;
import dev.zlayer.cli.command.image.LogoutCommand;
import dev.zlayer.cli.command.image.PullCommand;
import dev.zlayer.cli.command.image.PushCommand;
import dev.zlayer.cli.command.ingress.IngressCommand;
import dev.zlayer.cli.command.job.CronCommand;
import dev.zlayer.cli.command.job.JobCommand;
import dev.zlayer.cli.command.run.CreateCommand;
import dev.zlayer.cli.command.run.RunCommand;
import dev.zlayer.cli.command.run.UpdateCommand;
import dev.zlayer.cli.command.store.NetworkCommand;
import dev.zlayer.cli.command.store.SecretCommand;
import dev.zlayer.cli.command.store.TokenCommand;
import dev.zlayer.cli.command.store.VolumeCommand;
import dev.zlayer.cli.command.system.SystemCommand;
import java.util.Locale;
import java.util.Optional;
import picocli.CommandLine;

/** Every verb with its place in the help. Only the verb that was typed is built, or even loaded. */
enum Verb {
  UP(Heading.DEPLOY),
  DOWN(Heading.DEPLOY),
  VALIDATE(Heading.DEPLOY),
  DIFF(Heading.DEPLOY),
  STATUS(Heading.DEPLOY),
  SCALE(Heading.DEPLOY),
  REVISIONS(Heading.DEPLOY),
  ROLLBACK(Heading.DEPLOY),
  CONVERT(Heading.DEPLOY),
  SPEC(Heading.DEPLOY),
  PS(Heading.CONTAINER),
  LOGS(Heading.CONTAINER),
  EXEC(Heading.CONTAINER),
  RUN(Heading.CONTAINER),
  CREATE(Heading.CONTAINER),
  START(Heading.CONTAINER),
  STOP(Heading.CONTAINER),
  RESTART(Heading.CONTAINER),
  KILL(Heading.CONTAINER),
  PAUSE(Heading.CONTAINER),
  UNPAUSE(Heading.CONTAINER),
  WAIT(Heading.CONTAINER),
  ATTACH(Heading.CONTAINER),
  CP(Heading.CONTAINER),
  INSPECT(Heading.CONTAINER),
  PORT(Heading.CONTAINER),
  STATS(Heading.CONTAINER),
  TOP(Heading.CONTAINER),
  RENAME(Heading.CONTAINER),
  UPDATE(Heading.CONTAINER),
  EXPORT(Heading.CONTAINER),
  COMMIT(Heading.CONTAINER),
  RM(Heading.CONTAINER),
  CONTAINER(Heading.CONTAINER),
  JOB(Heading.JOB),
  CRON(Heading.JOB),
  PULL(Heading.IMAGE),
  PUSH(Heading.IMAGE),
  BUILD(Heading.IMAGE),
  LOGIN(Heading.IMAGE),
  LOGOUT(Heading.IMAGE),
  IMAGE(Heading.IMAGE),
  VOLUME(Heading.STORE),
  SECRET(Heading.STORE),
  NETWORK(Heading.STORE),
  INGRESS(Heading.STORE),
  GPU(Heading.NODE),
  SERVE(Heading.NODE),
  DAEMON(Heading.NODE),
  CONFIG(Heading.NODE),
  TOKEN(Heading.NODE),
  CLUSTER(Heading.CLUSTER),
  NODE(Heading.CLUSTER),
  DASHBOARD(Heading.NODE),
  CONTEXT(Heading.NODE),
  SYSTEM(Heading.NODE),
  EVENTS(Heading.NODE),
  INFO(Heading.NODE),
  DOCTOR(Heading.NODE),
  VERSION(Heading.NODE),
  COMPLETIONS(Heading.NODE);

  /** Headings of the help text, in order. */
  enum Heading {
    DEPLOY("Deployments"),
    CONTAINER("Containers"),
    JOB("Jobs and schedules"),
    IMAGE("Images"),
    STORE("Volumes, secrets, networks"),
    CLUSTER("Several machines"),
    NODE("The daemon, this node, this tool");

    final String text;

    Heading(String text) {
      this.text = text;
    }
  }

  private static final Verb[] VERBS = values();

  final String word;
  final Heading heading;

  Verb(Heading heading) {
    this.word = name().toLowerCase(Locale.ROOT);
    this.heading = heading;
  }

  static Optional<Verb> find(String word) {
    for (Verb verb : VERBS) {
      if (verb.word.equals(word)) {
        return Optional.of(verb);
      }
    }
    return Optional.empty();
  }

  /** The verbs below this one, if it has some. */
  Optional<Group> group() {
    return switch (this) {
      case JOB -> Optional.of(JobCommand.group());
      case CRON -> Optional.of(CronCommand.group());
      case IMAGE -> Optional.of(ImageCommand.group());
      case VOLUME -> Optional.of(VolumeCommand.group());
      case SECRET -> Optional.of(SecretCommand.group());
      case NETWORK -> Optional.of(NetworkCommand.group());
      case INGRESS -> Optional.of(IngressCommand.group());
      case DAEMON -> Optional.of(DaemonCommand.group());
      case CONFIG -> Optional.of(ConfigCommand.group());
      case GPU -> Optional.of(GpuCommand.group());
      case TOKEN -> Optional.of(TokenCommand.group());
      case CONTEXT -> Optional.of(ContextCommand.group());
      case CLUSTER -> Optional.of(ClusterCommand.group());
      case NODE -> Optional.of(NodeCommand.group());
      case CONTAINER -> Optional.of(ContainerCommand.group());
      case SYSTEM -> Optional.of(SystemCommand.group());
      default -> Optional.empty();
    };
  }

  /**
   * The verb's grammar.
   *
   * @param below the word after it, so that of a group only that one is built
   */
  CommandLine make(Session session, Optional<String> below) {
    Optional<Group> group = group();
    if (group.isPresent()) {
      return group.get().commandLine(session, below);
    }
    Object command = command(session);
    CommandLine line = command instanceof CommandLine whole ? whole : new CommandLine(command);
    // what follows the image or the container belongs to the program that runs there
    line.setStopAtPositional(this == RUN || this == CREATE || this == EXEC);
    return line;
  }

  /** The verb itself, if it is no group. */
  Object command(Session session) {
    return switch (this) {
      case DASHBOARD -> new DashboardCommand(session);
      case UP -> new UpCommand(session);
      case DOWN -> new DownCommand(session);
      case VALIDATE -> new ValidateCommand(session);
      case DIFF -> new DiffCommand(session);
      case STATUS -> new StatusCommand(session);
      case SCALE -> new ScaleCommand(session);
      case REVISIONS -> new RevisionsCommand(session);
      case ROLLBACK -> new RollbackCommand(session);
      case CONVERT -> new ConvertCommand(session);
      case SPEC -> new SpecCommand(session);
      case PS -> new PsCommand(session);
      case LOGS -> new LogsCommand(session);
      case EXEC -> new ExecCommand(session);
      case RUN -> new RunCommand(session);
      case CREATE -> new CreateCommand(session);
      case UPDATE -> new UpdateCommand(session);
      case PORT -> new PortCommand(session);
      case EXPORT -> new ExportCommand(session);
      case COMMIT -> new CommitCommand(session);
      case START -> new StartCommand(session);
      case STOP -> new StopCommand(session);
      case RESTART -> new RestartCommand(session);
      case KILL -> new KillCommand(session);
      case PAUSE -> new PauseCommand(session);
      case UNPAUSE -> new UnpauseCommand(session);
      case WAIT -> new WaitCommand(session);
      case ATTACH -> new AttachCommand(session);
      case CP -> new CopyCommand(session);
      case INSPECT -> new InspectCommand(session);
      case STATS -> new StatsCommand(session);
      case TOP -> new TopCommand(session);
      case RENAME -> new RenameCommand(session);
      case RM -> new RemoveCommand(session);
      case PULL -> new PullCommand(session);
      case PUSH -> new PushCommand(session);
      case BUILD -> new BuildCommand(session);
      case LOGIN -> new LoginCommand(session);
      case LOGOUT -> new LogoutCommand(session);
      case SERVE -> ServeCommand.of(session);
      case EVENTS -> new EventsCommand(session);
      case INFO -> new InfoCommand(session);
      case DOCTOR -> new DoctorCommand(session);
      case VERSION -> new VersionCommand(session);
      case COMPLETIONS -> new CompletionsCommand(session);
      case JOB,
          CRON,
          IMAGE,
          VOLUME,
          SECRET,
          NETWORK,
          INGRESS,
          GPU,
          DAEMON,
          CONFIG,
          TOKEN,
          CLUSTER,
          NODE,
          CONTEXT,
          CONTAINER,
          SYSTEM ->
          throw new IllegalStateException(this + " is a group");
    };
  }
}
