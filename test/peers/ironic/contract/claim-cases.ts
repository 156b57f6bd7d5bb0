import { randomUUID } from "node:crypto";
import { expect } from "vitest";
import {
  available,
  type ContractCase,
  claim,
  enrolled,
  get,
  patch,
  put,
  settled,
  type TestNode,
  until,
} from "./client.js";

export const CLAIM_CASES: readonly ContractCase[] = [
  {
    name: "a node that has an instance is not claimed again, also not for the same instance at another node",
    run: async (client) => {
      const [one, other] = [await enrolled(client), await enrolled(client)];
      const instance = randomUUID();
      expect((await patch(client, one.path, claim(instance))).status).toBe(200);
      const taken = await patch(client, one.path, claim(randomUUID()));
      expect([taken.status, taken.fault]).toEqual([409, `Node ${one.uuid} is associated with instance ${instance}.`]);
      const elsewhere = await patch(client, other.path, claim(instance));
      expect([elsewhere.status, elsewhere.fault]).toEqual([
        409,
        `Instance ${instance} is already associated with a node, it cannot be associated with this other node ${other.uuid}`,
      ]);
      expect((await patch(client, one.path, claim(instance))).status).toBe(200);
      expect((await patch(client, one.path, claim(null))).body.instance_uuid).toBeNull();
      expect((await patch(client, other.path, claim(instance))).status).toBe(200);
    },
  },
  {
    name: "of ten claims at once exactly one wins; the others are told of the instance or of the lock",
    run: async (client) => {
      const node = await available(client);
      const instances = Array.from({ length: 10 }, () => randomUUID());
      const replies = await client.sendAll(
        instances.map((instance) => ({ method: "PATCH", path: node.path, body: claim(instance) })),
      );
      const winners = instances.filter((_, index) => replies[index]?.status === 200);
      expect(winners).toHaveLength(1);
      expect((await get(client, node.path)).body.instance_uuid).toBe(winners[0]);
      const lost = replies.filter(({ status }) => status !== 200);
      const associated = `Node ${node.uuid} is associated with instance ${winners[0]}.`;
      // The real Ironic reads the lock's holder after it has failed to lock. The lock may be free again by then:
      // "None".
      const locked = ["localhost", "None"].map(
        (host) => `Node ${node.uuid} is locked by host ${host}, please retry after the current operation is completed.`,
      );
      const faults = new Set(lost.map(({ status, fault }) => `${status} ${fault}`));
      expect(
        [...faults].filter((text) => ![associated, ...locked].map((fault) => `409 ${fault}`).includes(text)),
      ).toEqual([]);
      expect(faults).toContain(`409 ${associated}`);
    },
  },
  {
    name: "of two deploys at once one is accepted",
    run: async (client) => {
      const node = await available(client);
      const request = {
        method: "PUT",
        path: `${node.path}/states/provision`,
        body: { target: "active" },
      } as const;
      const replies = await client.sendAll([request, request]);
      expect(replies.map(({ status }) => status).filter((status) => status === 202)).toHaveLength(1);
      expect([400, 409]).toContain(replies.find(({ status }) => status !== 202)?.status);
      await until(client, node, settled("active"));
      expect((await put(client, `${node.path}/states/provision`, { target: "deleted" })).status).toBe(202);
    },
  },
  {
    name: "twenty nodes are deployed and torn down at the same time, each for its own instance",
    run: async (client) => {
      const shard = `s-${randomUUID().slice(0, 8)}`;
      const nodes: TestNode[] = [];
      for (let index = 0; index < 20; index += 1) {
        nodes.push(await enrolled(client, { shard }));
      }
      const reach = async (target: string, state: string) => {
        const requests = nodes.map(
          ({ path }) => ({ method: "PUT", path: `${path}/states/provision`, body: { target } }) as const,
        );
        expect((await client.sendAll(requests)).map(({ status }) => status)).toEqual(nodes.map(() => 202));
        const path = `/v1/nodes?shard=${shard}&fields=provision_state,reservation`;
        for (;;) {
          const found = (await get(client, path)).body.nodes as Readonly<Record<string, unknown>>[];
          if (found.every((node) => node.provision_state === state && node.reservation === null)) {
            return;
          }
          expect(found.filter((node) => String(node.provision_state).endsWith("failed"))).toEqual([]);
          await client.wait();
        }
      };
      await reach("manage", "manageable");
      await reach("provide", "available");
      const instances = nodes.map(() => randomUUID());
      const claims = nodes.map(
        ({ path }, index) => ({ method: "PATCH", path, body: claim(instances[index] ?? null) }) as const,
      );
      expect((await client.sendAll(claims)).map(({ status }) => status)).toEqual(nodes.map(() => 200));
      await reach("active", "active");
      const list = (await get(client, `/v1/nodes?shard=${shard}&fields=instance_uuid`)).body.nodes;
      expect(list).toMatchObject(instances.map((instance) => ({ instance_uuid: instance })));
      await reach("deleted", "available");
      expect((await get(client, `/v1/nodes?shard=${shard}&associated=true`)).body).toEqual({ nodes: [] });
    },
  },
];
