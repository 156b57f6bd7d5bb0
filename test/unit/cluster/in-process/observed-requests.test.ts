import { describe, expect, it } from "vitest";
import { RequestHistory } from "../../../../src/cluster/in-process/in-process-cluster.js";
import { aCaller } from "../../../fixtures/world/caller.js";

function ask(history: RequestHistory, path: string, query = ""): void {
  history.keep({
    mount: "/compute",
    request: { method: "GET", path, query, headers: { "x-auth-token": "known-token" }, body: "secret" },
    response: { status: 200, headers: { "x-openstack-request-id": "req-1" }, body: "secret" },
    caller: aCaller({ userName: "ada" }),
    milliseconds: 1,
  });
}

describe("the requests that a test sees", () => {
  it("are told without what is secret", () => {
    const history = new RequestHistory();
    ask(history, "/v2.1/servers/known-token", "name=vm1&token=abc&Password=x");
    expect(history.all).toEqual([
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
    history.clear();
    expect(history.all).toEqual([]);
  });

  it("are the last ten thousand", () => {
    const history = new RequestHistory();
    for (let count = 1; count <= 25_000; count += 1) {
      ask(history, `/${count}`);
    }
    expect(history.all).toHaveLength(10_000);
    expect(history.all[0]?.path).toBe("/15001");
    expect(history.all.at(-1)?.path).toBe("/25000");
  });
});
