import type {
  ConsumerRow,
  EditRow,
  FindingRow,
  GuestsRow,
  HostRow,
  LatestAction,
  MigrationRow,
  ProviderRow,
  RequestRow,
  ServerRow,
} from "./rows.js";

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

/**
 * What the server of the window and its page say to each other: plain JSON, whose types are here and in the files beside this one.
 * Times are milliseconds since the epoch.
 *
 * The page:
 * - `GET /` with `accept: text/html`, `/window/app.js`, `/window/app.css`, `/window/icon.svg`: files, for everybody on this machine.
 *
 * The session, a cookie that the page cannot read:
 * - `GET /window/enter?key=KEY` takes the one-time link, and answers with 303 to `/`; `/?refused` where the key is no good.
 * - `POST /window/session` {@link DashboardLogin}: 204, or 401. `GET`: 204 or 401, whether there is one. `DELETE`: ends it.
 *
 * With a session; without one 401, from another origin or host 403:
 * - `GET /window/events`: server-sent events, see {@link DashboardEvents}. `GET /window/requests`: the same of requests alone.
 * - `GET /window/servers/UUID`: `ServerLife`. `GET /window/requests/ID`: `RequestBodies`; 404: no longer kept.
 * - `POST /window/actions/NAME` with the header {@link SESSION_HEADER}: `ActionAnswer`.
 */

/** The header that what changes something carries; its value is {@link DashboardHello.secret}. */
export const SESSION_HEADER = "x-window-session";

export interface DashboardLogin {
  readonly user: string;
  readonly password: string;
}

/**
 * The names of the events of `GET /window/events` and `GET /window/requests`. First comes `hello`, then the snapshot in many `message`s, then `ready`, then
 * changes as `message`s, for good. `EventSource` connects again by itself with `Last-Event-ID`: `hello.reset` is false then when
 * the messages that follow are all that the page has missed, and `ready` comes after these. A row is always the whole row.
 */
export interface DashboardEvents {
  readonly hello: DashboardHello;
  /** The default event, with an id. */
  readonly message: DashboardMessage;
  readonly ready: { readonly seq: number };
  /** The session has ended; the stream does, too. */
  readonly bye: { readonly reason: string };
}

export interface DashboardHello {
  /** What is to be sent as {@link SESSION_HEADER}. */
  readonly secret: string;
  /** The page is to forget every row that it has. */
  readonly reset: boolean;
  /** The server's clock, for ages. */
  readonly at: number;
  /** Name of the cluster, for the title: its state directory. */
  readonly name: string;
  readonly version: string;
  /** Placement is elsewhere: there are no `provider`s and `consumer`s. */
  readonly placementElsewhere: boolean;
  /** Seconds without a heartbeat after which a host is down. */
  readonly serviceDownTime: number;
  /** What can be done; empty in a session that is read-only. */
  readonly actions: readonly DashboardAction[];
  /** Points that faults can be set at, with what each takes, for people. */
  readonly faultPoints: readonly string[];
  readonly readOnly: boolean;
}

/** One message of changes: coalesced, so that a key is in it once. */
export interface DashboardMessage {
  readonly seq: number;
  readonly at: number;
  readonly set: readonly DashboardRow[];
  readonly gone: readonly { readonly kind: Kind; readonly key: string }[];
}

export type DashboardRow = {
  readonly [K in Kind]: { readonly kind: K; readonly key: string; readonly value: Rows[K] };
}[Kind];

export type Kind = keyof Rows;

/** What each kind's rows are, and what their keys are. */
export interface Rows {
  /** By the host's name. */
  readonly host: HostRow;
  /** By the host's name: when the service last said that it lives; null: never. Apart from the host, since it changes all the time. */
  readonly heartbeat: number | null;
  /** By uuid; those that are deleted are gone. */
  readonly server: ServerRow;
  /** By uuid: moves under way, those that wait to be confirmed, and evacuations whose source has not cleaned up (`done`). */
  readonly migration: MigrationRow;
  /** By uuid. */
  readonly provider: ProviderRow;
  /** By {@link ProviderRow.traits}: sets of traits, which many providers share. */
  readonly traits: readonly string[];
  /** By uuid: those that hold something. */
  readonly consumer: ConsumerRow;
  /** By the host's name. */
  readonly guests: GuestsRow;
  /** By a key of its own: what is wrong, and why. The page shows it red at `host`, `server` and `consumer`. */
  readonly finding: FindingRow;
  /** By the server's uuid: its latest action; sent when it changes, not in the snapshot. A page that shows the server's life asks for it again. */
  readonly action: LatestAction;
  /** By id, of `GET /window/requests` alone. The page keeps as many as it likes; no request is ever gone. */
  readonly request: RequestRow;
  /** By the flavor's id: for the fields of actions. */
  readonly flavor: FlavorRow;
  /** By a key of its own: what the plan of the last audit would do. */
  readonly edit: EditRow;
  /** By name of the snapshot or scenario. */
  readonly snapshot: SnapshotRow;
  readonly scenario: { readonly title: string };
}

export interface FlavorRow {
  readonly name: string;
  readonly vcpus: number;
  readonly memoryMb: number;
  readonly diskGb: number;
}

interface SnapshotRow {
  readonly name: string;
  readonly at: number;
  readonly bytes: number;
}
