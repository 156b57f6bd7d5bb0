import { describe, expect, test } from "vitest";
import { ROOT } from "../../../unit/control-plane/compute/api-world.js";
import { type RecordedCall, recordedCalls } from "../../../unit/control-plane/compute/recorded-calls.js";
import { replayWorld } from "../../../unit/control-plane/compute/replay-world.js";

/** URL and project of the recorded Nova. */
const RECORDED_ROOT = "http://127.0.0.1:18113";
const RECORDED_PROJECT = "f7714ea72def4a1a9cbc6d78bcbb926e";

/** Replaces values that differ between deployments: ids, times, passwords. */
function normalised(body: unknown): unknown {
  const text = JSON.stringify(body ?? null)
    .replaceAll(RECORDED_ROOT, `${ROOT}/compute`)
    .replaceAll(/"[0-9a-f]{32}"/g, '"<id>"')
    .replaceAll(/"hostId": ?"[0-9a-f]{56}"/g, '"hostId":"<hash>"')
    .replaceAll(/"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}"/g, '"<time>"')
    .replaceAll(/"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ"/g, '"<second>"')
    .replaceAll(/[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}/g, "<uuid>")
    .replaceAll(/"instance-[0-9a-f]{8}"/g, '"instance-<number>"')
    .replaceAll(/("adminPass": ?)"[^"]{12}"/g, '$1"<password>"')
    .replaceAll(/"id":\d+/g, '"id":"<number>"')
    .replaceAll(/migrations\/\d+/g, "migrations/<number>");
  return JSON.parse(text);
}

/** Returns the recorded body with the intended differences. */
function expected(call: RecordedCall): unknown {
  const body = structuredClone(call.response_body) as Record<string, Record<string, unknown>> | null;
  // The recorded Nova was Zed.
  if (body?.version) {
    Object.assign(body.version, { version: "2.96" });
  }
  return body;
}

describe("recorded calls of the real clients", () => {
  const calls = recordedCalls("compute");

  test.each(
    calls.map((call, index) => [`${call.method} ${call.path} ${call.status} (${call.recording} ${index})`, call]),
  )("%s", async (_name, call) => {
    const world = await replayWorld(call);
    const reply = await world.ask({
      method: call.method,
      url: `/compute${call.path.replace(RECORDED_PROJECT, world.projectId("admin"))}`,
      headers: call.request_headers,
      ...(call.request_body === null ? {} : { body: call.request_body }),
    });
    expect(reply.status, reply.body).toBe(call.status);
    const { location, ...headers } = call.response_headers;
    expect(reply.headers).toMatchObject(headers);
    expect(reply.headers.location !== undefined).toBe(location !== undefined);
    expect(reply.headers["x-compute-request-id"]).toMatch(/^req-[0-9a-f-]{36}$/);
    expect(reply.headers["x-openstack-request-id"]).toBe(reply.headers["x-compute-request-id"]);
    expect(normalised(reply.json())).toEqual(normalised(expected(call)));
  });
});
