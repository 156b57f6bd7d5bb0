import { expect, it } from "vitest";
import { IdMap, openReplaySession } from "../../../../../src/cli/cluster/record/replay-session.js";
import { administratorIn, type Impersonation } from "../../../../../src/conductor-client/methods/cluster.js";
import type { HostSession } from "../../../../../src/conductor-client/port.js";
import type { HttpRequest } from "../../../../../src/runtime/http.js";

const THEN = "00000000000000000000000000000001";
const NOW = "0000000000000000000000000000000a";
const ADA = { ...administratorIn("demo"), user: { ...administratorIn("demo").user, id: THEN, name: "ada" } };
const LIST = { method: "GET", path: "/compute/v2.1/servers", version: "2.79" } as const;

function open(statuses: readonly number[] = []) {
  const stoodIn: unknown[] = [];
  const requests: HttpRequest[] = [];
  const made: string[] = [];
  const ids = new IdMap();
  const session = {
    call: async (
      _method: string,
      { caller, placing }: { caller: typeof ADA; placing: boolean },
    ): Promise<Impersonation> => {
      stoodIn.push([caller.user.id, placing]);
      return {
        token: `token-${stoodIn.length}`,
        caller: { ...caller, user: { ...caller.user, id: NOW } },
        made: ["user ada"],
      };
    },
  } as unknown as Pick<HostSession, "call">;
  const http = {
    request: async (request: HttpRequest) => {
      requests.push(request);
      return { status: statuses[requests.length - 1] ?? 200, headers: {}, body: "" };
    },
    close: async () => undefined,
  };
  const replay = openReplaySession(session, { http, url: "http://cluster", ids, made: (text) => made.push(text) });
  const tokens = () => requests.map(({ headers }) => headers?.["x-auth-token"]);
  return { replay, stoodIn, requests: requests, made, ids, tokens };
}

it("a caller has one token, and another one to select hosts; an anonymous caller has none", async () => {
  const { replay, stoodIn, made, ids, tokens, requests } = open();
  await replay.request(ADA, LIST);
  await replay.request(ADA, LIST);
  await replay.request(ADA, LIST, true);
  await replay.request(null, LIST);
  expect(tokens()).toEqual(["token-1", "token-1", "token-2", undefined]);
  // The second request uses the id that the user has in the new cluster.
  expect(stoodIn).toEqual([
    [THEN, false],
    [NOW, true],
  ]);
  expect(ids.of(THEN)).toBe(NOW);
  expect(made).toEqual(["user ada", "user ada"]);
  expect(requests[0]).toMatchObject({
    url: "http://cluster/compute/v2.1/servers",
    headers: { "x-openstack-nova-api-version": "2.79" },
  });
});

it("a caller whose token is rejected gets another one, once", async () => {
  const { replay, tokens } = open([200, 401, 401]);
  await replay.request(ADA, LIST);
  expect((await replay.request(ADA, LIST)).status).toBe(401);
  expect(tokens()).toEqual(["token-1", "token-1", "token-2"]);
});
