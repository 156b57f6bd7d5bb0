import { expect } from "vitest";
import {
  type ContractCase,
  createImageWithData,
  expectFault,
  expectStatus,
  newImage,
  patchOf,
  type Who,
} from "./client.js";

const many = (count: number) => Array.from({ length: count }, (_, at) => `x${at}`);

const CREATE: readonly (readonly [body: unknown, status: number, words: string])[] = [
  [{ name: 5 }, 400, "Provided object does not match schema 'image': 5 is not of type"],
  [{ disk_format: "wrong" }, 400, "'wrong' is not one of [None, 'ami', 'ari', 'aki', 'vhd', 'vhdx', 'vmdk', 'raw'"],
  [{ container_format: "wrong" }, 400, "'wrong' is not one of [None, "],
  [{ id: "abc" }, 400, "'abc' does not match '^([0-9a-fA-F]){8}-"],
  [{ min_disk: -1 }, 400, "Invalid value '-1' for parameter 'min_disk': Cannot be a negative value"],
  [{ a: 1 }, 400, "1 is not of type 'string'"],
  [{ status: "active" }, 403, "Attribute 'status' is read-only."],
  [{ self: "x" }, 403, "Attribute 'self' is read-only."],
  [{ locations: [] }, 403, "Attribute 'locations' is reserved."],
  [{ os_glance_x: "x" }, 403, "Attribute 'os_glance_x' is reserved."],
  [{ visibility: "public" }, 403, "You are not authorized to complete publicize_image action."],
  [{ owner: "zz" }, 403, "You are not permitted to create images owned by 'zz'."],
  [{ tags: many(129) }, 413, "number of allowed image tags. Attempted: 129, Maximum: 128"],
  [Object.fromEntries(many(129).map((name) => [name, ""])), 413, "Attempted: 129, Maximum: 128"],
];

const PATCH: readonly (readonly [change: unknown, status: number, words: string])[] = [
  [{ op: "replace", path: "/status", value: "x" }, 403, "Attribute 'status' is read-only."],
  [{ op: "replace", path: "/nope", value: "x" }, 409, "Property nope does not exist."],
  [{ op: "remove", path: "/nope" }, 409, "Property nope does not exist."],
  [{ op: "remove", path: "/name" }, 403, "Property name may not be removed."],
  [{ op: "move", path: "/name" }, 400, "Invalid operation: `move`. It must be one of the following: add, remove,"],
  [{ path: "/name" }, 400, "Unable to find `op` in JSON Schema change."],
  [{ op: "add", value: 1 }, 400, "Unable to find 'path' in JSON Schema change"],
  [{ op: "add", path: "/a/b", value: "x" }, 400, "Invalid JSON pointer for this resource: '/a/b'"],
  [{ op: "add", path: "a", value: "x" }, 400, 'Pointer `a` does not start with "/".'],
  [{ op: "add", path: "/a//b", value: "x" }, 400, 'contains adjacent "/".'],
  [{ op: "add", path: "/a~2", value: "x" }, 400, "not part of a recognized escape sequence."],
  [{ op: "add", path: "/os_glance_a", value: "x" }, 403, "Attribute 'os_glance_a' is reserved."],
  [{ op: "add", path: "/deleted", value: "x" }, 403, "Attribute 'deleted' is reserved."],
  [{ op: "replace", path: "/owner", value: "x" }, 403, "Owner can't be updated by non admin."],
  [{ op: "replace", path: "/visibility", value: "public" }, 403, "publicize_image"],
  [{ op: "replace", path: "/min_disk", value: -4 }, 400, "Cannot be a negative value"],
  [{ op: "add", path: "/q" }, 400, 'Operation "add" requires a member named "value".'],
  [1, 400, "Operations must be JSON objects."],
];

const LIST: readonly (readonly [query: string, words: string])[] = [
  ["limit=x", "limit param must be an integer"],
  ["limit=-1", "limit param must be positive"],
  ["marker=nope", "No image found with ID nope"],
  [
    "sort=x",
    "Invalid sort key: x. It must be one of the following: name, status, container_format, disk_format, size,",
  ],
  ["sort_key=name&sort_dir=up", "Invalid sort direction: up"],
  ["sort=name&sort_key=id", "Old and new sorting syntax cannot be combined"],
  ["visibility=zz", "Invalid visibility value: zz"],
  ["member_status=zz", "Invalid status: zz"],
  ["os_hidden=zz", "Invalid value 'zz' for 'os_hidden' filter. Valid values are 'true' or 'false'."],
  ["protected=zz", "Invalid value 'zz' for 'protected' filter."],
  ["size_min=a", "Unable to filter on a range with a non-numeric value."],
  ["created_at=x", 'Bad "created_at" query filter format. Use ISO 8601 DateTime notation.'],
  ["created_at=foo:2020-01-01T00:00:00Z", "Unable to filter on a unknown operator."],
  ["name=foo:a", "Unable to filter by unknown operator 'foo'."],
];

/** Returns the names in a list that begin with `mine`, the prefix of the case's own images. */
async function names(client: Parameters<ContractCase["run"]>[0], who: Who, query: string, mine: string) {
  const { images } = await expectStatus(client, 200, [who, "GET", `/v2/images?${query}`]);
  return (images as { name: string }[]).map(({ name }) => name).filter((name) => name?.startsWith(mine));
}

export const IMAGE_CASES: readonly ContractCase[] = [
  {
    name: "an image that cannot be is refused, with words that say why",
    run: async (client) => {
      for (const [body, status, words] of CREATE) {
        await expectFault(client, status, words, ["demo", "POST", "/v2/images"], { body });
      }
    },
  },
  {
    name: "a patch that cannot be is refused, with words that say why",
    run: async (client) => {
      const id = await newImage(client, "demo");
      for (const [change, status, words] of PATCH) {
        await expectFault(client, status, words, ["demo", "PATCH", `/v2/images/${id}`], patchOf([change]));
      }
      const path = `/v2/images/${id}`;
      await expectFault(client, 400, "must be a JSON array", ["demo", "PATCH", path], patchOf({ op: 1 }));
      await expectStatus(client, 415, ["demo", "PATCH", path], { body: [] });
      await expectFault(client, 404, `No image found with ID ${id}`, ["alt", "PATCH", path], patchOf([]));
    },
  },
  {
    name: "both drafts of patches change attributes and properties",
    run: async (client) => {
      const path = `/v2/images/${await newImage(client, "demo", { a: "1" })}`;
      const first = [
        { op: "replace", path: "/a", value: "2" },
        { op: "add", path: "/b~1c", value: "3" },
        { op: "add", path: "/tags", value: ["y", "x", "y"] },
      ];
      const image = await expectStatus(client, 200, ["demo", "PATCH", path], patchOf(first));
      expect(image).toMatchObject({ a: "2", "b/c": "3" });
      // Glance stores tags as a set, so their order depends on its process's hashes.
      expect([...(image.tags as string[])].sort()).toEqual(["x", "y"]);
      await expectStatus(client, 200, ["demo", "PATCH", path], patchOf([{ add: "/d", value: "4" }], 0));
      await expectFault(
        client,
        409,
        "d already present",
        ["demo", "PATCH", path],
        patchOf([{ add: "/d", value: "" }], 0),
      );
    },
  },
  {
    name: "a list is filtered, sorted and cut into pages",
    run: async (client) => {
      const mine = await newImage(client, "demo");
      for (const [name, tags] of [
        ["b", ["p", "q"]],
        ["a", ["p"]],
        ["c", []],
      ] as const) {
        await newImage(client, "demo", { name: `${mine}-${name}`, tags, case: mine });
      }
      const of = (query: string) => names(client, "demo", `case=${mine}&${query}`, mine);
      expect(await of("sort=name:asc")).toEqual([`${mine}-a`, `${mine}-b`, `${mine}-c`]);
      expect(await of("sort_key=name&sort_dir=desc&limit=2")).toEqual([`${mine}-c`, `${mine}-b`]);
      expect(await of("tag=p&sort=name:asc")).toEqual([`${mine}-a`, `${mine}-b`]);
      expect(await of("tag=p&tag=q")).toEqual([`${mine}-b`]);
      expect(await of(`name=in:${mine}-a,${mine}-c&sort=name:asc`)).toEqual([`${mine}-a`, `${mine}-c`]);
      expect(await of("status=active")).toEqual([]);
      const page = await expectStatus(client, 200, ["demo", "GET", `/v2/images?case=${mine}&sort=name:asc&limit=2`]);
      const [, second] = page.images as { id: string }[];
      const query = `case=${mine}&sort=name%3Aasc&limit=2`;
      expect(page).toMatchObject({ first: `/v2/images?${query}`, next: `/v2/images?${query}&marker=${second?.id}` });
    },
  },
  {
    name: "a list that cannot be is refused, with words that say why",
    run: async (client) => {
      for (const [query, words] of LIST) {
        await expectFault(client, 400, words, ["demo", "GET", `/v2/images?${query}`]);
      }
    },
  },
  {
    name: "hidden images and others' community ones are listed for who asks for them",
    run: async (client) => {
      const mine = await newImage(client, "demo", { os_hidden: true });
      await newImage(client, "demo", { name: `${mine}-community`, visibility: "community" });
      expect(await names(client, "alt", "", mine)).toEqual([]);
      expect(await names(client, "demo", "", mine)).toEqual([`${mine}-community`]);
      expect(await names(client, "alt", "visibility=community", mine)).toEqual([`${mine}-community`]);
      await newImage(client, "demo", { name: `${mine}-hidden`, os_hidden: true });
      expect(await names(client, "demo", "os_hidden=true", mine)).toEqual([`${mine}-hidden`]);
    },
  },
  {
    name: "tags come and go",
    run: async (client) => {
      const path = `/v2/images/${await newImage(client, "demo")}`;
      await expectStatus(client, 204, ["demo", "PUT", `${path}/tags/t`]);
      expect((await expectStatus(client, 200, ["demo", "GET", path])).tags).toEqual(["t"]);
      await expectStatus(client, 204, ["demo", "DELETE", `${path}/tags/t`]);
      await expectStatus(client, 404, ["demo", "DELETE", `${path}/tags/t`]);
      await expectFault(client, 400, "is too long", ["demo", "PUT", `${path}/tags/${"t".repeat(256)}`]);
    },
  },
  {
    name: "what is protected stays, and what is not there is not found",
    run: async (client) => {
      const id = await createImageWithData(client, "demo", { protected: true });
      const path = `/v2/images/${id}`;
      await expectFault(client, 403, `Image ${id} is protected and cannot be deleted.`, ["demo", "DELETE", path]);
      await expectStatus(
        client,
        200,
        ["demo", "PATCH", path],
        patchOf([{ op: "replace", path: "/protected", value: false }]),
      );
      await expectStatus(client, 204, ["demo", "DELETE", path]);
      await expectFault(client, 404, `Failed to find image ${id} to delete`, ["demo", "DELETE", path]);
      await expectFault(client, 404, `No image found with ID ${id}`, ["demo", "GET", path]);
      await expectStatus(client, 404, ["demo", "GET", "/v2/images/"]);
      await expectStatus(client, 404, ["demo", "GET", "/v2/nothing"]);
      await expectStatus(client, 405, ["demo", "PUT", "/v2/images"]);
    },
  },
];
