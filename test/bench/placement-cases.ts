import {
  aggregateUuid,
  allocation,
  consumerUuid,
  inventories,
  providerName,
  providerUuid,
  type World,
} from "./placement-data.js";
import { Connection, type Shot } from "./placement-http.js";

export interface Case {
  readonly name: string;
  readonly kind: "read" | "write";
  /** Creates the data that the requests need. `width` is the number of connections. */
  prepare(url: string, world: World, width: number): Promise<Shot>;
}

const CANDIDATES = "/allocation_candidates?resources=VCPU:1,MEMORY_MB:512,DISK_GB:1";

function read(name: string, path: (world: World, worker: number, turn: number) => string): Case {
  return {
    name,
    kind: "read",
    prepare: async (_url, world) => (connection, worker, turn) => connection.send("GET", path(world, worker, turn)),
  };
}

async function number(url: string, path: string, key: string): Promise<number> {
  const connection = new Connection(url);
  const { body } = await connection.send("GET", path);
  connection.close();
  return Number((JSON.parse(body) as Record<string, unknown>)[key]);
}

/** Number of the next new consumer, shared by all measurements so that none is used twice. */
let fresh = 1 << 24;

export const CASES: readonly Case[] = [
  read("GET candidates", () => CANDIDATES),
  read("GET candidates, limit=1000", () => `${CANDIDATES}&limit=1000`),
  read("GET candidates, limit=50", () => `${CANDIDATES}&limit=50`),
  read(
    "GET candidates, required, member_of, limit=50",
    (_world, _worker, turn) =>
      `${CANDIDATES}&required=HW_CPU_X86_AVX2,!HW_CPU_X86_AVX&member_of=in:${aggregateUuid(turn % 3)},${aggregateUuid(5)}&limit=50`,
  ),
  read(
    "GET inventories",
    (world, worker, turn) => `/resource_providers/${providerUuid((turn * 13 + worker) % world.providers)}/inventories`,
  ),
  read(
    "GET resource_providers?name=",
    (world, worker, turn) => `/resource_providers?name=${providerName((turn * 13 + worker) % world.providers)}`,
  ),
  {
    name: "PUT allocations, known consumer",
    kind: "write",
    prepare: async (url, world, width) => {
      const generations = new Map<number, number>();
      for (let n = 0; n < width * 20; n += 1) {
        generations.set(n, await number(url, `/allocations/${consumerUuid(n)}`, "consumer_generation"));
      }
      return async (connection, worker, turn) => {
        const n = worker * 20 + (turn % 20);
        const generation = generations.get(n) ?? 0;
        const body = allocation(n, world, generation, 1 + (turn % 3));
        const response = await connection.send("PUT", `/allocations/${consumerUuid(n)}`, body);
        if (response.status === 204) {
          generations.set(n, generation + 1);
        }
        return response;
      };
    },
  },
  {
    name: "PUT allocations, new consumer",
    kind: "write",
    prepare: async (_url, world) => (connection) => {
      fresh += 1;
      return connection.send("PUT", `/allocations/${consumerUuid(fresh)}`, allocation(fresh, world, null, 1));
    },
  },
  {
    name: "PUT inventories",
    kind: "write",
    prepare: async (url, _world, width) => {
      const generations = new Map<number, number>();
      for (let n = 0; n < width * 20; n += 1) {
        generations.set(n, await number(url, `/resource_providers/${providerUuid(n)}`, "generation"));
      }
      return async (connection, worker, turn) => {
        const n = worker * 20 + (turn % 20);
        const generation = generations.get(n) ?? 0;
        const body = { resource_provider_generation: generation, inventories: inventories(turn % 7) };
        const response = await connection.send("PUT", `/resource_providers/${providerUuid(n)}/inventories`, body);
        if (response.status === 200) {
          generations.set(n, generation + 1);
        }
        return response;
      };
    },
  },
];
