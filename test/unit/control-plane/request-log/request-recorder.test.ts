import { expect, it } from "vitest";
import { administratorIn } from "../../../../src/conductor-client/methods/cluster.js";
import { withMadeUpSecrets, withoutSecretFields } from "../../../../src/control-plane/request-log/redaction.js";
import type { HandledRequest, RequestListener } from "../../../../src/control-plane/request-log/request-log.js";
import { RequestRecorder } from "../../../../src/control-plane/request-log/request-recorder.js";
import { createVirtualRuntime } from "../../../../src/simulation/virtual-world.js";
import { aCaller } from "../../../fixtures/world/caller.js";

function begin() {
  const world = createVirtualRuntime();
  const callersByToken = new Map([
    ["admin", aCaller()],
    ["nova", aCaller({ userName: "nova", projectName: "service" })],
  ]);
  const listeners: RequestListener[] = [];
  const recorder = new RequestRecorder(
    world.clock,
    ({ credentials }) => administratorIn(credentials.projectName ?? ""),
    (listener) => void listeners.push(listener),
  );
  const hear = (more: Partial<HandledRequest["request"]> = {}, responseBody = "", mount = "/compute") =>
    listeners.at(0)?.({
      mount,
      request: {
        method: "GET",
        path: "/v2.1/servers",
        query: "",
        headers: { "x-auth-token": "admin" },
        body: "",
        ...more,
      },
      response: { status: 200, headers: {}, body: responseBody },
      caller: callersByToken.get(more.headers?.["x-auth-token"] ?? (more.headers ? "" : "admin")),
      milliseconds: 5,
    });
  return { world, recorder, hear };
}

it("records the requests of clients while it is polled, and discards them afterwards", async () => {
  const { world, recorder, hear } = begin();
  hear();
  expect(recorder.take().events).toEqual([]);
  hear({ query: "password=x&limit=1" }, '{"servers":[]}');
  recorder.note(["host", "kill", "h1"]);
  expect(recorder.take()).toEqual({
    events: [
      expect.objectContaining({
        caller: administratorIn("admin"),
        path: "/compute/v2.1/servers?password=****&limit=1",
        body: null,
        answer: { servers: [] },
        at: world.clock.now() - 5,
      }),
      { at: world.clock.now(), run: ["host", "kill", "h1"] },
    ],
    lost: 0,
    more: false,
  });
  hear();
  await world.advance(10_000);
  hear();
  expect(recorder.take().events).toEqual([]);
});

it("skips services, requests for tokens, and bodies that are not JSON or nested too deeply", () => {
  const { recorder, hear } = begin();
  recorder.take();
  const typed = (type: string) => ({ "x-auth-token": "admin", "content-type": type, "content-length": "3" });
  hear({ headers: { "x-auth-token": "nova" } });
  hear({ path: "/v3/auth/tokens" }, "", "/identity");
  hear({}, "", "");
  hear({ method: "PUT", headers: typed("text/plain"), body: "x" });
  hear({ method: "PUT", headers: typed("application/json"), body: "[".repeat(4_000) + "]".repeat(4_000) });
  hear({ method: "PUT", headers: typed("application/octet-stream") });
  expect(recorder.take().events).toEqual([
    expect.objectContaining({ left: expect.any(String) }),
    expect.objectContaining({ left: expect.any(String) }),
    expect.objectContaining({ bytes: 3 }),
  ]);
});

it("records requests to Identity other than those for tokens, and requests of unknown callers", () => {
  const { recorder, hear } = begin();
  recorder.take();
  hear({ path: "/v3/auth/projects" }, "", "/identity");
  hear({ headers: {} });
  hear({ headers: { "x-auth-token": "ended" } });
  expect(recorder.take().events).toEqual([
    expect.objectContaining({ path: "/identity/v3/auth/projects", caller: administratorIn("admin") }),
    expect.objectContaining({ caller: null }),
    expect.objectContaining({ caller: null }),
  ]);
});

it("has a limited capacity, returns parts that fit a frame, and counts lost events", () => {
  const { recorder, hear } = begin();
  recorder.take();
  const long = JSON.stringify({ text: "x".repeat(200_000) });
  for (let count = 0; count < 200; count += 1) {
    hear({}, long);
  }
  let taken = 0;
  let lost = 0;
  for (;;) {
    const part = recorder.take();
    taken += part.events.length;
    lost += part.lost;
    expect(JSON.stringify(part).length).toBeLessThan(2 * 1024 * 1024);
    if (!part.more) {
      break;
    }
  }
  expect([taken + lost, lost > 0]).toEqual([200, true]);
});

it("redacts strings with secret names, and generates replacements for a replay", () => {
  const hidden = withoutSecretFields({
    server: { adminPass: "a", name: "n", user_data: "b", personality: [{ path: "/p", contents: "c" }] },
    keypair: { private_key: "d", public_key: "e" },
    application_credential: { secret: "f", roles: [{ id: "r" }] },
    user: { password: "g", password_expires_at: null },
    tokens: ["h"],
  });
  expect(hidden).toEqual({
    server: { adminPass: "****", name: "n", user_data: "****", personality: [{ path: "****", contents: "****" }] },
    keypair: { private_key: "****", public_key: "e" },
    application_credential: { secret: "****", roles: [{ id: "r" }] },
    user: { password: "****", password_expires_at: null },
    tokens: ["****"],
  });
  expect(withMadeUpSecrets(hidden, (name) => `a ${name}`)).toEqual({
    server: {
      adminPass: "a adminPass",
      name: "n",
      user_data: "a user_data",
      personality: [{ path: "a path", contents: "a contents" }],
    },
    keypair: { private_key: "a private_key", public_key: "e" },
    application_credential: { secret: "a secret", roles: [{ id: "r" }] },
    user: { password: "a password", password_expires_at: null },
    tokens: ["a tokens"],
  });
});
