/** An event of a port that Compute handles, as in `POST /os-server-external-events`. */
export interface ServerEvent {
  readonly name: "network-changed" | "network-vif-plugged" | "network-vif-unplugged" | "network-vif-deleted";
  readonly serverUuid: string;
  /** The port. */
  readonly tag: string;
  readonly status: "completed" | "failed";
  /** The host on which the port was plugged, for events of plugging. */
  readonly host?: string;
}

/** Notifies Compute of changed ports of servers, in the transaction of the change. */
export interface ServerEvents {
  readonly send: (event: ServerEvent) => void;
}
