import { readFile } from "node:fs/promises";
import { describe, expect, test } from "vitest";
import { faultText, toIronicError } from "../../../../drivers/ironic/client/ironic-error.js";
import type { HttpRequest, HttpResponse } from "../../../../src/virt/index.js";
import { ironicDriver } from "./support/driver.js";
import { FakeIronic, fault, LOCKED } from "./support/fake-ironic.js";

function recorded(name: string) {
  return readFile(new URL(`../../../fixtures/golden/ironic/${name}.json`, import.meta.url), "utf8");
}

const nodeRequest = (ironic: FakeIronic) => ironic.observedRequests.filter(({ path }) => path.startsWith("/v1/nodes"));

describe("the meaning of a response", () => {
  test.each([
    ["error-404-node", 404, "not-found", "could not be found"],
    ["error-409-node-locked", 409, "locked", "is locked by host localhost"],
    ["error-409-transition", 409, "transition", "while a state transition is in progress"],
    ["error-409-instance-associated", 409, "associated", "is associated with instance"],
    ["error-400-invalid-state", 400, "wrong-state", 'while it is in state "active"'],
    ["error-406-version", 406, "version", "The supported version range is: [1.1, 1.82]"],
  ])("the recorded %s", async (name, status, meaning, text) => {
    const body = await recorded(name);
    expect(faultText(body)).toContain(text);
    expect(toIronicError("GET", "http://ironic/v1", status, body)).toMatchObject({ meaning, status });
  });

  test.each([
    [
      409,
      "Instance 1 is already associated with a node, it cannot be associated with this other node 2",
      "instance-elsewhere",
    ],
    [409, "something else", "other"],
    [400, "The provision action can't be performed on node 1 because it's in maintenance mode.", "maintenance"],
    [400, "nonsense", "other"],
    [503, "no free conductor workers", "no-worker"],
    [504, "gateway", "unreachable"],
    [401, "who?", "unauthorized"],
    [500, "boom", "other"],
  ])("%i %s", (status, text, meaning) => {
    expect(toIronicError("GET", "u", status, fault(status, text).body).meaning).toBe(meaning);
  });

  test("bodies that are not JSON, or not JSON in JSON", () => {
    expect(faultText("<html>502</html>")).toBe("<html>502</html>");
    expect(faultText('{"error_message": "plain"}')).toBe("plain");
    expect(faultText('{"error_message": {"faultstring": "once"}}')).toBe("once");
  });
});

describe("the API version", () => {
  test.each([
    ["1.46", "1.46"],
    ["1.76", "1.76"],
    ["1.82", "1.82"],
    ["1.92", "1.82"],
  ])("of an Ironic that offers up to %s is %s", async (max, spoken) => {
    const ironic = new FakeIronic();
    ironic.versions = { min: "1.1", max };
    const { driver } = await ironicDriver({ ironic });
    await driver.getAvailableNodes({ refresh: true });
    expect(nodeRequest(ironic)[0]?.headers["x-openstack-ironic-api-version"]).toBe(spoken);
  });

  test.each([
    ["1.45", {}, "needs one of 1.46 to 1.82"],
    ["1.81", { shard: "s" }, "which needs Ironic's API version 1.82"],
  ])("an Ironic that offers up to %s is refused with %j", async (max, config, text) => {
    const ironic = new FakeIronic();
    ironic.versions = { min: "1.1", max };
    const { driver } = await ironicDriver({ ironic, config });
    await expect(driver.initHost()).rejects.toMatchObject({
      name: "InvalidConfiguration",
      message: expect.stringContaining(text),
    });
  });

  test("is negotiated again after Ironic was downgraded", async () => {
    const ironic = new FakeIronic();
    const { driver } = await ironicDriver({ ironic });
    await driver.getAvailableNodes({ refresh: true });
    ironic.versions = { min: "1.1", max: "1.76" };
    expect(await driver.getAvailableNodes({ refresh: true })).toEqual([]);
    expect(nodeRequest(ironic).map(({ headers }) => headers["x-openstack-ironic-api-version"])).toEqual([
      "1.82",
      "1.82",
      "1.76",
    ]);
  });

  test("an unreachable Ironic does not prevent the agent's start", async () => {
    const ironic = new FakeIronic();
    ironic.fault = () => "refused";
    const { driver } = await ironicDriver({ ironic });
    await expect(driver.initHost()).resolves.toBeUndefined();
    await expect(driver.getNodenamesByUuid()).rejects.toMatchObject({ name: "VirtDriverNotReady" });
  });
});

describe("authentication", () => {
  test("none, and basic", async () => {
    const ironic = new FakeIronic();
    const basic = { auth_type: "http_basic", username: "u", password: "pä" };
    const { driver } = await ironicDriver({ ironic, config: basic });
    await driver.initHost();
    expect(ironic.observedRequests[0]?.headers.authorization).toBe(`Basic ${Buffer.from("u:pä").toString("base64")}`);
    const none = new FakeIronic();
    await (await ironicDriver({ ironic: none })).driver.initHost();
    expect(Object.keys(none.observedRequests[0]?.headers ?? {})).toEqual(["accept"]);
  });

  const KEYSTONE = {
    endpoint_override: null,
    auth_type: "password",
    auth_url: "http://identity/v3",
    username: "nova",
    password: "secret",
    project_name: "service",
  };

  /** Identity in addition to Ironic. */
  class Cloud extends FakeIronic {
    tokens = 0;
    readonly identityTls: (string | undefined)[] = [];
    expiresAt = "2100-01-01T00:00:00Z";
    override async request(request: HttpRequest): Promise<HttpResponse> {
      if (!request.url.startsWith("http://identity")) {
        return super.request(request);
      }
      this.tokens += 1;
      this.identityTls.push(request.tlsSection);
      const endpoints = [
        { interface: "public", url: "http://public" },
        { interface: "internal", url: "http://ironic/v1/" },
      ];
      const token = { expires_at: this.expiresAt, catalog: [{ type: "baremetal", endpoints }] };
      return { status: 201, headers: { "x-subject-token": `t${this.tokens}` }, body: JSON.stringify({ token }) };
    }
  }

  test("a token from Identity and the endpoint in its catalog, shared by parallel requests", async () => {
    const ironic = new Cloud();
    const { driver } = await ironicDriver({ ironic, config: KEYSTONE });
    await Promise.all([driver.isNodeDeleted("a"), driver.isNodeDeleted("b")]);
    expect(ironic.tokens).toBe(1);
    expect(ironic.observedRequests.every(({ headers }) => headers["x-auth-token"] === "t1")).toBe(true);
    expect(ironic.observedRequests[0]?.path).toBe("/");
  });

  test.each(["password", "v3password"])(
    "by %s: TLS of each request, for a token also, is that of [ironic]",
    async (type) => {
      const ironic = new Cloud();
      const { driver } = await ironicDriver({ ironic, config: { ...KEYSTONE, auth_type: type } });
      await driver.isNodeDeleted("a");
      expect(ironic.identityTls).toEqual(["ironic"]);
      expect(new Set(ironic.observedRequests.map(({ tlsSection }) => tlsSection))).toEqual(new Set(["ironic"]));
    },
  );

  test("a new token before the old one expires, and once after a 401", async () => {
    const ironic = new Cloud();
    ironic.expiresAt = "2000-01-01T00:00:00Z";
    const { driver } = await ironicDriver({ ironic, config: KEYSTONE });
    await driver.initHost();
    const before = ironic.tokens;
    ironic.expiresAt = "2100-01-01T00:00:00Z";
    await driver.isNodeDeleted("a");
    expect(ironic.tokens).toBe(before + 1);
    ironic.fault = ({ headers }) => (headers["x-auth-token"] === `t${before + 1}` ? fault(401, "expired") : undefined);
    expect(await driver.isNodeDeleted("a")).toBe(true);
    expect(ironic.tokens).toBe(before + 2);
    ironic.fault = () => fault(401, "never");
    await expect(driver.isNodeDeleted("a")).rejects.toMatchObject({ name: "VirtDriverNotReady" });
    expect(ironic.tokens).toBe(before + 3);
  });

  test("missing options are named", async () => {
    await expect(ironicDriver({ config: { endpoint_override: null } })).rejects.toThrow("[ironic] endpoint_override");
    await expect(ironicDriver({ config: { ...KEYSTONE, password: null } })).rejects.toThrow("[ironic] password");
  });
});

describe("retries", () => {
  const powerOn = async (response: HttpResponse, times: number) => {
    const ironic = new FakeIronic();
    const instance = { uuid: "11111111-1111-4111-8111-111111111111" } as never;
    ironic.add({ instance_uuid: "11111111-1111-4111-8111-111111111111", provision_state: "active" });
    let left = times;
    ironic.fault = ({ method }) => {
      if (method !== "PUT" || left === 0) {
        return undefined;
      }
      left -= 1;
      return response;
    };
    const { driver, slept } = await ironicDriver({ ironic });
    const outcome = await driver.powerOn(instance).then(
      () => "done",
      (error: Error) => error.message,
    );
    return { outcome, slept, puts: ironic.observedRequests.filter(({ method }) => method === "PUT").length };
  };

  test.each([
    ["locked", LOCKED],
    ["503", fault(503, "no free conductor workers")],
    ["transition", fault(409, "Node n can not be updated while a state transition is in progress.")],
  ])("%s: five times, after 0.5, 1, 2, 4 and 8 seconds", async (_, response) => {
    const { outcome, slept, puts } = await powerOn(response, 5);
    expect(outcome).toBe("done");
    expect(slept.slice(0, 5)).toEqual([500, 1000, 2000, 4000, 8000]);
    expect(puts).toBe(6);
    expect((await powerOn(response, 6)).outcome).toMatch(/Ironic responded to PUT/);
  });

  test.each([
    ["associated", fault(409, "Node n is associated with instance i.")],
    ["elsewhere", fault(409, "Instance i is already associated with a node")],
    ["400", fault(400, "nonsense")],
    ["500", fault(500, "boom")],
  ])("%s: never", async (_, response) => {
    expect(await powerOn(response, 1)).toMatchObject({ slept: [], puts: 1 });
  });
});
