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
