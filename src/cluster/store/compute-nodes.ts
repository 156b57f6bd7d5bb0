import { ComputeHostNotFound, DuplicateRecord, InvalidNodeConfiguration } from "../../conductor/errors.js";
import { COMPUTE_NODE, type ComputeNode, type ComputeNodeResources } from "../../records/index.js";
import type { SqlValue } from "./codec.js";
import type { StoreContext } from "./store-context.js";
import { Table, tableOf } from "./table.js";

/** Written where a row has none (spec 1.3): the configured `*_allocation_ratio`, else the `initial_*` one. */
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

const COMPUTE_NODES = tableOf("compute_nodes", COMPUTE_NODE);

/** Table `compute_nodes` (spec 1.3). */
export class ComputeNodes {
  readonly #context: StoreContext;
  readonly #table: Table<ComputeNode>;
  readonly #ratios: DefaultRatios;

  constructor(context: StoreContext, ratios: DefaultRatios) {
    this.#context = context;
    this.#table = new Table(context.sql, COMPUTE_NODES);
    this.#ratios = ratios;
  }

  get(id: number): ComputeNode | null {
    return this.#first(this.#read("id = ? AND deleted = 0", id));
  }

  getByUuid(uuid: string, options: { readonly readDeleted?: boolean } = {}): ComputeNode | null {
    return this.#first(this.#read("uuid = ? AND (deleted = 0 OR ?)", uuid, options.readDeleted ? 1 : 0));
  }

  getByHostAndNode(host: string, node: string): ComputeNode | null {
    return this.#first(this.#read("host = ? AND hypervisor_hostname = ? AND deleted = 0", host, node));
  }

  byHost(host: string): ComputeNode[] {
    return this.#read("host = ? AND deleted = 0 ORDER BY id", host);
  }

  byUuids(uuids: readonly string[]): ComputeNode[] {
    return this.#read("uuid IN (SELECT value FROM json_each(?)) AND deleted = 0 ORDER BY id", JSON.stringify(uuids));
  }

  byHypervisorHostname(name: string): ComputeNode[] {
    return this.#read("hypervisor_hostname = ? AND deleted = 0 ORDER BY id", name);
  }

  /** Hosts with an alive node of this hypervisor type, each once. */
  hostsOfType(hypervisorType: string): string[] {
    const { sql } = this.#context;
    return sql
      .all("SELECT DISTINCT host FROM compute_nodes WHERE hypervisor_type = ? AND deleted = 0", hypervisorType)
      .map(([host]) => String(host));
  }

  /** Alive, by id; paging for os-hypervisors. */
  list(): ComputeNode[] {
    return this.#read("deleted = 0 ORDER BY id");
  }

  create(node: NewComputeNode, { exclusive = false }: { readonly exclusive?: boolean } = {}): ComputeNode {
    const { sql, clock, changes } = this.#context;
    const { resources, ...identity } = node;
    return sql.transaction(() => {
      if (exclusive) {
        this.#refuseNameOfOtherHost(node);
      }
      const known = this.getByUuid(node.uuid, { readDeleted: true });
      if (known) {
        return this.save(
          known.id,
          { ...resources, host: node.host, serviceId: node.serviceId },
          { undelete: true, hypervisorHostname: node.hypervisorHostname },
        );
      }
      const id = this.#unique(identity, () =>
        this.#table.insert({ ...resources, ...identity, mapped: 0, createdAt: clock.now() }),
      );
      changes.changed("compute_node", id);
      return this.#existing(id, false);
    });
  }

  save(
    id: number,
    values: ComputeNodeChanges,
    options: { readonly undelete?: boolean; readonly hypervisorHostname?: string } = {},
  ): ComputeNode {
    const { sql, clock, changes } = this.#context;
    return sql.transaction(() => {
      const found = this.#existing(id, options.undelete ?? false);
      if ("uuid" in values && values.uuid !== found.uuid) {
        throw new InvalidNodeConfiguration(
          `compute node ${id} has uuid ${found.uuid}, which never changes; found another one: ${values.uuid}`,
          { id, uuid: found.uuid },
        );
      }
      const hypervisorHostname = options.hypervisorHostname ?? found.hypervisorHostname;
      const identity = { host: values.host ?? found.host, hypervisorHostname };
      this.#unique(identity, () =>
        this.#table.update(
          id,
          { ...values, hypervisorHostname, updatedAt: clock.now() },
          options.undelete ? { deleted: 0, deleted_at: null } : {},
        ),
      );
      changes.changed("compute_node", id);
      return this.#existing(id, false);
    });
  }

  destroy(id: number, host: string): boolean {
    const { sql, clock, changes } = this.#context;
    return sql.transaction(() => {
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
    });
  }

  #existing(id: number, readDeleted: boolean): ComputeNode {
    const node = this.#first(this.#read("id = ? AND (deleted = 0 OR ?)", id, readDeleted ? 1 : 0));
    if (!node) {
      throw new ComputeHostNotFound(`compute node ${id} was not found: it never existed or was deleted`, { id });
    }
    return node;
  }

  #refuseNameOfOtherHost({ host, hypervisorHostname }: NewComputeNode): void {
    const other = this.byHypervisorHostname(hypervisorHostname).find((node) => node.host !== host);
    if (!other) {
      return;
    }
    throw new DuplicateRecord(
      `hypervisor ${hypervisorHostname} is compute node ${other.uuid} of host ${other.host}; host ${host} cannot have it too`,
      { host, hypervisorHostname, uuid: other.uuid, takenBy: other.host },
    );
  }

  #unique<T>(identity: { readonly host: string; readonly hypervisorHostname: string }, write: () => T): T {
    try {
      return write();
    } catch (error) {
      if (!(error instanceof DuplicateRecord)) {
        throw error;
      }
      const { host, hypervisorHostname } = identity;
      const holder = this.getByHostAndNode(host, hypervisorHostname);
      throw new DuplicateRecord(
        `host ${host} already has a compute node ${hypervisorHostname}, with uuid ${holder?.uuid}`,
        { host, hypervisorHostname, uuid: holder?.uuid },
      );
    }
  }

  #first(nodes: readonly ComputeNode[]): ComputeNode | null {
    return nodes[0] ?? null;
  }

  #read(condition: string, ...values: SqlValue[]): ComputeNode[] {
    return this.#table.many(condition, ...values).map((node) => this.#withRatios(node));
  }

  /** No reader may get a ratio of 0 or NULL: Placement refuses it for ever (bug 1789654). */
  #withRatios(node: ComputeNode): ComputeNode {
    const missing = Object.entries(this.#ratios).filter(([ratio]) => !node[ratio as keyof DefaultRatios]);
    if (missing.length === 0) {
      return node;
    }
    const ratios: Partial<DefaultRatios> = Object.fromEntries(missing);
    this.#table.update(node.id, ratios);
    return { ...node, ...ratios };
  }
}
