import { ConductorError } from "../../../conductor-client/errors.js";
import type { CLUSTER_METHODS } from "../../../conductor-client/methods/cluster.js";
import type { OPERATOR_METHODS } from "../../../conductor-client/methods/conductor.js";
import type { Clock } from "../../../runtime/time.js";
import type { Impersonations } from "../../identity/tokens/impersonation.js";
import type { ServerPorts } from "../../network/server-ports.js";
import type { RequestRecorder } from "../../request-log/request-recorder.js";
import type { Store } from "../../store/store.js";
import { forwardErrorText, type HandlersOf } from "../dispatcher.js";
import type { HostSupervisor } from "../host-controls.js";
import type { HostLeases } from "../host-leases.js";

/** Milliseconds within which a finished migration removes its allocations. */
const GRACE = 60_000;

/** Creates the methods of operators' commands (spec 7.3 to 7.6). */
export function operatorMethods(
  store: Store,
  clock: Clock,
  ports: Pick<ServerPorts, "allocatedResources">,
): HandlersOf<typeof OPERATOR_METHODS> {
  return {
    instance_mapping: ({ uuid }) => store.mappings.instance(uuid)?.cell ?? null,
    instances_of_cell: () => instancesOfCell(store),
    port_allocations: ({ uuid }) => ports.allocatedResources(uuid),
    consumers_under_way: ({ uuids }) => store.requests.consumersUnderWay(uuids, clock.now() - GRACE),
    host_aggregates: () => store.aggregates.list().map(({ uuid, name, hosts }) => ({ uuid, name, hosts })),
    host_mapping: ({ host }) => store.mappings.host(host),
    ironic_compute_node_move: ({ node, host }) => moveNode(store, node, host),
  };
}

function instancesOfCell(store: Store): string[] {
  return store.instances
    .list({ sort: [{ key: "createdAt", direction: "asc" }] })
    .map(({ uuid }) => uuid)
    .filter((uuid) => store.mappings.instance(uuid)?.cell === "cell1");
}

/** Moves a node to another host (spec 7.6), with Nova's error messages. */
function moveNode(store: Store, uuid: string, host: string): null {
  const destination = store.services.getByHost(host, "nova-compute");
  if (!destination) {
    throw new ConductorError("ComputeHostNotFound", `Compute host ${host} could not be found.`, { host });
  }
  if (destination.forcedDown) {
    throw new ConductorError("ConductorError", "Destination compute is forced down!");
  }
  const node = store.computeNodes.getByUuid(uuid);
  if (!node) {
    throw new ConductorError("ComputeHostNotFound", `Compute host ${uuid} could not be found.`, { uuid });
  }
  const source = node.serviceId === null ? null : store.services.get(node.serviceId);
  if (!source) {
    throw new ConductorError("ServiceNotFound", `Service ${node.serviceId} could not be found.`, {
      id: node.serviceId,
    });
  }
  if (!source.forcedDown) {
    throw new ConductorError("ConductorError", "Source service is not yet forced down!");
  }
  const instances = store.instances.byHostAndNode(node.host, node.hypervisorHostname);
  if (instances.length > 1) {
    throw new ConductorError(
      "ConductorError",
      "Found an ironic host with more than one instance! Please delete all Nova instances that do not match the " +
        "instance uuid recorded on the Ironic node.",
    );
  }
  store.computeNodes.save(node.id, { serviceId: destination.id, host });
  for (const instance of instances) {
    store.instances.save(instance.uuid, { host, node: node.hypervisorHostname, computeId: node.id });
  }
  return null;
}

interface ClusterDeps {
  readonly store: Store;
  readonly leases: HostLeases;
  readonly supervisor: HostSupervisor | undefined;
  readonly recorder: RequestRecorder | undefined;
  readonly impersonations: Impersonations | undefined;
}

/** Max servers and moves that are listed by name. */
const NAMED = 10;

/** Creates the methods of `compute-agent down`, `wait`, `snapshot restore`, `record` and `replay`. */
export function clusterMethods({
  store,
  leases,
  supervisor,
  recorder,
  impersonations,
}: ClusterDeps): HandlersOf<typeof CLUSTER_METHODS> {
  return {
    stop_cluster: () =>
      forwardErrorText(async () => {
        if (supervisor === undefined) {
          throw new ConductorError(
            "ConductorError",
            "this control plane was not started by 'compute-agent up': end its process directly",
          );
        }
        return { pid: await supervisor.stop() };
      }),
    restore_cluster: ({ snapshot, startHosts = false }) =>
      forwardErrorText(async () => {
        if (supervisor === undefined) {
          throw new ConductorError(
            "ConductorError",
            "this control plane was not started by 'compute-agent up': stop it, then restore",
          );
        }
        return { pid: await supervisor.restore(snapshot, startHosts) };
      }),
    take_recorded: async () => recorder?.take() ?? { events: [], lost: 0, more: false },
    stand_in: ({ caller, placing }) =>
      forwardErrorText(async () => {
        if (impersonations === undefined) {
          throw new ConductorError("ConductorError", "this control plane has no Identity");
        }
        return impersonations.impersonate(caller, placing === true);
      }),
    cluster_work: async () => {
      // Messages for hosts that are down are not counted: they are delivered when the host returns, and waiting would not
      // end.
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
