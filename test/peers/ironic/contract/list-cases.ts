import { randomUUID } from "node:crypto";
import { expect } from "vitest";
import {
  type ContractCase,
  claim,
  enrolled,
  get,
  type IronicClient,
  patch,
  put,
  remove,
  type TestNode,
} from "./client.js";

/** Enrols nodes with a new shard and class. Returns them in the order of enrolment. */
async function several(client: IronicClient, count: number) {
  const shard = `s-${randomUUID().slice(0, 8)}`;
  const nodes: TestNode[] = [];
  for (let index = 0; index < count; index += 1) {
    nodes.push(await enrolled(client, { shard, resource_class: shard }));
  }
  return { shard, nodes, uuids: nodes.map(({ uuid }) => uuid) };
}

function uuidsOf(body: Readonly<Record<string, unknown>>) {
  return (body.nodes as { readonly uuid: string }[]).map(({ uuid }) => uuid);
}

async function list(client: IronicClient, query: string) {
  const { status, body, fault } = await get(client, `/v1/nodes?${query}`);
  expect(status, fault).toBe(200);
  return { uuids: uuidsOf(body), next: body.next as string | undefined };
}

export const LIST_CASES: readonly ContractCase[] = [
  {
    name: "a list shows a few fields, or those asked for, or all",
    run: async (client) => {
      const { shard } = await several(client, 1);
      const keys = async (query: string) => {
        const { body } = await get(client, `/v1/nodes${query}`);
        return Object.keys((body.nodes as object[])[0] ?? {}).sort();
      };
      expect(await keys(`?shard=${shard}`)).toEqual([
        "instance_uuid",
        "links",
        "maintenance",
        "name",
        "power_state",
        "provision_state",
        "uuid",
      ]);
      expect(await keys(`?shard=${shard}&fields=uuid,traits`)).toEqual(["links", "traits", "uuid"]);
      const all = await keys(`/detail?shard=${shard}`);
      expect(all).toContain("driver_internal_info");
      expect(await keys(`?shard=${shard}&detail=true`)).toEqual(all);
    },
  },
  {
    name: "pages follow the order of enrolment; a full last page has a next one, which is empty",
    run: async (client) => {
      const { shard, uuids } = await several(client, 4);
      const query = `shard=${shard}&fields=uuid,shard&limit=2`;
      const first = await list(client, query);
      expect(first.uuids).toEqual(uuids.slice(0, 2));
      const second = await list(client, `${query}&sort_key=id&sort_dir=asc&marker=${first.uuids[1]}`);
      expect(second.uuids).toEqual(uuids.slice(2));
      expect(second.next).toBeDefined();
      const third = await list(client, `${query}&marker=${second.uuids[1]}`);
      expect(third).toEqual({ uuids: [], next: undefined });
      expect((await list(client, `shard=${shard}&sort_dir=desc`)).uuids).toEqual([...uuids].reverse());
    },
  },
  {
    name: "next keeps order, fields and some filters, and loses the others",
    run: async (client) => {
      const { shard, uuids } = await several(client, 1);
      const [uuid] = uuids;
      const query = `shard=${shard}&conductor_group=&resource_class=${shard}&provision_state=enroll&fields=uuid&limit=1`;
      expect((await list(client, query)).next).toBe(
        `${client.root}/v1/nodes?sort_key=id&sort_dir=asc&fields=uuid&limit=1&marker=${uuid}`,
      );
      await put(client, `/v1/nodes/${uuid}/maintenance`, {});
      await patch(client, `/v1/nodes/${uuid}`, claim(randomUUID()));
      const filterQuery = `shard=${shard}&associated=true&maintenance=true&fields=uuid,name&limit=1&sort_key=uuid`;
      expect((await list(client, filterQuery)).next).toBe(
        `${client.root}/v1/nodes?sort_key=uuid&sort_dir=asc&associated=True&maintenance=True&fields=uuid,name&limit=1&marker=${uuid}`,
      );
    },
  },
  {
    name: "a marker that is gone ends the list with 404",
    run: async (client) => {
      const { nodes, shard } = await several(client, 2);
      const [node] = nodes;
      await remove(client, node?.path ?? "");
      const { status, fault } = await get(client, `/v1/nodes?shard=${shard}&marker=${node?.uuid}`);
      expect([status, fault]).toEqual([404, `Node ${node?.uuid} could not be found.`]);
    },
  },
  {
    name: "filters",
    run: async (client) => {
      const { shard, nodes, uuids } = await several(client, 3);
      const [first, second, third] = uuids;
      const instance = randomUUID();
      await patch(client, nodes[0]?.path ?? "", claim(instance));
      await put(client, `${nodes[1]?.path}/maintenance`, {});
      const found = async (query: string) => (await list(client, `shard=${shard}&${query}`)).uuids;
      expect(await found("associated=true")).toEqual([first]);
      expect(await found("associated=False")).toEqual([second, third]);
      expect(await found("maintenance=True")).toEqual([second]);
      expect(await found("maintenance=no&associated=0")).toEqual([third]);
      expect(await found("provision_state=enroll")).toEqual(uuids);
      expect(await found("provision_state=active")).toEqual([]);
      expect(await found(`resource_class=${shard}`)).toEqual(uuids);
      expect(await found("resource_class=other")).toEqual([]);
      expect(await found("conductor_group=")).toEqual(uuids);
      expect(await found("conductor_group=other")).toEqual([]);
      expect(await found("driver=fake-hardware")).toEqual(uuids);
      expect(await found("retired=true")).toEqual([]);
      expect((await list(client, `shard=nothing,${shard}`)).uuids).toEqual(uuids);
      const byInstance = await list(client, `instance_uuid=${instance}&limit=1`);
      expect(byInstance).toEqual({ uuids: [first], next: undefined });
      expect((await list(client, `instance_uuid=${randomUUID()}`)).uuids).toEqual([]);
    },
  },
  {
    name: "filters are 406 below their version",
    run: async (client) => {
      const shard = await get(client, "/v1/nodes?shard=a", "1.81");
      expect([shard.status, shard.fault]).toEqual([
        406,
        "Request not acceptable. The minimal required API version should be 1.82",
      ]);
      expect((await get(client, "/v1/nodes?conductor_group=", "1.45")).status).toBe(406);
      expect((await get(client, "/v1/nodes?resource_class=x", "1.20")).status).toBe(406);
      expect((await get(client, "/v1/nodes?provision_state=active", "1.8")).status).toBe(406);
    },
  },
  {
    name: "questions that make no sense are 400",
    run: async (client) => {
      const rejectionOf = async (query: string) => {
        const { status, fault } = await get(client, `/v1/nodes?${query}`);
        return [status, fault];
      };
      expect(await rejectionOf("limit=0")).toEqual([400, "Limit must be positive"]);
      expect(await rejectionOf("limit=-1")).toEqual([400, "Limit must be positive"]);
      expect(await rejectionOf("limit=x")).toEqual([400, "Expected an integer for limit: x"]);
      expect(await rejectionOf("marker=x")).toEqual([400, "Expected UUID for marker: x"]);
      expect(await rejectionOf("instance_uuid=x")).toEqual([400, "Expected UUID for instance_uuid: x"]);
      expect(await rejectionOf("bogus=1")).toEqual([400, "Unexpected arguments: bogus"]);
      expect(await rejectionOf("sort_key=bogus")).toEqual([
        400,
        'The sort_key value "bogus" is an invalid field for sorting',
      ]);
      expect(await rejectionOf("sort_key=properties")).toEqual([
        400,
        "The sort_key value properties is an invalid field for sorting",
      ]);
      expect(await rejectionOf("sort_dir=up")).toEqual([
        400,
        "Invalid sort direction: up. Acceptable values are 'asc' or 'desc'",
      ]);
      expect(await rejectionOf("provision_state=bogus")).toEqual([400, 'Provision state "bogus" is not valid']);
      expect(await rejectionOf("detail=true&fields=uuid")).toEqual([
        400,
        "Can not specify ?detail=True and fields in the same request.",
      ]);
    },
  },
];
