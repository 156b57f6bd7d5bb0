import { randomUUID } from "node:crypto";
import { performance } from "node:perf_hooks";
import { Connection } from "./placement-http.js";

/** The smallest inventory of a node's provider. */
const INVENTORY = { total: 1, reserved: 0, min_unit: 1, max_unit: 1, step_size: 1, allocation_ratio: 1 };
const TRAITS = ["COMPUTE_NODE", "OWNER_NOVA"];
const CLASS = "CUSTOM_BENCH";

/**
 * Creates and removes providers with an inventory and traits, with only the three necessary writes each.
 * @param width number of concurrent connections
 * @returns seconds per provider
 */
export async function bareWrites(url: string, providers: number, width: number): Promise<number> {
  const connections = Array.from({ length: width }, () => new Connection(url));
  const uuids = Array.from({ length: providers }, () => randomUUID());
  const [first] = connections;
  if (first) {
    await need(first, "PUT", `/resource_classes/${CLASS}`);
  }
  const all = async (work: (connection: Connection, uuid: string) => Promise<void>) => {
    const left = [...uuids];
    const worker = async (connection: Connection) => {
      for (let uuid = left.pop(); uuid !== undefined; uuid = left.pop()) {
        await work(connection, uuid);
      }
    };
    await Promise.all(connections.map(worker));
  };
  const start = performance.now();
  await all(makeProvider);
  const seconds = (performance.now() - start) / 1000;
  await all((connection, uuid) => need(connection, "DELETE", `/resource_providers/${uuid}`));
  for (const connection of connections) {
    connection.close();
  }
  return seconds / providers;
}

async function makeProvider(connection: Connection, uuid: string): Promise<void> {
  const path = `/resource_providers/${uuid}`;
  await need(connection, "POST", "/resource_providers", { name: uuid, uuid });
  await need(connection, "PUT", `${path}/inventories`, {
    resource_provider_generation: 0,
    inventories: { [CLASS]: INVENTORY },
  });
  await need(connection, "PUT", `${path}/traits`, { resource_provider_generation: 1, traits: TRAITS });
}

async function need(connection: Connection, method: string, path: string, body?: unknown): Promise<void> {
  const response = await connection.send(method, path, body);
  if (response.status >= 300) {
    throw new Error(`${method} ${path}: ${response.status} ${response.body}`);
  }
}
