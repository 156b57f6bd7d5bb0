import { describe, expect, it } from "vitest";
import { heldDifferences } from "../../../../../src/cli/cluster/record/held-allocations.js";
import { askableBody, playRecording } from "../../../../../src/cli/cluster/record/play-recording.js";
import {
  firstPlaces,
  placedIn,
  placeOf,
  type Recording,
  readRecording,
} from "../../../../../src/cli/cluster/record/recording.js";
import { IdMap, type ReplaySession } from "../../../../../src/cli/cluster/record/replay-session.js";
import {
  administratorIn,
  type RecordedCaller,
  type RecordedEvent,
  type RecordedRequest,
} from "../../../../../src/conductor-client/methods/cluster.js";
import { createVirtualRuntime } from "../../../../../src/simulation/virtual-world.js";

const OLD = "00000000-0000-4000-8000-000000000001";
const NEW = "00000000-0000-4000-8000-00000000000a";
const START = { recording: 2, version: "1", at: 1_000, cluster: "hosts: []" };

const ADA: RecordedCaller = {
  ...administratorIn("demo"),
  user: { id: "a", name: "ada", domain: { id: "default", name: "Default" } },
  roles: ["member"],
};

const recordedRequest = (more: Partial<RecordedRequest>): RecordedRequest => ({
  at: 1_000,
  caller: administratorIn("admin"),
  method: "GET",
  path: "/compute/v2.1/servers",
  body: null,
  status: 200,
  answer: null,
  ...more,
});

describe("ids of the recorded cloud", () => {
  it("are learned from responses, whose lists may be ordered differently, and from links", () => {
    const ids = new IdMap();
    const hex = (text: string) => text.replaceAll("-", "");
    ids.learn(
      {
        images: [
          { name: "a", id: OLD },
          { name: "b", id: hex(OLD) },
        ],
        links: [`http://one/servers/${OLD}`],
      },
      {
        images: [
          { name: "b", id: hex(NEW) },
          { name: "a", id: NEW },
        ],
        links: [`http://two/servers/${NEW}`],
      },
    );
    expect(ids.of(OLD)).toBe(NEW);
    expect(ids.translate(`/servers/${OLD}/x?project=${hex(OLD)}`)).toBe(`/servers/${NEW}/x?project=${hex(NEW)}`);
  });

  it("keep their first mapping, and unknown ids stay unchanged", () => {
    const ids = new IdMap();
    ids.learn({ id: OLD }, { id: NEW });
    ids.learn({ id: OLD }, { id: "00000000-0000-4000-8000-00000000000b" });
    ids.learn({ a: [{ name: "x", id: OLD }] }, { a: [] });
    ids.learn([OLD, 1, null], "other");
    expect(ids.translate(OLD)).toBe(NEW);
    expect(ids.translate(NEW)).toBe(NEW);
  });
});

it("a server is built on its recorded host, unless the request restricts the host", () => {
  const made = recordedRequest({
    method: "POST",
    body: { server: { name: "vm", min_count: 1 } },
    answer: { server: { id: OLD } },
  });
  const serverView = recordedRequest({
    answer: { server: { id: OLD, "OS-EXT-SRV-ATTR:host": "h2", "OS-EXT-AZ:availability_zone": "east" } },
  });
  const later = recordedRequest({ answer: { server: { id: OLD, "OS-EXT-SRV-ATTR:host": "h3" } } });
  const places = firstPlaces([made, serverView, later]);
  expect(placeOf(made, places)).toBe("east:h2");
  expect(placedIn(made.body, "east:h2")).toEqual({
    server: { name: "vm", min_count: 1, availability_zone: "east:h2" },
  });
  expect(placeOf({ ...made, body: { server: { host: "h1" } } }, places)).toBeUndefined();
  expect(placeOf({ ...made, body: { server: { min_count: 2 } } }, places)).toBeUndefined();
  expect(placeOf(made, new Map())).toBeUndefined();
  // The recorded host takes precedence over later responses to administrators.
  expect(placeOf(made, firstPlaces([serverView, { at: 1, server: OLD, place: "nova:h1" }]))).toBe("nova:h1");
});

it("allocations are compared by providers' names and mapped ids", () => {
  const amounts = { VCPU: 1, DISK_GB: 2 };
  const idOf = (id: string) => (id === OLD ? NEW : undefined);
  expect(
    heldDifferences(
      { h1: { [OLD]: amounts, move: amounts }, h2: {} },
      { h1: { [NEW]: amounts, other: amounts }, h2: {} },
      idOf,
    ),
  ).toEqual([]);
  expect(heldDifferences({ h1: { [OLD]: amounts } }, { h2: { [NEW]: amounts } }, idOf)).toEqual([
    `h1: expected ${NEW} DISK_GB=2 VCPU=1, found nothing`,
    `h2: expected nothing, found ${NEW} DISK_GB=2 VCPU=1`,
  ]);
});

describe("a replay", () => {
  async function replayed(
    events: readonly RecordedEvent[],
    respond: (request: Parameters<ReplaySession["request"]>[1], at: number) => number,
  ) {
    const world = createVirtualRuntime();
    const done: string[] = [];
    const began = world.clock.monotonic();
    const now = () => world.clock.monotonic() - began;
    const recording: Recording = { start: START, events, end: undefined };
    const result = await world.runUntil(
      playRecording(recording, 2, {
        session: {
          request: async (caller, request, placing) => {
            const who = `${caller?.user.name ?? "nobody"}${placing === true ? "!" : ""}`;
            done.push(`${now()} ${who} ${request.method} ${request.path} ${request.body ?? ""}`.trimEnd());
            const status = respond(request, done.length);
            return { status, headers: {}, body: JSON.stringify({ server: { id: NEW } }) };
          },
        },
        run: async (words) => {
          done.push(`${now()} ${words.join(" ")}`);
          return words.includes("fail") ? "ended with 1" : undefined;
        },
        ids: new IdMap(),
        runtime: world,
        signal: new AbortController().signal,
      }),
    );
    return { done, ...result };
  }

  it("sends requests at the recorded times, scaled by the speed, with the ids of the new cloud", async () => {
    const { done, differences } = await replayed(
      [
        recordedRequest({ method: "POST", body: { server: {} }, status: 202, answer: { server: { id: OLD } } }),
        { at: 3_000, run: ["host", "kill", "h1"] },
        recordedRequest({
          at: 5_000,
          method: "DELETE",
          path: `/compute/v2.1/servers/${OLD}`,
          caller: ADA,
          status: 204,
        }),
      ],
      ({ method }) => (method === "POST" ? 202 : 204),
    );
    expect(done).toEqual([
      '0 admin POST /compute/v2.1/servers {"server":{}}',
      "1000 host kill h1",
      `2000 ada DELETE /compute/v2.1/servers/${NEW}`,
    ]);
    expect(differences).toEqual([]);
  });

  it("retries requests that the cluster is not ready for, and reports differences", async () => {
    const { done, differences } = await replayed(
      [
        recordedRequest({ method: "POST", status: 202 }),
        recordedRequest({ status: 404 }),
        { at: 2_000, run: ["host", "start", "fail"] },
      ],
      ({ method }, at) => (method === "POST" ? (at < 4 ? 409 : 202) : 200),
    );
    expect(done.filter((text) => text.includes("POST"))).toHaveLength(4);
    expect(differences).toEqual([
      { at: 0, what: "GET /compute/v2.1/servers", expected: "404", found: "200" },
      { at: 1_000, what: "compute-agent host start fail", expected: "done", found: "ended with 1" },
    ]);
  });

  it("impersonates the original callers, also anonymous ones, and names them in differences", async () => {
    const { done, differences } = await replayed(
      [recordedRequest({ caller: ADA, status: 403 }), recordedRequest({ caller: null, status: 401 })],
      () => 200,
    );
    expect(done).toEqual(["0 ada GET /compute/v2.1/servers", "0 nobody GET /compute/v2.1/servers"]);
    expect(differences.map(({ what }) => what)).toEqual([
      "GET /compute/v2.1/servers as ada",
      "GET /compute/v2.1/servers as nobody",
    ]);
  });

  it("builds a tenant's server on its recorded host, which only administrators may request", async () => {
    const made = { method: "POST", body: { server: {} }, answer: { server: { id: OLD } }, status: 202 };
    const serverView = recordedRequest({ answer: { server: { id: OLD, "OS-EXT-SRV-ATTR:host": "h2" } } });
    const { done } = await replayed(
      [recordedRequest({ ...made, caller: ADA }), recordedRequest(made), serverView],
      () => 202,
    );
    const body = '{"server":{"availability_zone":"nova:h2"}}';
    expect(done.slice(0, 2)).toEqual([
      `0 ada! POST /compute/v2.1/servers ${body}`,
      `0 admin POST /compute/v2.1/servers ${body}`,
    ]);
  });

  it("sets the old password of a user before a password change", async () => {
    const path = "/identity/v3/users/u/password";
    const hidden = { user: { original_password: "****", password: "****" } };
    const { done } = await replayed(
      [
        recordedRequest({ caller: ADA, method: "POST", path, body: hidden, status: 204 }),
        recordedRequest({ caller: ADA, method: "POST", path, body: hidden, status: 401 }),
      ],
      ({ method }) => (method === "PATCH" ? 200 : 204),
    );
    const [set = "", change = ""] = done;
    const [, old] = /^0 admin PATCH \/identity\/v3\/users\/u \{"user":\{"password":"(\w+)"\}\}$/.exec(set) ?? [];
    expect(change).toContain(`"original_password":"${old}"`);
    expect(done).toHaveLength(3);
    expect(done.join()).not.toContain("****");
  });

  it("skips requests that were not recorded completely, and reports them", async () => {
    const { done, left } = await replayed([recordedRequest({ left: "its body is no JSON, or too long" })], () => 200);
    expect(done).toEqual([]);
    expect(left).toEqual(["GET /compute/v2.1/servers: its body is no JSON, or too long"]);
  });

  it("sends zeros for the bytes of an image, and valid generated user data", () => {
    const { random } = createVirtualRuntime();
    const upload = recordedRequest({ method: "PUT", contentType: "application/octet-stream", bytes: 3 });
    expect(askableBody(upload, undefined, random)).toBe("\0\0\0");
    expect(askableBody({ ...upload, bytes: 2 ** 40 }, undefined, random)?.length).toBe(2 ** 24);
    const body = askableBody(recordedRequest({ body: { server: { user_data: "****" } } }), undefined, random) ?? "";
    const { server } = JSON.parse(body) as { readonly server: { readonly user_data: string } };
    expect(Buffer.from(server.user_data, "base64").toString("base64")).toBe(server.user_data);
    const blob = JSON.parse(askableBody(recordedRequest({ body: { blob: "****" } }), undefined, random) ?? "").blob;
    expect(JSON.parse(blob)).toEqual({ access: expect.any(String), secret: expect.any(String) });
  });
});

describe("a recording", () => {
  it("of version 1 is replayed as the administrator, except for rejections of others", async () => {
    const { caller: _, ...old } = recordedRequest({ status: 403 });
    const one = { ...old, user: "demo", project: "demo" };
    const { events } = await read(
      JSON.stringify({ ...START, recording: 1 }),
      JSON.stringify(one),
      JSON.stringify({ ...one, status: 200 }),
      '{"at":1,"run":["host","kill","h1"]}',
      "",
    );
    const found = events.filter((event) => "caller" in event);
    expect(found.map(({ caller }) => caller)).toEqual([administratorIn("demo"), administratorIn("demo")]);
    expect(found.map(({ left }) => left !== undefined)).toEqual([true, false]);
    await expect(read(JSON.stringify(START), JSON.stringify(one), "")).rejects.toThrow("request.caller");
  });

  async function read(...lines: string[]) {
    const { files } = createVirtualRuntime();
    await files.write("/r.jsonl", lines.join("\n"));
    return readRecording("/r.jsonl", files);
  }
  const start = JSON.stringify(START);

  it("is ordered by time, and may end with an incomplete line", async () => {
    const later = JSON.stringify(recordedRequest({ at: 3_000 }));
    const earlier = JSON.stringify({ at: 2_000, run: ["host", "kill", "h1"] });
    const { events, end } = await read(start, later, earlier, '{"at":4');
    expect(events.map(({ at }) => at)).toEqual([2_000, 3_000]);
    expect(end).toBeUndefined();
    expect((await read(start, JSON.stringify({ end: 1, held: {}, lost: 0 }), "")).end).toMatchObject({ lost: 0 });
  });

  it.each([
    [["{}", ""], "/r.jsonl:1: found no beginning of a recording"],
    [[JSON.stringify({ ...START, recording: 3, version: "9.9" }), ""], "use version 9.9 of the program"],
    [[start, "nonsense", ""], "/r.jsonl:2: found nonsense, expected a JSON object"],
    [
      [start, '{"at":1,"run":["delete","ci"]}', ""],
      "/r.jsonl:2: found the command delete, expected one of host or fault",
    ],
    [
      [start, '{"at":1,"method":"GET","path":"http://elsewhere/","status":200,"caller":null}', ""],
      "/r.jsonl:2: request.path",
    ],
    [[start, '{"at":1}', ""], "/r.jsonl:2: found neither a request nor a command"],
  ])("is rejected with the position of the problem: %#", async (lines, message) => {
    await expect(read(...lines)).rejects.toThrow(message);
  });
});
