import type {
  ConsumerRow,
  EditRow,
  FindingRow,
  GuestsRow,
  HostRow,
  LatestAction,
  MigrationRow,
  NetworkRow,
  PortRow,
  ProviderRow,
  RequestRow,
  RouterRow,
  ServerRow,
} from "./rows.js";

/** An action, and the commands that do the same. */
export interface DashboardAction {
  /** Such as `host-kill` in `POST /window/actions/host-kill`. */
  readonly name: string;
  /** Label of the button: `Kill`. */
  readonly label: string;
  /** One sentence that describes the effect. */
  readonly summary: string;
  /** The kind of object that the action applies to. */
  readonly subject: "host" | "server" | "finding" | "snapshot" | "scenario" | "cluster";
  /** The action destroys something, so the page asks for confirmation. */
  readonly destructive: boolean;
  /** Conditions without which the action is rejected. The page disables its button and explains which one is not met. */
  readonly requires?: ActionRequirements;
  /**
   * Fields in the body of the `POST`; all are strings except `flag`s. The subject's field (`host`, `server` …) is the
   * first.
   */
  readonly fields: readonly ActionField[];
  /**
   * Equivalent command lines. `{host}` is replaced by a field's value, and `[--host {dest}]` is omitted if the field is
   * empty.
   */
  readonly commands: readonly string[];
}

/** Conditions on the host or the server of an action, all of which must be met. */
export interface ActionRequirements {
  /** The states of a server in which the API accepts the action. */
  readonly vmStates?: readonly string[];
  /** No task of the server is in progress. */
  readonly idle?: true;
  /** Whether the service of the host, or of the server's host, is up. */
  readonly service?: "up" | "down";
  /** Whether the agent of the host is running. */
  readonly agent?: "running" | "stopped";
  /** The host has a compute service. */
  readonly registered?: true;
  readonly enabled?: boolean;
  readonly forcedDown?: boolean;
  /** The host has servers. */
  readonly servers?: true;
  /** Faults are set on the host. */
  readonly faults?: true;
}

export interface ActionField {
  readonly name: string;
  readonly label: string;
  /** The values of `image`, `network` and `zone` are those of {@link ActionChoices}. */
  readonly type: "text" | "flag" | "host" | "server" | "flavor" | "image" | "network" | "zone" | "fault" | "choice";
  readonly required: boolean;
  /** Possible values of a `choice`. */
  readonly choices?: readonly string[];
}

/** The body of an action: the values of its fields. */
export type ActionBody = Readonly<Record<string, string | boolean>>;

export interface ActionResponse {
  readonly ok: boolean;
  /** The equivalent command lines, quoted for a shell. */
  readonly commands: readonly string[];
  /** Why the action was not done, as a sentence; null if it was. */
  readonly error: string | null;
  /** The API's name and status of the error, such as `itemNotFound (404)`; null if there is none. */
  readonly code: string | null;
  /** Output lines of the action: a dry run's plan, a finding, the output of a command. */
  readonly lines: readonly string[];
  /** A server's uuid or a snapshot's name, if the action created one. */
  readonly made: string | null;
  /** Id of the action's API request. */
  readonly requestId: string | null;
}

/** Values for the fields of actions, read from the APIs of the cluster. */
export interface ActionChoices {
  readonly images: readonly NamedChoice[];
  readonly networks: readonly NamedChoice[];
  /** Names of availability zones. */
  readonly zones: readonly string[];
}

interface NamedChoice {
  readonly id: string;
  readonly name: string;
}

/**
 * The API between the dashboard's server and its page: plain JSON, with the types in this folder. Times are milliseconds
 * since the epoch.
 *
 * The page:
 * - `GET /` with `accept: text/html`, `/window/app.js`, `/window/app.css`, `/window/icon.svg`: files, without a session.
 *
 * The session, a cookie that the page cannot read:
 * - `GET /window/enter?key=KEY` uses the one-time link and redirects (303) to `/`, or to `/?refused` if the key is invalid.
 * - `POST /window/session` with {@link DashboardLogin}: 204 or 401. `GET`: 204 if there is a session, else 401. `DELETE`:
 *   ends it.
 *
 * With a session (401 without one, 403 from another origin or host):
 * - `GET /window/events`: server-sent events, see {@link DashboardEvents}. `GET /window/requests`: the same for requests.
 * - `GET /window/logs?host=&level=&request=&q=`: the same for log entries, see `LogEvents`.
 * - `GET /window/servers/UUID`: `ServerLife`. `GET /window/requests/ID`: `RequestBodies`, or 404 if no longer retained.
 * - `GET /window/choices`: {@link ActionChoices}, read from the APIs at each request; 502 if they cannot be read.
 * - `POST /window/actions/NAME` with the header {@link SESSION_HEADER}: {@link ActionResponse}.
 */

/** The header of requests that change something. Its value is {@link DashboardHello.secret}. */
export const SESSION_HEADER = "x-window-session";

export interface DashboardLogin {
  readonly user: string;
  readonly password: string;
}

/**
 * The events of `GET /window/events` and `GET /window/requests`, by name. First comes `hello`, then a snapshot in many
 * `message`s, then `ready`, then changes as `message`s without end. `EventSource` reconnects by itself with
 * `Last-Event-ID`. If `hello.reset` is false then, the following messages are exactly those that the page has missed,
 * and `ready` comes after them. A row is always complete.
 */
export interface DashboardEvents {
  readonly hello: DashboardHello;
  /** The default event, with an id. */
  readonly message: DashboardMessage;
  readonly ready: { readonly seq: number };
  /** The session has ended, and so does the stream. */
  readonly bye: { readonly reason: string };
}

export interface DashboardHello {
  /** The value for the header {@link SESSION_HEADER}. */
  readonly secret: string;
  /** The page must drop all of its rows. */
  readonly reset: boolean;
  /** The server's clock, from which ages are computed. */
  readonly at: number;
  /** Name of the cluster (its state directory), for the title. */
  readonly name: string;
  readonly version: string;
  /** Placement is external, so there are no `provider`s and `consumer`s. */
  readonly placementElsewhere: boolean;
  /** Seconds without a heartbeat after which a host is down. */
  readonly serviceDownTime: number;
  /** The available actions; empty in a read-only session. */
  readonly actions: readonly DashboardAction[];
  /** Fault points with their parameters, as text for users. */
  readonly faultPoints: readonly string[];
  readonly readOnly: boolean;
}

/** One message of changes, coalesced so that it contains a key once. */
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

/** The row type of each kind, and the meaning of its keys. */
export interface Rows {
  /** By the host's name. */
  readonly host: HostRow;
  /**
   * By the host's name: time of the service's last heartbeat, or null if there was none. Separate from the host, since
   * it changes constantly.
   */
  readonly heartbeat: number | null;
  /** By uuid; deleted servers are removed. */
  readonly server: ServerRow;
  /**
   * By uuid: moves in progress, those that wait for confirmation, and evacuations whose source has not cleaned up
   * (`done`).
   */
  readonly migration: MigrationRow;
  /** By uuid. */
  readonly provider: ProviderRow;
  /** By {@link ProviderRow.traits}: sets of traits, which many providers share. */
  readonly traits: readonly string[];
  /** By uuid: consumers with allocations. */
  readonly consumer: ConsumerRow;
  /** By uuid, as the two below: records of the embedded Network service. */
  readonly network: NetworkRow;
  readonly router: RouterRow;
  readonly port: PortRow;
  /** By the host's name. */
  readonly guests: GuestsRow;
  /** By a key of its own: a problem and its cause. The page displays it in red at `host`, `server` and `consumer`. */
  readonly finding: FindingRow;
  /**
   * By the server's uuid: its latest action. Sent when it changes, and not in the snapshot. A page with the server's
   * history then requests it again.
   */
  readonly action: LatestAction;
  /**
   * By id, only in `GET /window/requests`, which begins with the last ones. Requests are never removed; the page limits how
   * many it retains.
   */
  readonly request: RequestRow;
  /** By the flavor's id, for the fields of actions. */
  readonly flavor: FlavorRow;
  /** By a key of its own: an edit in the plan of the last audit. */
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
