import { FINAL_MIGRATION_STATUSES } from "../../../src/records/index.js";
import type { Violation } from "../violation.js";
import { isLostBuild } from "./bare-metal.js";
import type { Snapshot } from "./snapshot.js";

/**
 * Checks that all operations have ended. Only unconfirmed resizes may remain, and lost builds if several agents share
 * Ironic's nodes.
 */
export function notAtRest(
  { store }: Snapshot,
  { nodesAreShared = false }: { readonly nodesAreShared?: boolean } = {},
): Violation[] {
  const instances = store.instances.list({ deleted: false });
  const vmStates = new Map(instances.map(({ uuid, vmState }) => [uuid, vmState]));
  const busy = instances
    .filter(({ taskState, vmState }) => taskState !== null || vmState === "building")
    .filter((instance) => !(nodesAreShared && isLostBuild(instance)))
    .map(({ uuid, vmState, taskState }) => ({ subject: uuid, what: `stuck in ${vmState}, task ${taskState}` }));
  const moving = store.migrations
    .byFilters({})
    .filter(({ status }) => !FINAL_MIGRATION_STATUSES.includes(status))
    .filter(({ status, instanceUuid }) => !(status === "finished" && vmStates.get(instanceUuid) === "resized"))
    .map(({ id, uuid, instanceUuid, migrationType, status, sourceCompute, destCompute }) => ({
      subject: instanceUuid,
      what: `${migrationType} ${id} (${uuid}) ${sourceCompute} -> ${destCompute} is stuck in ${status}; the server is ${vmStates.get(instanceUuid)}`,
    }));
  const waiting = store.tasks
    .pending()
    .map(({ task }) => ({ subject: task.instanceUuid, what: `the conductor has not done ${task.kind}` }));
  const casts = store.database
    .all("SELECT host, method, params FROM messages")
    .map(([host, method, params]) => ({ subject: String(host), what: `${host} has not taken ${method} ${params}` }));
  const builds = store.database
    .all("SELECT instance_uuid FROM build_requests")
    .map(([uuid]) => ({ subject: String(uuid), what: "it was asked for and never built" }));
  return [...busy, ...moving, ...waiting, ...casts, ...builds];
}

/** Checks that every host serves and is neither disabled nor forced down. */
export function missingServices({ store }: Snapshot, hosts: readonly string[]): Violation[] {
  return hosts.flatMap((host) => {
    const service = store.services.getByHost(host, "nova-compute");
    if (service === null) {
      return [{ subject: host, what: `${host} has no compute service` }];
    }
    return service.forcedDown ? [{ subject: host, what: `${host} cannot be forced up` }] : [];
  });
}
