/**
 * What the server of the window and its page say to each other: types alone, plain JSON. Times are milliseconds since the epoch.
 *
 * The page:
 * - `GET /` with `accept: text/html`, `/window/app.js`, `/window/app.css`, `/window/icon.svg`: files, for everybody on this machine.
 *
 * The session, a cookie that the page cannot read:
 * - `GET /window/enter?key=KEY` takes the one-time link, and answers with 303 to `/`; `/?refused` where the key is no good.
 * - `POST /window/session` {@link WindowLogin}: 204, or 401. `GET`: 204 or 401, whether there is one. `DELETE`: ends it.
 *
 * With a session; without one 401, from another origin or host 403:
 * - `GET /window/events`: server-sent events, see {@link WindowEvents}. `GET /window/requests`: the same of requests alone.
 * - `GET /window/servers/UUID`: {@link ServerLife}. `GET /window/requests/ID`: {@link RequestBodies}; 404: no longer kept.
 * - `POST /window/actions/NAME` with the header {@link SESSION_HEADER}: {@link ActionAnswer}.
 */

/** The header that what changes something carries; its value is {@link WindowHello.secret}. */
export const SESSION_HEADER = "x-window-session";

export interface WindowLogin {
  readonly user: string;
  readonly password: string;
}

/**
 * The names of the events of `GET /window/events` and `GET /window/requests`. First comes `hello`, then the snapshot in many `message`s, then `ready`, then
 * changes as `message`s, for good. `EventSource` connects again by itself with `Last-Event-ID`: `hello.reset` is false then when
 * the messages that follow are all that the page has missed, and `ready` comes after these. A row is always the whole row.
 */
export interface WindowEvents {
  readonly hello: WindowHello;
  /** The default event, with an id. */
  readonly message: WindowMessage;
  readonly ready: { readonly seq: number };
  /** The session has ended; the stream does, too. */
  readonly bye: { readonly reason: string };
}

export interface WindowHello {
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
  readonly actions: readonly WindowAction[];
  /** Points that faults can be set at, with what each takes, for people. */
  readonly faultPoints: readonly string[];
  readonly readOnly: boolean;
}

/** What can be done, and the commands that do the same. */
export interface WindowAction {
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

export interface ActionAnswer {
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

/** One message of changes: coalesced, so that a key is in it once. */
export interface WindowMessage {
  readonly seq: number;
  readonly at: number;
  readonly set: readonly WindowRow[];
  readonly gone: readonly { readonly kind: Kind; readonly key: string }[];
}

export type WindowRow = {
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

export interface HostRow {
  readonly host: string;
  readonly state: "up" | "down";
  /** It has a compute service; without one it has never served: its agent was refused, has failed, or starts for the first time. */
  readonly registered: boolean;
  readonly enabled: boolean;
  /** Why it is disabled, or how its agent ended; "": nothing to say. */
  readonly reason: string;
  readonly forcedDown: boolean;
  /**
   * State of its agent's process, as `compute-cluster host list` has it, and `refused`: it would not start, as records contradict
   * each other. Null: no process that is known here controls it.
   */
  readonly agent:
    | "starting"
    | "serving"
    | "stopping"
    | "stopped"
    | "failed"
    | "refused"
    | "killed"
    | "waiting"
    | "restarting"
    | null;
  readonly zone: string;
  readonly aggregates: readonly string[];
  /** The uuids of its compute nodes, which are their root providers'; at most 100 of them. */
  readonly nodes: readonly string[];
  /** Fault knobs that are set: `driver.spawn=fail:once`. */
  readonly faults: readonly string[];
  /** Level of the service, 0 without one, and the release's name. */
  readonly version: number;
  readonly release: string | null;
}

export interface ServerRow {
  readonly uuid: string;
  readonly name: string;
  /** As the Compute API has it: `ACTIVE`, `VERIFY_RESIZE` … */
  readonly status: string;
  readonly vmState: string;
  readonly taskState: string | null;
  /** `running`, `shutdown` …, as it was last recorded. */
  readonly power: string;
  readonly host: string | null;
  readonly node: string | null;
  readonly flavor: string;
  readonly vcpus: number;
  readonly memoryMb: number;
  readonly diskGb: number;
  readonly projectId: string;
  readonly createdAt: number;
  readonly updatedAt: number | null;
  /** The message of its latest fault, when it is in error. */
  readonly fault: string | null;
  /** The request that set the task state. */
  readonly requestId: string | null;
}

export interface MigrationRow {
  readonly uuid: string;
  readonly id: number;
  readonly server: string;
  readonly type: "migration" | "resize" | "live-migration" | "evacuation";
  readonly status: string;
  readonly source: string | null;
  readonly dest: string | null;
  readonly oldFlavor: string | null;
  readonly newFlavor: string | null;
  /** Percent of the memory that a live migration has moved; null: not told. */
  readonly progress: number | null;
  readonly createdAt: number;
  readonly updatedAt: number | null;
}

export interface ProviderRow {
  readonly uuid: string;
  readonly name: string;
  readonly generation: number;
  readonly parent: string | null;
  readonly root: string;
  /** Host of the compute node that its root is; null: there is none. */
  readonly host: string | null;
  /** By resource class. */
  readonly inventory: Readonly<Record<string, InventoryRow>>;
  /** Key of a row of `traits`. */
  readonly traits: string;
  readonly aggregates: readonly string[];
}

export interface InventoryRow {
  readonly total: number;
  readonly reserved: number;
  readonly ratio: number;
  readonly min: number;
  readonly max: number;
  readonly step: number;
  /** What is used, by the type of the consumer. */
  readonly used: Readonly<Record<ConsumerType, number>>;
}

/** `stale`: neither a server that is there nor a move that is under way. */
export type ConsumerType = "server" | "migration" | "stale";

export interface ConsumerRow {
  readonly uuid: string;
  readonly type: ConsumerType;
  /** The server that it is, or whose move it is; null: not known. */
  readonly server: string | null;
  /** What Placement calls it: `INSTANCE`, `MIGRATION` … */
  readonly placementType: string | null;
  readonly generation: number;
  readonly projectId: string;
  readonly userId: string;
  /** Provider → resource class → amount. */
  readonly held: Readonly<Record<string, Readonly<Record<string, number>>>>;
}

export interface GuestsRow {
  /** When that was so. */
  readonly at: number;
  /** `folder`: read from a fake-libvirt hypervisor's folder, whether its agent lives or not; `agent`: its agent said so. */
  readonly from: "folder" | "agent";
  readonly guests: readonly GuestRow[];
}

export interface GuestRow {
  readonly uuid: string;
  readonly name: string;
  /** `running`, `shut off`, `paused` … */
  readonly state: string;
}

export interface FindingRow {
  /** `stale-guest`, `guest-without-server`, `server-without-guest`, `stale-allocation` or `missing-allocation`. */
  readonly code: string;
  readonly text: string;
  /** Where it is shown; null: it is not about one. */
  readonly host: string | null;
  readonly server: string | null;
  readonly consumer: string | null;
  readonly provider: string | null;
}

/** An edit of the plan that the action `audit` has written; `apply` and `undo` do it alone, or take it back. */
export interface EditRow {
  /** Codes of what `compute-cluster audit` has found, which it removes. */
  readonly findings: readonly string[];
  readonly reason: string;
  /** What it does, in a line. */
  readonly does: string;
  /** The consumer or provider that it changes, by which it can be chosen. */
  readonly subject: string;
}

export interface LatestAction {
  readonly action: string;
  readonly requestId: string;
  readonly startedAt: number;
  readonly message: string | null;
  /** Its latest event. */
  readonly event: EventRow | null;
}

export interface EventRow {
  /** `compute__do_build_and_run_instance` … */
  readonly event: string;
  readonly startedAt: number;
  readonly finishedAt: number | null;
  readonly result: "Success" | "Error" | null;
  readonly host: string | null;
  readonly details: string | null;
}

export interface RequestRow {
  readonly id: string;
  readonly at: number;
  /** `compute-api`, `placement` …; `other`: no service took it. */
  readonly service: string;
  readonly method: string;
  /** With the query; secrets are hidden. */
  readonly path: string;
  readonly status: number;
  readonly ms: number | null;
  readonly requestId: string | null;
  /** The request that it was made for. */
  readonly globalRequestId: string | null;
  readonly user: string | null;
  readonly project: string | null;
  readonly hasBody: boolean;
  /** Ids in what was asked and answered, the first of them: of servers, providers, and what else has a uuid. */
  readonly about: readonly string[];
}

/** The bodies of a request, with secrets hidden. */
export interface RequestBodies extends RequestRow {
  /** JSON, indented; null: there was none, or it is none, or too long. */
  readonly body: string | null;
  readonly answer: string | null;
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

/** The life of a server, oldest first everywhere. A server that is deleted has one, too. */
export interface ServerLife {
  readonly server: ServerRow;
  readonly deletedAt: number | null;
  readonly actions: readonly ActionRow[];
  /** All of them, those that have ended included. */
  readonly migrations: readonly MigrationRow[];
  readonly faults: readonly { readonly at: number; readonly message: string; readonly host: string | null }[];
  /** Which host had it, from when to when; null: it still has, or that is not known. From its moves' records. */
  readonly hosts: readonly { readonly host: string; readonly from: number; readonly to: number | null }[];
  /** What it and its moves hold now. */
  readonly consumers: readonly ConsumerRow[];
  /** What each of these held from then on, as far as somebody looked at the window while it changed; held {}: nothing. */
  readonly history: readonly { readonly at: number; readonly consumer: ConsumerRow }[];
  /** States that it had, as far as somebody looked. */
  readonly states: readonly StateRow[];
}

export interface StateRow {
  readonly at: number;
  readonly vmState: string;
  readonly taskState: string | null;
  readonly host: string | null;
  readonly requestId: string | null;
}

export interface ActionRow {
  readonly action: string;
  readonly requestId: string;
  readonly startedAt: number;
  readonly finishedAt: number | null;
  /** `Error` if one of its events failed. */
  readonly message: string | null;
  readonly events: readonly EventRow[];
}
