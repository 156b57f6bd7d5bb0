import nock from "nock";
import { getGlobalDispatcher } from "undici";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { HttpConnectFailure } from "../../../../src/runtime/http.js";
import { UndiciHttpClient } from "../../../../src/runtime/node/undici-http-client.js";

const PEER = "https://placement.example:8778";

/** Responses that no listener on this machine can produce: TLS of other hosts, failures of names and networks. */
describe("the HTTP client with remote peers", () => {
  let client: UndiciHttpClient;

  beforeAll(() => {
    if (!nock.isActive()) {
      nock.activate();
    }
    nock.disableNetConnect();
    // nock intercepts undici's global dispatcher, but not its pools.
    client = new UndiciHttpClient({ dispatcher: getGlobalDispatcher() });
  });

  afterEach(() => {
    expect(nock.pendingMocks()).toEqual([]);
    nock.cleanAll();
  });

  afterAll(async () => {
    await client.close();
    nock.enableNetConnect();
    nock.restore();
  });

  it("sends method, path, query, headers and body unchanged", async () => {
    nock(PEER, { reqheaders: { "x-auth-token": "secret", "openstack-api-version": "placement 1.39" } })
      .put("/resource_providers/a%20b", "körper")
      .query({ name: "straße", "member_of[]": "in:1,2" })
      .reply(202, "accepted");
    const response = await client.request({
      method: "PUT",
      url: `${PEER}/resource_providers/a%20b?name=stra%C3%9Fe&member_of%5B%5D=in:1,2`,
      headers: { "x-auth-token": "secret", "openstack-api-version": "placement 1.39" },
      body: "körper",
    });
    expect(response).toMatchObject({ status: 202, body: "accepted" });
  });

  it("returns header names in lower case", async () => {
    nock(PEER).get("/").reply(200, "{}", { "X-Request-Id": "req-1", VARY: "accept" });
    const { headers } = await client.request({ method: "GET", url: `${PEER}/` });
    expect(headers).toEqual({ "x-request-id": "req-1", vary: "accept" });
  });

  it("follows no redirect, and returns a response of any status", async () => {
    nock(PEER).get("/").reply(302, "", { location: "https://elsewhere.example/" });
    const moved = await client.request({ method: "GET", url: `${PEER}/` });
    expect([moved.status, moved.headers.location]).toEqual([302, "https://elsewhere.example/"]);
    nock(PEER).get("/").reply(503, "busy");
    expect(await client.request({ method: "GET", url: `${PEER}/` })).toMatchObject({ status: 503, body: "busy" });
  });

  it.each(["ENOTFOUND", "EAI_AGAIN", "ECONNRESET", "EHOSTUNREACH", "CERT_HAS_EXPIRED"])(
    "names the reason when there is no response: %s",
    async (code) => {
      const cause = Object.assign(new Error("the network says no"), { code });
      nock(PEER).get("/").replyWithError(cause);
      const failure = await client.request({ method: "GET", url: `${PEER}/` }).catch((error: unknown) => error);
      expect(failure).toBeInstanceOf(HttpConnectFailure);
      expect(failure).toMatchObject({
        code,
        cause,
        message: expect.stringContaining(`no response from ${PEER}/: ${code}`),
      });
    },
  );
});
