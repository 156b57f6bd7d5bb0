import type { Method } from "./methods.js";
import type { AllocationsByProvider, RetryInfo, Selection } from "./records/index.js";

/**
 * What may be asked of an agent, by the conductor or (through it) by another agent. Names are Nova's.
 * Casts are kept until the agent has taken them and are handed over once; calls need a live agent.
 */
export interface AgentMethods {
  /** Cast (spec 6.1 rows 4-7). */
  build_and_run_instance: Method<
    {
      instanceUuid: string;
      /** What the instance holds in Placement. */
      allocations: AllocationsByProvider;
      /** The destination that was claimed for it. */
      node: string;
      alternates: Selection[];
      /** Absent: no reschedule. */
      retry?: RetryInfo;
      requestId: string;
    },
    null
  >;
  /** Cast (spec 6.2). */
  terminate_instance: Method<{ instanceUuid: string; requestId: string }, null>;
  /** Cast. With a migration of type evacuation: spec 6.7 rows 3-6; without: a rebuild in place. */
  rebuild_instance: Method<
    {
      instanceUuid: string;
      migrationId: number | null;
      /** Given by APIs before 2.14 only. */
      onSharedStorage: boolean | null;
      recreate: boolean;
      node: string;
      imageRef: string;
      /** API ≥ 2.95: the guest is left stopped unless the instance was in error. */
      targetStopped: boolean;
      requestId: string;
    },
    null
  >;
  /** Call; spec 2.5. */
  set_host_enabled: Method<{ enabled: boolean }, "enabled" | "disabled">;
  /** Call, agent to agent; spec 3.3. */
  check_instance_shared_storage: Method<{ instanceUuid: string; token: Readonly<Record<string, unknown>> }, boolean>;
  /** Casts of the operator's power operations. */
  start_instance: Method<{ instanceUuid: string; requestId: string }, null>;
  stop_instance: Method<{ instanceUuid: string; requestId: string }, null>;
  reboot_instance: Method<{ instanceUuid: string; type: "SOFT" | "HARD"; requestId: string }, null>;
}

export type AgentMethod = keyof AgentMethods;
