import { type HostStatus, sumOfUsages } from "../../control-plane/local/cluster-status.js";

/** A host, or a provider without one; `nodes`: as many providers as the host has. */
export interface TableRow extends HostStatus {
  readonly nodes: number;
}

/** One row for a host that has many nodes. */
export function groupNodesByHost(rows: readonly HostStatus[]): readonly TableRow[] {
  const table: TableRow[] = [];
  for (const row of rows) {
    const before = table.at(-1);
    if (row.host === null || before?.host !== row.host) {
      table.push({ ...row, nodes: 1 });
    } else {
      const provider = row.provider && before.provider ? added(before.provider, row.provider) : before.provider;
      table[table.length - 1] = {
        ...before,
        provider,
        servers: [...before.servers, ...row.servers],
        nodes: before.nodes + 1,
      };
    }
  }
  return table;
}

type Provider = NonNullable<HostStatus["provider"]>;

const added = (one: Provider, other: Provider): Provider => ({ ...one, usages: sumOfUsages(one.usages, other.usages) });
