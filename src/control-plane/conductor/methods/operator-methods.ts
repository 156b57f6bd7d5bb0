import { ComputeHostNotFound, ConductorError, ServiceNotFound } from "../../../conductor-client/errors.js";
import type { OPERATOR_METHODS } from "../../../conductor-client/methods/operator.js";
import type { Clock } from "../../../runtime/clock.js";
import type { Store } from "../../store/store.js";
import type { HandlersOf } from "./handlers.js";

/** Milliseconds in which a migration that has ended gives back what it holds. */
const GRACE = 60_000;

/** The methods of an operator's commands (spec 7.3 to 7.6). */
export function operatorMethods(store: Store, clock: Clock): HandlersOf<typeof OPERATOR_METHODS> {
  return {
    instance_mapping: ({ uuid }) => store.mappings.instance(uuid)?.cell ?? null,
    instances_of_cell: () => instancesOfCell(store),
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

/** Spec 7.6, with Nova's texts. */
function moveNode(store: Store, uuid: string, host: string): null {
  const destination = store.services.getByHost(host, "nova-compute");
  if (!destination) {
    throw new ComputeHostNotFound(`Compute host ${host} could not be found.`, { host });
  }
  if (destination.forcedDown) {
    throw new ConductorError("Destination compute is forced down!");
  }
  const node = store.computeNodes.getByUuid(uuid);
  if (!node) {
    throw new ComputeHostNotFound(`Compute host ${uuid} could not be found.`, { uuid });
  }
  const source = node.serviceId === null ? null : store.services.get(node.serviceId);
  if (!source) {
    throw new ServiceNotFound(`Service ${node.serviceId} could not be found.`, { id: node.serviceId });
  }
  if (!source.forcedDown) {
    throw new ConductorError("Source service is not yet forced down!");
  }
  const instances = store.instances.byHostAndNode(node.host, node.hypervisorHostname);
  if (instances.length > 1) {
    throw new ConductorError(
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
