import type { Session } from "./session.js";

/** The caller of a method, and its request. */
export interface Caller {
  readonly session: Session;
  /** The host for which the caller speaks. */
  readonly host: string | undefined;
  /** One life of that host: its own boot, or else the connection's. */
  readonly bootId: string;
  readonly requestId: string;
  /** Does not take part in host leases (quirk `no-host-lease`). */
  readonly unfenced: boolean;
  /** The name of a call that is repeated until it is answered, the same each time. */
  readonly call?: string;
  /** Milliseconds that the caller still waits for the answer, if it said so. */
  readonly timeout?: number;
}
