import { expect, test } from "vitest";
import type { HttpRequest } from "../../../src/runtime/http.js";
import type { VirtualRuntime } from "../../../src/simulation/virtual-world.js";
import { Client } from "../../simulator/client.js";
import type { Witness } from "../../simulator/histories/witness.js";

const CLOUDS = "clouds: { devstack: { auth: { auth_url: http://cloud/identity/v3, username: me } } }";

test("a token that is no longer good is replaced, and what was asked is asked once more", async () => {
  const requests: string[] = [];
  let tokens = 0;
  const request = async ({ url, headers = {} }: HttpRequest) => {
    const token = headers["x-auth-token"];
    requests.push(token === undefined ? "token" : `${url} with ${token}`);
    if (token === undefined) {
      tokens += 1;
      return { status: 201, headers: { "x-subject-token": `t${tokens}` }, body: "" };
    }
    return { status: token === "t1" ? 401 : 200, headers: {}, body: "" };
  };
  const runtime = {
    name: "people",
    files: { read: async () => CLOUDS },
    http: { request },
  } as unknown as VirtualRuntime;
  const responses: unknown[] = [];
  const witness = { onRequest: () => (reply: unknown) => responses.push(reply) } as unknown as Witness;
  const response = await new Client(runtime, "/clouds.yaml", witness).compute("GET", "/servers");
  expect(response?.status).toBe(200);
  expect(responses).toEqual([response]);
  const path = "http://cloud/compute/v2.1/servers";
  expect(requests).toEqual(["token", `${path} with t1`, "token", `${path} with t2`]);
});
