import type { ComputeNode } from "../../records/index.js";
import { errorMessage } from "../../runtime/error-messages.js";
import { FileFailure } from "../../runtime/files.js";
import type { AgentView } from "../context.js";
import { UNCLEANED } from "../evacuation/plan.js";
import type { RecordedDriver } from "../identity-file.js";
import { ConfigRejectedError } from "../rejections.js";

/** The max number of names in a message. */
const MAX_LISTED = 3;

/**
 * Spec 2.4 g by the file in `state_path`: the host's guests belong to the driver of its last start. Call this before
 * using the driver, since another driver's `initHost` may create a hypervisor.
 * @throws {ConfigRejectedError}
 */
export async function guardRecordedDriver(view: AgentView): Promise<void> {
  const recorded = await readRecord(view);
  if (recorded === undefined || recorded.name === view.driver.name) {
    return;
  }
  await allowChange(view, {
    before: `driver ${recorded.name} (compute_driver ${recorded.computeDriver}), by ${view.driverRecord.path}`,
    hint: `start the agent with --compute-driver ${recorded.computeDriver}`,
    records: { [view.driverRecord.path]: recorded.name, driver: view.driver.name },
  });
}

/**
 * Spec 2.4 g for a host without that file: compares the hypervisor type in its node's record.
 * @param names uuid → name, as reported by the driver
 * @throws {ConfigRejectedError}
 */
export async function guardHypervisorType(view: AgentView, names: ReadonlyMap<string, string>): Promise<void> {
  const [name] = names.values();
  if (name === undefined || (await readRecord(view)) !== undefined) {
    return;
  }
  const [node] = await view.conductor.call("compute_nodes_by_host", { host: view.host });
  // Recorded without a type: unknown, as for a node that was created and never reported.
  if (node === undefined || node.hypervisorType === "") {
    return;
  }
  const { hypervisorType } = await view.driver.getAvailableResource(name);
  if (hypervisorType === node.hypervisorType) {
    return;
  }
  await allowChange(view, {
    before: `a driver of hypervisor type ${node.hypervisorType}, by compute node ${node.uuid} (${node.hypervisorHostname})`,
    hint: `start the agent with its previous driver (--compute-driver)`,
    records: { compute_node: node.hypervisorType, driver: `${view.driver.name}, hypervisor type ${hypervisorType}` },
  });
}

async function readRecord(view: AgentView): Promise<RecordedDriver | undefined> {
  try {
    return await view.driverRecord.read();
  } catch (error) {
    const { path } = view.driverRecord;
    throw new ConfigRejectedError(
      "driver-changed",
      {
        found:
          error instanceof FileFailure
            ? `${path}, which names the driver of this host's guests, could not be read: ${String(error)}`
            : errorMessage(error),
        hint: `make it readable for the agent; its first line is the driver's name`,
        records: { [path]: "unreadable" },
      },
      { cause: error },
    );
  }
}

interface Contradiction {
  readonly before: string;
  readonly hint: string;
  readonly records: Readonly<Record<string, string>>;
}

/** Another driver would consider the guests gone. @throws {ConfigRejectedError} unless a change is allowed */
async function allowChange(view: AgentView, { before, hint, records }: Contradiction): Promise<void> {
  const { host, driver, changesDriver, logger } = view;
  const found = `host ${host} was served by ${before}; this agent has driver ${driver.name}`;
  if (!changesDriver) {
    throw new ConfigRejectedError("driver-changed", {
      found,
      hint: `${hint}; if the host is to change its driver for good, move its servers away and start once with --change-driver`,
      records,
    });
  }
  const blockers = await findChangeBlockers(view);
  if (blockers.length > 0) {
    throw new ConfigRejectedError("driver-changed", {
      found: `${found}, and cannot change it now: ${blockers.join("; ")}`,
      hint: `${hint}, move the servers away and let it clean up; then start once with --change-driver`,
      records: { ...records, ...Object.fromEntries(blockers.map((what, index) => [`kept ${index + 1}`, what])) },
    });
  }
  logger.warn(`host ${host} changes its driver, as --change-driver says`, { before, after: driver.name });
}

/** Returns the objects that only the host's previous driver can serve, move or clean up. */
async function findChangeBlockers({ conductor, host }: AgentView): Promise<readonly string[]> {
  const [servers, evacuations, nodes] = await Promise.all([
    conductor.call("instances_by_host", { host }),
    conductor.call("migrations_by_filters", {
      filters: { sourceCompute: host, migrationTypes: ["evacuation"], statuses: [...UNCLEANED], readDeleted: true },
    }),
    conductor.call("compute_nodes_by_host", { host }),
  ]);
  const moves = await movesOf(conductor, host, nodes);
  return [
    ...named("server", servers, ({ displayName, uuid }) => `${displayName} (${uuid})`),
    ...named("evacuation to clean up", evacuations, ({ id, status }) => `migration ${id} (${status})`),
    ...named("move under way", moves, ({ id, status }) => `migration ${id} (${status})`),
  ];
}

async function movesOf(conductor: AgentView["conductor"], host: string, nodes: readonly ComputeNode[]) {
  const found = await Promise.all(
    nodes.map(({ hypervisorHostname: node }) => conductor.call("migrations_in_progress", { host, node })),
  );
  return found.flat().filter(({ migrationType }) => migrationType !== "evacuation");
}

function named<T>(what: string, found: readonly T[], name: (each: T) => string): readonly string[] {
  if (found.length === 0) {
    return [];
  }
  const summary = found.slice(0, MAX_LISTED).map(name).join(", ") + (found.length > MAX_LISTED ? ", …" : "");
  return [`${found.length} ${what}${found.length === 1 ? "" : "s"}: ${summary}`];
}
