import { expect, it } from "vitest";
import type { HandledRequest, RequestListener } from "../../../../src/control-plane/request-log/request-log.js";
import { RequestRing } from "../../../../src/dashboard/request-ring.js";
import type { RequestRow } from "../../../../src/dashboard/wire/rows.js";
import { createVirtualRuntime } from "../../../../src/simulation/virtual-world.js";

function openRing() {
  const listeners = new Set<RequestListener>();
  const runtime = createVirtualRuntime();
  const ring = new RequestRing({
    inside: {
      whose: (token) =>
        token === "gAAAA-token"
          ? {
              userId: "u",
              userName: "admin",
              projectId: "p",
              projectName: "demo",
              domainId: "default",
              roles: [],
              systemScope: null,
              expiresAt: 0,
            }
          : undefined,
      onRequest: (listener) => {
        listeners.add(listener);
        return () => listeners.delete(listener);
      },
    },
    runtime,
  });
  const hear = (request: Partial<HandledRequest["request"]>, body = "", headers: Record<string, string> = {}) => {
    for (const listener of listeners) {
      listener({
        mount: "/compute",
        request: { method: "POST", path: "/v2.1/servers", query: "", headers: {}, body: "", ...request },
        response: { status: 202, headers: { "content-type": "application/json", ...headers }, body },
        caller: undefined,
        milliseconds: 2.34,
      });
    }
  };
  const rows = () => [...ring.rows()];
  return { ring, hear, runtime, rows, listeners };
}

it("records requests only between start and stop, publishes them, and discards them at the end", async () => {
  const { ring, hear, runtime, rows, listeners } = openRing();
  hear({});
  expect([rows(), listeners.size]).toEqual([[], 0]);
  ring.begin();
  ring.begin();
  hear({ headers: { "x-auth-token": "gAAAA-token" } }, "{}", { "x-openstack-request-id": "req-1" });
  const [row] = rows();
  expect(row?.value).toMatchObject({
    service: "compute-api",
    path: "/compute/v2.1/servers",
    status: 202,
    ms: 2.3,
    user: "admin",
    project: "demo",
    requestId: "req-1",
  });
  await runtime.advance(50);
  expect(ring.feed.after(0)).toMatchObject([{ set: [row], gone: [] }]);
  ring.end();
  expect([rows(), ring.bodies(row?.key ?? ""), ring.feed.after(0), listeners.size]).toEqual([
    [],
    undefined,
    undefined,
    0,
  ]);
});

it("removes secrets from paths, request bodies and response bodies", () => {
  const { ring, hear, rows } = openRing();
  ring.begin();
  const body = JSON.stringify({
    auth: { password: "hunter2-secret" },
    server: { name: "vm", adminPass: "hunter2-secret" },
  });
  hear(
    {
      path: "/v3/tokens/hunter2-secret",
      query: "token=hunter2-secret",
      body,
      headers: { "content-type": "application/json" },
    },
    JSON.stringify({ adminPass: "hunter2-secret", id: "one" }),
  );
  const rendered = JSON.stringify([rows(), ring.bodies(rows()[0]?.key ?? "")]);
  expect(rendered).not.toContain("hunter2");
  expect(rendered).toContain("vm");
});

it("keeps a megabyte of the last requests, without bodies that are long or not JSON", () => {
  const { ring, hear, rows } = openRing();
  ring.begin();
  hear({ body: "not json" }, "x".repeat(100_000));
  expect(ring.bodies(rows()[0]?.key ?? "")).toMatchObject({ body: null, answer: null });
  for (let count = 0; count < 100; count += 1) {
    hear({}, JSON.stringify("x".repeat(50_000)));
  }
  const retained = rows();
  expect(retained.length).toBeGreaterThan(15);
  expect(retained.length).toBeLessThan(22);
  expect(retained.at(-1)?.key).toMatch(/-101$/);
});

it("records each id that a request is about once, up to a limit", () => {
  const { ring, hear, rows } = openRing();
  ring.begin();
  const uuid = (n: number) => `00000000-0000-4000-8000-${String(n).padStart(12, "0")}`;
  hear({ body: JSON.stringify({ server: { id: uuid(1) } }) }, JSON.stringify({ ids: [uuid(1), uuid(2)] }));
  hear({}, JSON.stringify(Array.from({ length: 50 }, (_, n) => uuid(n))));
  const about = rows().map(({ value }) => (value as RequestRow).about);
  expect([about[0], about[1]?.length]).toEqual([[uuid(1), uuid(2)], 20]);
});
