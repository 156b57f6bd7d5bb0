import { afterEach, beforeEach, expect, it } from "vitest";
import type { RunnableAction } from "../../../src/dashboard/actions.js";
import type { ActionResponse } from "../../../src/dashboard/wire/messages.js";
import { type DashboardHarness, openDashboardHarness } from "../../fixtures/dashboard.js";

const done: string[] = [];
const KILL: RunnableAction = {
  action: {
    name: "host-kill",
    label: "Kill",
    summary: "",
    subject: "host",
    destructive: true,
    fields: [{ name: "host", label: "Host", type: "host", required: true }],
    commands: ["compute-agent host kill {host}"],
  },
  run: async ({ host }) => {
    done.push(String(host));
    return { lines: ["killed"] };
  },
};

let harness: DashboardHarness;
beforeEach(async () => {
  done.length = 0;
  harness = await openDashboardHarness([KILL]);
});
afterEach(() => harness.stop());

const status = async (...request: Parameters<DashboardHarness["ask"]>) => (await harness.ask(...request)).status;

it("a link works once, within a minute, and its cookie is restricted to this dashboard", async () => {
  const made = await harness.ask("/keys", { method: "POST", headers: { authorization: "Bearer join-token" } });
  const { key } = JSON.parse(made.body) as { key: string };
  const first = await harness.ask(`/enter?key=${key}`);
  expect([first.status, first.headers.location]).toEqual([303, "/"]);
  expect(first.headers["set-cookie"]).toMatch(/^compute-window-\d+=[0-9a-f]{64}; HttpOnly; SameSite=Strict; Path=\/$/);
  const again = await harness.ask(`/enter?key=${key}`);
  expect([again.headers.location, again.headers["set-cookie"]]).toEqual(["/?refused", undefined]);
  const late = await harness.ask("/keys", { method: "POST", headers: { authorization: "Bearer join-token" } });
  await harness.world.advance(61_000);
  const entered = await harness.ask(`/enter?key=${(JSON.parse(late.body) as { key: string }).key}`);
  expect(entered.headers["set-cookie"]).toBeUndefined();
});

it("a key is issued only for the join token", async () => {
  for (const authorization of ["Bearer other", "Bearer ", ""]) {
    expect([authorization, await status("/keys", { method: "POST", headers: { authorization } })]).toEqual([
      authorization,
      401,
    ]);
  }
});

it("without a session there are no events, log entries, histories, request bodies or actions", async () => {
  for (const target of ["/events", "/requests", "/logs?host=one", "/servers/one", "/requests/1"]) {
    expect([target, await status(target)]).toEqual([target, 401]);
  }
  expect(await status("/actions/host-kill", { method: "POST", body: '{"host":"one"}' })).toBe(401);
  const old = { cookie: `compute-window-${new URL(harness.url).port}=${"0".repeat(64)}` };
  expect(await status("/events", { headers: old })).toBe(401);
  expect(done).toEqual([]);
});

it("another origin, a page of another site and a rebound DNS name get nothing", async () => {
  const session = await harness.enter();
  const follower = await harness.follow("/events", session);
  await follower.next();
  const headers = { ...session, "x-window-session": follower.hello?.secret ?? "" };
  const foreign = [
    { origin: "http://evil.test" },
    { origin: "null" },
    { origin: harness.url.replace("http:", "https:") },
    { host: "evil.test" },
    { host: `evil.test:${new URL(harness.url).port}` },
    { host: "127.0.0.1:1" },
    { "sec-fetch-site": "cross-site" },
    { "sec-fetch-site": "same-site" },
  ];
  for (const other of foreign) {
    const body = '{"host":"one"}';
    expect([other, await status("/events", { headers: { ...headers, ...other } })]).toEqual([other, 403]);
    const acted = await status("/actions/host-kill", { method: "POST", body, headers: { ...headers, ...other } });
    expect([other, acted]).toEqual([other, 403]);
  }
  expect(await status("/app.js", { headers: { host: "evil.test" } })).toBe(403);
  expect(done).toEqual([]);
  await follower.leave();
});

it("an action needs the secret from the event stream, and its response contains the equivalent command", async () => {
  const session = await harness.enter();
  const follower = await harness.follow("/events", session);
  await follower.next();
  const body = JSON.stringify({ host: "rack 1" });
  const act = (headers: Readonly<Record<string, string>>) =>
    harness.ask("/actions/host-kill", {
      method: "POST",
      body,
      headers: { ...session, origin: harness.url, ...headers },
    });
  expect((await act({})).status).toBe(403);
  expect((await act({ "x-window-session": "0".repeat(64) })).status).toBe(403);
  expect(done).toEqual([]);
  const response = await act({ "x-window-session": follower.hello?.secret ?? "" });
  expect(JSON.parse(response.body) as ActionResponse).toMatchObject({
    ok: true,
    lines: ["killed"],
    commands: ["compute-agent host kill 'rack 1'"],
  });
  expect(done).toEqual(["rack 1"]);
  await follower.leave();
});

it("a read-only session is offered no actions and cannot run any", async () => {
  const session = await harness.enter(true);
  const follower = await harness.follow("/events", session);
  await follower.next();
  expect([follower.hello?.readOnly, follower.hello?.actions]).toEqual([true, []]);
  const headers = { ...session, "x-window-session": follower.hello?.secret ?? "" };
  expect(await status("/actions/host-kill", { method: "POST", body: '{"host":"one"}', headers })).toBe(403);
  expect(done).toEqual([]);
  await follower.leave();
});

it("invalid bodies of actions are rejected before anything is done", async () => {
  const session = await harness.enter();
  const follower = await harness.follow("/events", session);
  await follower.next();
  const headers = { ...session, "x-window-session": follower.hello?.secret ?? "" };
  const bodies = ["", "{", "[]", "1", '{"host":1}', '{"host":"--all"}', '{"host":"a\\nb"}', '{"other":"one"}', "null"];
  for (const body of [...bodies, JSON.stringify({ host: "a".repeat(100_000) }), '{"__proto__":{"host":"one"}}']) {
    expect([body.slice(0, 50), await status("/actions/host-kill", { method: "POST", body, headers })]).toEqual([
      body.slice(0, 50),
      400,
    ]);
  }
  expect(await status("/actions/no-such", { method: "POST", body: "{}", headers })).toBe(404);
  expect(done).toEqual([]);
  await follower.leave();
});

it("a session ends after its lifetime, by request, and with the process; its events end with a reason", async () => {
  const session = await harness.enter();
  const follower = await harness.follow("/events", session);
  await follower.until("ready");
  const ended = await harness.ask("/session", { method: "DELETE", headers: session });
  expect([ended.status, ended.headers["set-cookie"]]).toEqual([204, expect.stringContaining("Max-Age=0")]);
  await follower.until("bye");
  expect(await follower.next()).toBe(false);
  expect(await status("/session", { headers: session })).toBe(401);
  const second = await harness.enter();
  expect(await status("/session", { headers: second })).toBe(204);
  await harness.world.advance(13 * 3_600_000);
  expect(await status("/session", { headers: second })).toBe(401);
});

it("the password of clouds.yaml begins a session, a wrong one does not, and after ten failures logins are rejected", async () => {
  const password = /password: "?([^"\n]+)/.exec(await harness.runtime.files.read("/cluster/clouds.yaml"))?.[1] ?? "";
  const login = (body: unknown) => harness.ask("/session", { method: "POST", body: JSON.stringify(body) });
  const entered = await login({ user: "admin", password });
  expect([entered.status, entered.headers["set-cookie"]]).toEqual([204, expect.stringContaining("HttpOnly")]);
  expect((await login({ user: "admin" })).status).toBe(400);
  for (let wrong = 0; wrong < 10; wrong += 1) {
    expect((await login({ user: "admin", password: "guess" })).status).toBe(401);
  }
  expect((await login({ user: "admin", password })).status).toBe(429);
  await harness.world.advance(61_000);
  expect((await login({ user: "admin", password })).status).toBe(204);
});

it("every response forbids foreign scripts, and the page's files are revalidated instead of sent twice", async () => {
  const script = await harness.ask("/app.js");
  expect([script.status, script.body, script.headers["content-type"]]).toEqual([
    200,
    "start();",
    "text/javascript; charset=utf-8",
  ]);
  const again = await harness.ask("/app.js", { headers: { "if-none-match": script.headers.etag ?? "" } });
  expect([again.status, again.body]).toEqual([304, ""]);
  for (const response of [
    script,
    await harness.ask("/events"),
    await harness.ask("/keys"),
    await harness.ask("/no/such/path"),
  ]) {
    expect(response.headers).toMatchObject({
      "content-security-policy": expect.stringMatching(/^default-src 'none'; script-src 'self'; (?!.*unsafe)/),
      "x-content-type-options": "nosniff",
      "referrer-policy": "no-referrer",
    });
  }
  expect(await status("/..%2f..%2fetc%2fpasswd")).toBe(401);
});

it("the lists for forms need a session, also a read-only one", async () => {
  expect(await status("/choices")).toBe(401);
  const headers = await harness.enter(true);
  const { status: code, body } = await harness.ask("/choices", { headers });
  expect([code, JSON.parse(body)]).toEqual([
    200,
    { images: [{ id: "i1", name: "cirros" }], networks: [], zones: ["nova"] },
  ]);
});
