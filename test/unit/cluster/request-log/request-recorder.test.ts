import { expect, it } from "vitest";
import type { Credentials } from "../../../../src/cluster/credentials.js";
import { RequestRecorder } from "../../../../src/cluster/request-log/request-recorder.js";
import type { AnsweredRequest, RequestListener } from "../../../../src/cluster/request-log/watched-requests.js";
import { withoutHiddenFields, withoutSecretFields } from "../../../../src/cluster/request-log/without-secrets.js";
import { createVirtualRuntime } from "../../../../src/simulation/create-virtual-runtime.js";
import { ADMINISTRATOR } from "../../../fixtures/world/administrator.js";

function begin() {
  const world = createVirtualRuntime();
  const people: Readonly<Record<string, Credentials>> = {
    admin: ADMINISTRATOR,
    nova: { ...ADMINISTRATOR, userName: "nova", projectName: "service" },
  };
  const listeners: RequestListener[] = [];
  const recorder = new RequestRecorder(
    world.clock,
    (token) => people[token],
    (listener) => void listeners.push(listener),
  );
  const hear = (more: Partial<AnsweredRequest["request"]> = {}, answer = "", mount = "/compute") =>
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
      response: { status: 200, headers: {}, body: answer },
      milliseconds: 5,
    });
  return { world, recorder, hear };
}

it("keeps what clients ask while somebody asks for it, and forgets it when nobody does any more", async () => {
  const { world, recorder, hear } = begin();
  hear();
  expect(recorder.take().events).toEqual([]);
  hear({ query: "password=x&limit=1" }, '{"servers":[]}');
  recorder.note(["host", "kill", "h1"]);
  expect(recorder.take()).toEqual({
    events: [
      expect.objectContaining({
        user: "admin",
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

it("leaves out services, strangers and requests for tokens, and bodies that are no JSON", () => {
  const { recorder, hear } = begin();
  recorder.take();
  hear({ headers: { "x-auth-token": "nova" } });
  hear({ headers: {} });
  hear({ path: "/v3/auth/tokens" }, "", "/identity");
  hear({}, "", "");
  hear({ method: "PUT", headers: { "x-auth-token": "admin", "content-type": "application/octet-stream" }, body: "x" });
  expect(recorder.take().events).toEqual([expect.objectContaining({ left: expect.any(String) })]);
});

it("has room for so much, in parts that a frame can carry, and counts what it had none for", () => {
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

it("no text is kept that its name calls a secret, and what stands for it is not asked with", () => {
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
  expect(withoutHiddenFields(hidden)).toEqual({
    server: { name: "n" },
    keypair: { public_key: "e" },
    application_credential: { roles: [{ id: "r" }] },
    user: { password_expires_at: null },
  });
});
