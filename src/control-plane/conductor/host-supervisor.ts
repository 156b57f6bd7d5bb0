import type { HostProcess } from "../../conductor-client/methods/hosts.js";
import type { HostAction } from "../../conductor-client/methods/session.js";
import type { OVER_THE_LINK } from "../local/reports.js";

/** What starts and ends the agents' processes: `compute-cluster up`, the parent of the control plane. */
export interface HostSupervisor {
  list(): Promise<readonly HostProcess[]>;
  /** null: it does not know the host. */
  find(host: string): Promise<HostProcess | null>;
  /** Answers when the host is in its new state; null: it does not know the host. @throws {Error} why it cannot be done. */
  control(host: string, action: HostAction): Promise<HostProcess | typeof OVER_THE_LINK | null>;
  /** Starts the hosts of an addition and answers with them. @throws {Error} why it cannot be done. */
  add(addition: string): Promise<readonly string[]>;
  /** Forgets a host whose agent has ended. @throws {Error} it has not. */
  forget(host: string): Promise<void>;
  /** Has everything stop, soon after the answer, which is the pid of the process that ends last. */
  stop(): Promise<number>;
  /**
   * Has everything start again with a saved state, soon after the answer, which is the supervisor's pid. Null: the state after its
   * start. @param startHosts also hosts that were down in that state @throws {Error} that cannot be restored
   */
  restore(snapshot: string | null, startHosts: boolean): Promise<number>;
}
