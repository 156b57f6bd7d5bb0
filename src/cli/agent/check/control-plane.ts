import type { CheckPart } from "../../../agent/check/check-part.js";
import type { HostSession } from "../../../conductor-client/port.js";

/** What was found of the control plane, and what the rest of the check asks it through. */
export interface ControlPlane {
  /** Broker and conductor, in this order. */
  readonly parts: readonly CheckPart[];
  /** Null: nobody answers. */
  readonly met: MetControlPlane | null;
  close(): Promise<void>;
}

export interface MetControlPlane {
  readonly session: HostSession;
  /** What agents under it have to say they are; undefined: what this build is. */
  readonly serviceVersion: number | undefined;
  /** What a host that is new needs besides a start; empty: nothing. */
  readonly newHost: string;
  /** Says which process has the host. */
  lease(): Promise<CheckPart>;
}

/** How long the check waits for each part, in milliseconds, and what ends it. */
export interface CheckLimits {
  readonly limit: number;
  readonly signal: AbortSignal;
}
