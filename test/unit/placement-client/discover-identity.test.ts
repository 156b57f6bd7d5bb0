import { describe, expect, it } from "vitest";
import { discoverIdentity } from "../../../src/placement-client/access/keystone-access.js";

function versions(...entries: readonly (readonly [id: string, href: string])[]): string {
  const values = entries.map(([id, href]) => ({ id, status: "stable", links: [{ rel: "self", href }] }));
  return JSON.stringify({ versions: { values } });
}

async function discover(authUrl: string, body: string, status = 300) {
  const requestedUrls: string[] = [];
  const http = {
    close: async () => undefined,
    request: async ({ url }: { readonly url: string }) => {
      requestedUrls.push(url);
      return { status, headers: {}, body };
    },
  };
  return { found: await discoverIdentity(http, authUrl), requestedUrls: requestedUrls };
}

describe("the URL of Identity v3", () => {
  it.each([
    ["http://k:5000", versions(["v2.0", "http://k/v2.0/"], ["v3.14", "http://k:5000/v3/"]), "http://k:5000/v3"],
    ["http://k/identity/", versions(["v3.14", "http://other/identity/v3/"]), "http://other/identity/v3"],
    ["http://k/identity", versions(["v3.14", "/identity/v3"]), "http://k/identity/v3"],
    ["http://k", "<html>a proxy</html>", "http://k"],
    ["http://k", versions(["v2.0", "http://k/v2.0"]), "http://k"],
    // A service behind a TLS proxy lists its URL without TLS; passwords must not be sent there.
    ["https://k", versions(["v3.14", "http://k/v3/"]), "https://k"],
  ])("%s with the response %s: %s", async (authUrl, body, expected) => {
    expect((await discover(authUrl, body)).found).toBe(expected);
  });

  it("is used without a request if the address contains the version", async () => {
    expect(await discover("http://k/v3/", "")).toEqual({ found: "http://k/v3", requestedUrls: [] });
  });
});
