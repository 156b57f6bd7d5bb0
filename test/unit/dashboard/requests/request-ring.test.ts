import { expect, it } from "vitest";
import type { HandledRequest, RequestListener } from "../../../../src/control-plane/request-log/request-log.js";
import { RequestRing } from "../../../../src/dashboard/request-ring.js";
import type { RequestRow } from "../../../../src/dashboard/wire/rows.js";
import { createVirtualRuntime } from "../../../../src/simulation/virtual-world.js";
import { aCaller } from "../../../fixtures/world/caller.js";

const JSON_TYPE = { "content-type": "application/json" };

function openRing() {
  const listeners = new Set<RequestListener>();
  const runtime = createVirtualRuntime();
  const ring = new RequestRing({
    inside: {
      onRequest: (listener) => {
        listeners.add(listener);
        return () => listeners.delete(listener);
      },
    },
    runtime,
  });
  const hear = (
    request: Partial<HandledRequest["request"]>,
    body = "",
    { status = 202, project }: { readonly status?: number; readonly project?: string } = {},
  ) => {
    for (const listener of listeners) {
      listener({
        mount: "/compute",
        request: { method: "POST", path: "/v2.1/servers", query: "", headers: {}, body: "", ...request },
        response: { status, headers: { ...JSON_TYPE, "x-openstack-request-id": "req-1" }, body },
        caller: project === undefined ? undefined : aCaller({ userName: "ada", projectName: project }),
        milliseconds: 2.34,
      });
    }
  };
  const rows = () => [...ring.rows()].map(({ value }) => value as RequestRow);
  return { ring, hear, runtime, rows, listeners };
}

it("records requests from the start, and publishes those that arrive while a viewer follows", async () => {
  const { ring, hear, runtime, rows, listeners } = openRing();
  hear({ path: "/before" }, "{}", { project: "demo" });
  await runtime.advance(1_000);
  expect([ring.feed.seq, rows()]).toMatchObject([
    0,
    [
      {
        service: "compute-api",
        path: "/compute/before",
        status: 202,
        ms: 2.3,
        user: "ada",
        project: "demo",
        requestId: "req-1",
      },
    ],
  ]);
  ring.follow();
  hear({ path: "/meanwhile" });
  await runtime.advance(100);
  expect(ring.feed.after(0)).toMatchObject([{ set: [{ value: { path: "/compute/meanwhile" } }], gone: [] }]);
  ring.unfollow();
  hear({ path: "/after" });
  await runtime.advance(1_000);
  expect(ring.feed.after(0)).toBeUndefined();
  expect(rows().map(({ path }) => path)).toEqual(["/compute/before", "/compute/meanwhile", "/compute/after"]);
  ring.close();
  expect(listeners.size).toBe(0);
});

it("removes secrets from paths, request bodies and response bodies, before anybody reads them", async () => {
  const { ring, hear, runtime, rows } = openRing();
  const body = JSON.stringify({
    auth: { password: "hunter2-secret" },
    server: {
      name: "vm",
      adminPass: "hunter2-secret",
      user_data: "aHVudGVyMi1zZWNyZXQ=",
      personality: [{ contents: "aHVudGVyMi1" }],
    },
    password: "22222222-2222-4222-8222-222222222222",
  });
  hear(
    {
      path: "/v3/tokens/hunter2-secret",
      query: "token=hunter2-secret",
      body,
      headers: { ...JSON_TYPE, "x-auth-token": "gAAAA-hunter2" },
    },
    JSON.stringify({ adminPass: "hunter2-secret", id: "one" }),
  );
  await runtime.advance(1_000);
  const rendered = JSON.stringify([rows(), ring.bodies(rows()[0]?.id ?? "")]);
  for (const secret of ["hunter2", "aHVudGVyMi1", "22222222"]) {
    expect(rendered).not.toContain(secret);
  }
  expect(rendered).toContain("vm");
});

it("keeps the last 500 requests of clients, however many the services send", () => {
  const { hear, rows } = openRing();
  hear({ path: "/first" }, "{}", { project: "demo" });
  hear({ path: "/second" });
  for (let number = 0; number < 3_000; number += 1) {
    hear({ method: "GET", path: `/service/${number}` }, "{}", { project: "service" });
  }
  const isOfService = ({ project }: RequestRow) => project === "service";
  expect(rows().filter(isOfService).at(-1)?.path).toBe("/compute/service/2999");
  expect([rows().filter(isOfService).length, rows().length]).toEqual([500, 502]);
  for (let number = 0; number < 499; number += 1) {
    hear({ path: `/client/${number}` });
  }
  expect(
    rows()
      .filter((row) => !isOfService(row))
      .map(({ path }) => path)
      .slice(0, 2),
  ).toEqual(["/compute/second", "/compute/client/0"]);
});

it("keeps a megabyte of the last bodies, none that is long or not JSON, and all of the requests", async () => {
  const { ring, hear, runtime, rows } = openRing();
  hear({ body: "not json" }, "x".repeat(100_000));
  expect(ring.bodies(rows()[0]?.id ?? "")).toMatchObject({ body: null, answer: null });
  for (let count = 0; count < 100; count += 1) {
    hear({}, JSON.stringify("x".repeat(50_000)));
    await runtime.advance(1_000);
  }
  const withBodies = rows().filter(({ id }) => ring.bodies(id)?.answer !== null);
  expect([rows().length, withBodies.length, withBodies.at(-1)?.id]).toEqual([101, 20, rows().at(-1)?.id]);
});

it("keeps the bodies of failures and changes if more arrive at a time than it can clear of secrets", async () => {
  const { ring, hear, runtime, rows } = openRing();
  const body = JSON.stringify("x".repeat(40_000));
  hear({ method: "GET", path: "/failed" }, body, { status: 500, project: "service" });
  hear({ path: "/change" }, body);
  for (let count = 0; count < 80; count += 1) {
    hear({ method: "GET", path: "/list" }, body);
  }
  await runtime.advance(1_000);
  const hasBodies = ({ id }: RequestRow) => ring.bodies(id)?.answer !== null;
  expect(rows().filter(hasBodies).length).toBe(6);
  expect(
    rows()
      .filter(({ path }) => path !== "/compute/list")
      .map(hasBodies),
  ).toEqual([true, true]);
  expect(rows().at(-1)).toSatisfy(hasBodies);
});

it("records each id that a request is about once, up to a limit", () => {
  const { hear, rows } = openRing();
  const uuid = (n: number) => `00000000-0000-4000-8000-${String(n).padStart(12, "0")}`;
  hear({ body: JSON.stringify({ server: { id: uuid(1) } }) }, JSON.stringify({ ids: [uuid(1), uuid(2)] }));
  hear({}, JSON.stringify(Array.from({ length: 50 }, (_, n) => uuid(n))));
  const about = rows().map((row) => row.about);
  expect([about[0], about[1]?.length]).toEqual([[uuid(1), uuid(2)], 20]);
});
