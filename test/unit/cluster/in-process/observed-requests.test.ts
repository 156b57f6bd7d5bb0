import { describe, expect, it } from "vitest";
import { SeenRequests } from "../../../../src/cluster/in-process/observed-requests.js";
import { aCaller } from "../../../fixtures/world/caller.js";

function ask(seen: SeenRequests, path: string, query = ""): void {
  seen.keep({
    mount: "/compute",
    request: { method: "GET", path, query, headers: { "x-auth-token": "known-token" }, body: "secret" },
    response: { status: 200, headers: { "x-openstack-request-id": "req-1" }, body: "secret" },
    caller: aCaller({ userName: "ada" }),
    milliseconds: 1,
  });
}

describe("the requests that a test sees", () => {
  it("are told without what is secret", () => {
    const seen = new SeenRequests();
    ask(seen, "/v2.1/servers/known-token", "name=vm1&token=abc&Password=x");
    expect(seen.all).toEqual([
      {
        service: "compute",
        method: "GET",
        path: "/v2.1/servers/****",
        query: "name=vm1&token=****&Password=****",
        status: 200,
        user: "ada",
        requestId: "req-1",
      },
    ]);
    seen.clear();
    expect(seen.all).toEqual([]);
  });

  it("are the last ten thousand", () => {
    const seen = new SeenRequests();
    for (let count = 1; count <= 25_000; count += 1) {
      ask(seen, `/${count}`);
    }
    expect(seen.all).toHaveLength(10_000);
    expect(seen.all[0]?.path).toBe("/15001");
    expect(seen.all.at(-1)?.path).toBe("/25000");
  });
});
