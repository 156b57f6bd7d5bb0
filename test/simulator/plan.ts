import type { QuirkName } from "../../src/config/quirks.js";
import type { Release } from "../../src/records/index.js";

/** The actor of a step: somebody with servers, who runs the cloud, or the world's ill will. */
export const STEP_KINDS = [
  "create",
  "act",
  "delete",
  "label",
  "fence",
  "evacuate",
  "force-up",
  "disable",
  "enable",
  "delete-service",
  "aggregate",
  "retire",
  "audit",
  "heal",
  "kill-agent",
  "stop-agent",
  "twin-agent",
  "impostor",
  "machine",
  "disk",
  "kill-control-plane",
  "partition",
  "message",
  "fault",
  "trouble",
  "clock",
  "create-bare-metal",
  "act-bare-metal",
  "kill-ironic-agent",
  "node",
  "ironic-fault",
  "control-move",
  "save-image",
  "restore",
  "reset-state",
  "ironic-network",
  "ironic-listing",
] as const;
export type StepKind = (typeof STEP_KINDS)[number];

/** What needs an Ironic. */
export const BARE_METAL: readonly StepKind[] = [
  "create-bare-metal",
  "act-bare-metal",
  "kill-ironic-agent",
  "node",
  "ironic-fault",
  "ironic-network",
  "ironic-listing",
];

/** One thing that somebody does. What it draws while it is done depends on its number alone, whatever the others did. */
export interface Step {
  readonly number: number;
  /** Milliseconds from the beginning. */
  readonly at: number;
  readonly kind: StepKind;
}

/** A cloud as one seed draws it. */
export interface Deployment {
  readonly hosts: number;
  /** Milliseconds of every message. */
  readonly latency: number;
  /** Milliseconds that a door may take besides; 0: nothing is chosen. */
  readonly interleave: number;
  /** Hosts, from the last, that share their disks. */
  readonly sharing: number;
  /** An old nova-compute is known, so that moves double their allocations (spec 6.0). */
  readonly doubled: boolean;
  /** What the first host's agent says it is. */
  readonly oldest: Release;
  /** Defects of upstream's that this cloud has. */
  readonly quirks: readonly QuirkName[];
  readonly sameHostResize: boolean;
  readonly shelvedOffloadTime: number;
  /** Seconds; 0: off. */
  readonly reclaimInterval: number;
  /** Seconds after which a resize is confirmed; absent or 0: never. */
  readonly confirmWindow?: number;
  readonly leanTracking: boolean;
  /** Guests that ran are started when their machine comes back. */
  readonly resumeGuests: boolean;
  /** Agents remove allocations that nobody needs. Without that there is nobody who dies or loses an answer. */
  readonly repairs: boolean;
  /** The slowest of a host's delays, in seconds. */
  readonly slow: number;
  /** Nodes of the embedded Ironic; 0: there is none. */
  readonly nodes: number;
  /** Hosts that share the nodes. */
  readonly ironicHosts: number;
  /** Users put servers into server groups; absent: nobody does. */
  readonly groups?: boolean;
}

/** Everything that a run depends on. */
export interface Plan {
  readonly version: 1;
  readonly seed: string;
  /** Milliseconds in which things are done. */
  readonly duration: number;
  readonly deployment: Deployment;
  readonly steps: readonly Step[];
}
