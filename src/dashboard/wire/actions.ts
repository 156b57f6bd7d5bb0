/** What can be done, and the commands that do the same. */
export interface DashboardAction {
  /** `host-kill`, as in `POST /window/actions/host-kill`. */
  readonly name: string;
  /** For a button: `Kill`. */
  readonly label: string;
  /** What it does, in one sentence. */
  readonly summary: string;
  /** What it is done to: a host, a server, a finding, a snapshot, a scenario, or the cluster. */
  readonly subject: "host" | "server" | "finding" | "snapshot" | "scenario" | "cluster";
  /** It destroys something: the page asks first. */
  readonly destructive: boolean;
  /** The fields of the body of the `POST`, all texts but `flag`s. The subject's own one (`host`, `server` …) is the first. */
  readonly fields: readonly ActionField[];
  /** The same by hand, a line each; `{host}` stands for a field's value, and `[--host {dest}]` is left out where the field is empty. */
  readonly commands: readonly string[];
}

export interface ActionField {
  readonly name: string;
  readonly label: string;
  readonly type: "text" | "flag" | "host" | "server" | "flavor" | "image" | "fault" | "choice";
  readonly required: boolean;
  /** What a `choice` can be. */
  readonly choices?: readonly string[];
}

/** The body of an action: the values of its fields. */
export type ActionBody = Readonly<Record<string, string | boolean>>;

export interface ActionResponse {
  readonly ok: boolean;
  /** The command lines that do the same, quoted for a shell. */
  readonly commands: readonly string[];
  /** Why it was not done; null: it was. */
  readonly error: string | null;
  /** What it said, line by line: a plan of a dry run, a finding, the output of a command. */
  readonly lines: readonly string[];
  /** What was made: a server's uuid, a snapshot's name. */
  readonly made: string | null;
  /** The request that it was, to be found among requests. */
  readonly requestId: string | null;
}
