import { ConductorError } from "../../../conductor-client/errors.js";
import type { CLUSTER_METHODS } from "../../../conductor-client/methods/cluster.js";
import type { StandIns } from "../../identity/tokens/stand-in.js";
import type { RequestRecorder } from "../../request-log/request-recorder.js";
import type { Store } from "../../store/store.js";
import type { HostLeases } from "../host-leases.js";
import type { HostSupervisor } from "../host-supervisor.js";
import type { HandlersOf } from "./handlers.js";
import { forwardErrorText } from "./messages.js";

interface ClusterDeps {
  readonly store: Store;
  readonly leases: HostLeases;
  readonly supervisor: HostSupervisor | undefined;
  readonly recorder: RequestRecorder | undefined;
  readonly standIns: StandIns | undefined;
}

/** Servers and moves that are named. */
const NAMED = 10;

/** The methods of `compute-cluster down`, `wait`, `snapshot restore`, `record` and `replay`. */
export function clusterMethods({
  store,
  leases,
  supervisor,
  recorder,
  standIns,
}: ClusterDeps): HandlersOf<typeof CLUSTER_METHODS> {
  return {
    stop_cluster: () =>
      forwardErrorText(async () => {
        if (supervisor === undefined) {
          throw new ConductorError("no compute-cluster up has started this control plane: end its process itself");
        }
        return { pid: await supervisor.stop() };
      }),
    restore_cluster: ({ snapshot, startHosts = false }) =>
      forwardErrorText(async () => {
        if (supervisor === undefined) {
          throw new ConductorError("no compute-cluster up has started this control plane: stop it, and restore then");
        }
        return { pid: await supervisor.restore(snapshot, startHosts) };
      }),
    take_recorded: async () => recorder?.take() ?? { events: [], lost: 0, more: false },
    stand_in: ({ caller, placing }) =>
      forwardErrorText(async () => {
        if (standIns === undefined) {
          throw new ConductorError("this control plane has no Identity");
        }
        return standIns.standIn(caller, placing === true);
      }),
    cluster_work: async () => {
      // A host that is down takes its messages when it is back, which nobody has to wait for.
      const waiting = [...store.messages.countsByHost()].filter(([host]) => leases.describe(host)?.connected === true);
      return {
        tasks: store.tasks.count(),
        messages: waiting.reduce((sum, [, count]) => sum + count, 0),
        servers: store.instances.busy(NAMED),
        moves: store.migrations.underWay(NAMED),
      };
    },
  };
}
