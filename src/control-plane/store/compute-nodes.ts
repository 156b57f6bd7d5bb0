import { ConductorError, isConductorError } from "../../conductor-client/errors.js";
import { COMPUTE_NODE, type ComputeNode, type ComputeNodeResources } from "../../records/index.js";
import type { SqlValue } from "./record-fields.js";
import type { StoreContext } from "./store-context.js";
import { Table, tableOf } from "./table.js";

/** The ratios for rows without one (spec 1.3): the configured `*_allocation_ratio`, or else the `initial_*` one. */
export type DefaultRatios = Readonly<
  Pick<ComputeNodeResources, "cpuAllocationRatio" | "ramAllocationRatio" | "diskAllocationRatio">
>;

interface NewComputeNode {
  readonly host: string;
  readonly serviceId: number;
  readonly uuid: string;
  readonly hypervisorHostname: string;
  readonly resources: ComputeNodeResources;
}

type ComputeNodeChanges = Partial<ComputeNodeResources & { readonly host: string; readonly serviceId: number }>;

/** The columns that os-hypervisors sums up. */
const AMOUNTS = [
  "vcpus",
  "memoryMb",
  "localGb",
  "vcpusUsed",
  "memoryMbUsed",
  "localGbUsed",
  "freeRamMb",
  "freeDiskGb",
  "currentWorkload",
  "runningVms",
  "diskAvailableLeast",
] as const;
export type ComputeNodeAmount = (typeof AMOUNTS)[number];

const SERVED = `deleted = 0 AND EXISTS (
  SELECT 1 FROM services
  WHERE services.host = compute_nodes.host AND services.binary = 'nova-compute' AND services.deleted = 0)`;

const COMPUTE_NODES = tableOf("compute_nodes", COMPUTE_NODE);

/** Table `compute_nodes` (spec 1.3). */
export function createComputeNodeTable({ sql, clock, changes }: StoreContext, defaults: DefaultRatios) {
  const table = new Table(sql, COMPUTE_NODES);

  return {
    get: (id: number): ComputeNode | null => first("id = ? AND deleted = 0", id),
    getByUuid,
    getByHostAndNode,
    byHost: (host: string): ComputeNode[] => read("host = ? AND deleted = 0 ORDER BY id", host),
    /** Returns the uuids of at most `limit` nodes of a host, by id. */
    uuidsOf(host: string, limit: number): string[] {
      const query = "SELECT uuid FROM compute_nodes WHERE host = ? AND deleted = 0 ORDER BY id LIMIT ?";
      return sql.strings(query, host, limit);
    },
    /** Returns the host of a node without reading the complete row, which is long. */
    hostOf(uuid: string): string | null {
      const [host = null] = sql.get("SELECT host FROM compute_nodes WHERE uuid = ? AND deleted = 0", uuid) ?? [];
      return host === null ? null : String(host);
    },
    byUuids: (uuids: readonly string[]): ComputeNode[] =>
      read("uuid IN (SELECT value FROM json_each(?)) AND deleted = 0 ORDER BY id", JSON.stringify(uuids)),
    byHypervisorHostname,
    /** Returns the hosts that have a node of this hypervisor type. */
    hostsOfType: (hypervisorType: string): string[] =>
      sql.strings("SELECT DISTINCT host FROM compute_nodes WHERE hypervisor_type = ? AND deleted = 0", hypervisorType),
    /**
     * Returns the hypervisor type of each host's nodes.
     * @param only restricts the result to this host
     */
    typesByHost(only: string | null = null): ReadonlyMap<string, string> {
      const rows = sql.all(
        `SELECT host, max(hypervisor_type) FROM compute_nodes WHERE deleted = 0${only === null ? "" : " AND host = ?"} GROUP BY host`,
        ...(only === null ? [] : [only]),
      );
      return new Map(rows.map(([host, type]) => [String(host), String(type)]));
    },
    /** Returns the nodes that are not deleted, by id. */
    list: (): ComputeNode[] => read("deleted = 0 ORDER BY id"),
    /**
     * Returns a page of nodes whose host has a nova-compute service, by id; nodes of other hosts are leftovers.
     * @param after only nodes with a greater id
     */
    served: ({ after = 0, limit }: { readonly after?: number; readonly limit: number }): ComputeNode[] =>
      read(`${SERVED} AND id > ? ORDER BY id LIMIT ?`, after, limit),
    servedByIds: (ids: readonly number[]): ComputeNode[] =>
      read(`${SERVED} AND id IN (SELECT value FROM json_each(?)) ORDER BY id`, JSON.stringify(ids)),
    /** Returns ids and names of all nodes whose host has a nova-compute service. */
    servedNames: (): { readonly id: number; readonly hypervisorHostname: string }[] =>
      sql
        .all(`SELECT id, hypervisor_hostname FROM compute_nodes WHERE ${SERVED} ORDER BY id`)
        .map(([id, name]) => ({ id: Number(id), hypervisorHostname: String(name) })),
    /** Returns the number of these nodes, and the sums of their amounts. */
    servedSums(): { readonly count: number; readonly sums: Readonly<Record<ComputeNodeAmount, number>> } {
      const columns = AMOUNTS.map((field) => `coalesce(sum(${table.column(field)}), 0)`);
      const [count, ...sums] =
        sql.get(`SELECT count(*), ${columns.join(", ")} FROM compute_nodes WHERE ${SERVED}`) ?? [];
      const named = AMOUNTS.map((field, index) => [field, Number(sums[index])] as const);
      return { count: Number(count), sums: Object.fromEntries(named) as Record<ComputeNodeAmount, number> };
    },
    create(node: NewComputeNode, { exclusive = false }: { readonly exclusive?: boolean } = {}): ComputeNode {
      const { resources, ...identity } = node;
      return sql.transaction(() => {
        if (exclusive) {
          assertNameNotTaken(node);
        }
        const known = getByUuid(node.uuid, { readDeleted: true });
        if (known) {
          return save(
            known.id,
            { ...resources, host: node.host, serviceId: node.serviceId },
            { undelete: true, hypervisorHostname: node.hypervisorHostname },
          );
        }
        const id = unique(identity, () =>
          table.insert({ ...resources, ...identity, mapped: 0, createdAt: clock.now() }),
        );
        changes.changed("compute_node", id);
        return existing(id, false);
      });
    },
    save,
    destroy: (id: number, host: string): boolean =>
      sql.transaction(() => {
        const { changes: changed } = sql.run(
          "UPDATE compute_nodes SET deleted = id, deleted_at = ? WHERE id = ? AND host = ? AND deleted = 0",
          clock.now(),
          id,
          host,
        );
        if (changed > 0) {
          changes.changed("compute_node", id);
        }
        return changed > 0;
      }),
  };

  function getByUuid(uuid: string, options: { readonly readDeleted?: boolean } = {}): ComputeNode | null {
    return first("uuid = ? AND (deleted = 0 OR ?)", uuid, options.readDeleted ? 1 : 0);
  }

  function getByHostAndNode(host: string, node: string): ComputeNode | null {
    return first("host = ? AND hypervisor_hostname = ? AND deleted = 0", host, node);
  }

  function byHypervisorHostname(name: string): ComputeNode[] {
    return read("hypervisor_hostname = ? AND deleted = 0 ORDER BY id", name);
  }

  function save(
    id: number,
    values: ComputeNodeChanges,
    options: { readonly undelete?: boolean; readonly hypervisorHostname?: string } = {},
  ): ComputeNode {
    return sql.transaction(() => {
      const found = existing(id, options.undelete ?? false);
      if ("uuid" in values && values.uuid !== found.uuid) {
        throw new ConductorError(
          "InvalidNodeConfiguration",
          `compute node ${id}: its uuid ${found.uuid} cannot be changed to ${values.uuid}`,
          { id, uuid: found.uuid },
        );
      }
      const hypervisorHostname = options.hypervisorHostname ?? found.hypervisorHostname;
      const identity = { host: values.host ?? found.host, hypervisorHostname };
      const written = { ...values, hypervisorHostname, updatedAt: clock.now() };
      changes.changed("compute_node", id);
      if (!options.undelete && values.host === undefined) {
        return withRatios(unique(identity, () => table.change(found, written)));
      }
      const alive = options.undelete ? { deleted: 0, deleted_at: null } : {};
      unique(identity, () => table.update(id, written, alive));
      return existing(id, false);
    });
  }

  function existing(id: number, readDeleted: boolean): ComputeNode {
    const node = first("id = ? AND (deleted = 0 OR ?)", id, readDeleted ? 1 : 0);
    if (!node) {
      throw new ConductorError(
        "ComputeHostNotFound",
        `compute node ${id} was not found: it never existed or was deleted`,
        { id },
      );
    }
    return node;
  }

  function assertNameNotTaken({ host, hypervisorHostname }: NewComputeNode): void {
    const other = byHypervisorHostname(hypervisorHostname).find((node) => node.host !== host);
    if (!other) {
      return;
    }
    throw new ConductorError(
      "DuplicateRecord",
      `hypervisor ${hypervisorHostname} is compute node ${other.uuid} of host ${other.host}; it cannot also belong to host ${host}`,
      { host, hypervisorHostname, uuid: other.uuid, takenBy: other.host },
    );
  }

  function unique<T>(identity: { readonly host: string; readonly hypervisorHostname: string }, write: () => T): T {
    try {
      return write();
    } catch (error) {
      if (!isConductorError(error, "DuplicateRecord")) {
        throw error;
      }
      const { host, hypervisorHostname } = identity;
      const holder = getByHostAndNode(host, hypervisorHostname);
      throw new ConductorError(
        "DuplicateRecord",
        `host ${host} already has a compute node ${hypervisorHostname}, with uuid ${holder?.uuid}`,
        { host, hypervisorHostname, uuid: holder?.uuid },
      );
    }
  }

  function first(condition: string, ...values: SqlValue[]): ComputeNode | null {
    const node = table.one(condition, ...values);
    return node && withRatios(node);
  }

  function read(condition: string, ...values: SqlValue[]): ComputeNode[] {
    return table.many(condition, ...values).map((node) => withRatios(node));
  }

  /** Replaces a ratio of 0 or NULL before anyone reads it: Placement rejects it permanently (bug 1789654). */
  function withRatios(node: ComputeNode): ComputeNode {
    const missing = Object.entries(defaults).filter(([ratio]) => !node[ratio as keyof DefaultRatios]);
    if (missing.length === 0) {
      return node;
    }
    const ratios: Partial<DefaultRatios> = Object.fromEntries(missing);
    table.update(node.id, ratios);
    return { ...node, ...ratios };
  }
}
