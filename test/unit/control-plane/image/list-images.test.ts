import { beforeEach, describe, expect, test } from "vitest";
import { ImageWorld } from "./image-world.js";

/** Name of the second base image. */
const DISK = "cirros-0.6.3-x86_64-disk";

let world: ImageWorld;

beforeEach(() => {
  world = new ImageWorld();
});

const list = (query: string) => world.ask("GET", `/v2/images${query}`);

describe("a list of images", () => {
  test("is newest first, in linked pages", async () => {
    for (const name of ["a", "b", "c"]) {
      await world.image({ name });
    }
    const first = await list("?limit=2");
    const names = (first.json("images") as { name: string }[]).map(({ name }) => name);
    expect(first.json("first")).toBe("/v2/images?limit=2");
    const next = String(first.json("next"));
    const second = await world.ask("GET", next);
    expect([...names, ...(second.json("images") as { name: string }[]).map(({ name }) => name)].sort()).toEqual([
      ...["a", "b", "c", "cirros"],
    ]);
    const third = await world.ask("GET", String(second.json("next")));
    expect((third.json("images") as { name: string }[]).map(({ name }) => name)).toEqual([DISK]);
  });

  test("has 25 entries by default", async () => {
    for (let made = 0; made < 30; made += 1) {
      await world.image();
    }
    expect(await world.names()).toHaveLength(25);
    expect(await world.names("?limit=30")).toHaveLength(30);
  });

  test("is in the requested order, with null first", async () => {
    await world.uploadImage({ name: "long" }, "demo", "many bytes");
    await world.uploadImage({ name: "short" }, "demo", "few");
    await world.image({ name: "none" });
    expect(await world.names("?sort=size:asc")).toEqual(["none", DISK, "cirros", "short", "long"]);
    expect(await world.names("?sort_key=size&sort_dir=desc")).toEqual(["long", "short", "cirros", DISK, "none"]);
    expect(await world.names("?sort=container_format:asc,name:desc")).toEqual([
      "short",
      "none",
      "long",
      DISK,
      "cirros",
    ]);
  });

  test("begins after a marker that need not match the filters", async () => {
    const marker = await world.image({ name: "m" });
    await world.image({ name: "z", disk_format: "qcow2" });
    expect(await world.names(`?sort_key=name&sort_dir=asc&disk_format=qcow2&marker=${marker}`)).toEqual(["z"]);
  });

  test("created_at and updated_at match the rendered time, which has no milliseconds", async () => {
    await world.runtime.advance(600);
    const id = await world.image({ name: "late" });
    const reply = await world.ask("GET", `/v2/images/${id}`);
    const [created, updated] = [reply.json("created_at"), reply.json("updated_at")];
    expect(await world.names(`?created_at=${created}&updated_at=eq:${updated}&name=late`)).toEqual(["late"]);
    expect(await world.names(`?created_at=lte:${created}&name=late`)).toEqual(["late"]);
    expect(await world.names(`?created_at=gt:${created}&name=late`)).toEqual([]);
  });

  test.each([
    ["?name=one", ["one"]],
    ["?name=in:one,two", ["two", "one"]],
    ['?name=in:"a,b",one', ["a,b", "one"]],
    ["?status=active&owner=demo", ["two"]],
    ["?tag=x&tag=y", ["one"]],
    ["?size_min=3&size_max=100", ["two"]],
    ["?size=10", ["two"]],
    ["?min_ram=64", ["one"]],
    ["?os_distro=debian", ["two"]],
    ["?protected=true&owner=demo", ["one"]],
    ["?os_hidden=true", ["hidden"]],
    ["?created_at=gt:2030-01-01T00:00:00Z", []],
    ["?created_at=lte:2024-01-01T00:00:00Z", ["cirros", DISK]],
    ["?disk_format=iso", []],
  ])("%s", async (query, names) => {
    await world.image({ name: "one", tags: ["x", "y"], min_ram: 64, protected: true });
    await world.uploadImage({ name: "two", tags: ["x"], os_distro: "debian" });
    await world.image({ name: "a,b" });
    await world.image({ name: "hidden", os_hidden: true });
    expect([...(await world.names(query))].sort()).toEqual([...names].sort());
  });

  test.each([
    ["limit=x", "limit param must be an integer"],
    ["limit=-1", "limit param must be positive"],
    ["marker=nope", "No image found with ID nope"],
    ["sort=x", "Invalid sort key: x. It must be one of"],
    ["sort_key=name&sort_dir=up", "Invalid sort direction: up"],
    ["sort=name&sort_key=id", "Old and new sorting syntax cannot be combined"],
    ["sort_key=name&sort_dir=asc&sort_dir=desc", "Number of sort dirs does not match the number of sort keys"],
    ["visibility=zz", "Invalid visibility value: zz"],
    ["member_status=zz", "Invalid status: zz"],
    ["os_hidden=zz", "Invalid value &#x27;zz&#x27; for &#x27;os_hidden&#x27; filter."],
    ["protected=zz", "Invalid value &#x27;zz&#x27; for &#x27;protected&#x27; filter."],
    ["size_min=a", "Unable to filter on a range with a non-numeric value."],
    ["colour_min=1", "Unable to filter on a range of colour"],
    ["created_at=x", "Bad &quot;created_at&quot; query filter format."],
    ["created_at=foo:2020-01-01T00:00:00Z", "Unable to filter on a unknown operator."],
    ["name=foo:a", "Unable to filter by unknown operator &#x27;foo&#x27;."],
    ['name=in:"a', "The quote is not closed"],
    ["changes-since=1", "filter is no longer available on v2."],
    [Array.from({ length: 201 }, (_, at) => `p${at}=1`).join("&"), "The query has 201 parameters"],
  ])("is rejected with: %.40s", async (query, message) => {
    const reply = await list(`?${query}`);
    expect([reply.status, reply.message]).toEqual([400, expect.stringContaining(message)]);
  });
});

describe("visibility", () => {
  beforeEach(async () => {
    await world.image({ name: "private", visibility: "private" }, "alt");
    await world.image({ name: "shared" }, "alt");
    await world.image({ name: "community", visibility: "community" }, "alt");
    await world.image({ name: "public", visibility: "public" }, "admin");
  });

  test("a project lists its own, public ones, and on request community ones", async () => {
    expect([...(await world.names())].sort()).toEqual(["cirros", DISK, "public"]);
    expect([...(await world.names("?visibility=all"))].sort()).toEqual(["cirros", DISK, "community", "public"]);
    expect(await world.names("?visibility=community")).toEqual(["community"]);
    expect([...(await world.names("", "alt"))].sort()).toEqual([
      "cirros",
      DISK,
      "community",
      "private",
      "public",
      "shared",
    ]);
  });

  test("an administrator lists all, and others' community ones on request", async () => {
    expect([...(await world.names("", "admin"))].sort()).toEqual(["cirros", DISK, "private", "public", "shared"]);
    expect(await world.names("?visibility=private", "admin")).toEqual(["private"]);
  });

  test("a caller without a project lists images that are open to all", async () => {
    expect([...(await world.names("", "unscoped"))].sort()).toEqual(["cirros", DISK, "public"]);
  });
});
