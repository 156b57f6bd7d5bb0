import { readFile } from "node:fs/promises";
import { createServer } from "node:https";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, expect, it, onTestFinished } from "vitest";
import { type HttpTls, UndiciHttpClient } from "../../../src/runtime/node/undici-http-client.js";

const pem = (name: string) => readFile(new URL(`../../fixtures/tls/${name}.pem`, import.meta.url), "utf8");
const server = createServer({ requestCert: true, rejectUnauthorized: false }, (_request, response) =>
  response.end("hello"),
);
let url = "";
let ca = "";

beforeAll(async () => {
  ca = await pem("cert");
  server.setSecureContext({ cert: ca, key: await pem("key") });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  url = `https://127.0.0.1:${(server.address() as AddressInfo).port}/`;
});
afterAll(() => server.close());

async function ask(tls: HttpTls | undefined): Promise<string> {
  const client = new UndiciHttpClient(tls === undefined ? {} : { tls });
  onTestFinished(() => client.close());
  const response = client.request({ method: "GET", url });
  return response.then(
    ({ body }) => body,
    (error: Error) => error.message,
  );
}

it("accepts certificates of the given CA only, unless verification is off", async () => {
  expect(await ask(undefined)).toMatch(/no response from https:.*: .*(SELF_SIGNED|VERIFY)/);
  expect(await ask({ verify: true })).toMatch(/SELF_SIGNED|VERIFY/);
  expect(await ask({ verify: true, ca })).toBe("hello");
  expect(await ask({ verify: false })).toBe("hello");
  expect(await ask({ verify: true, ca, cert: ca, key: await pem("key") })).toBe("hello");
});

it("uses the TLS options of the section that a request names, for no other request to that server", async () => {
  const client = new UndiciHttpClient({
    tls: { verify: true },
    tlsSections: new Map([["ironic", { verify: true, ca }]]),
  });
  onTestFinished(() => client.close());
  const get = { method: "GET", url } as const;
  expect((await client.request({ ...get, tlsSection: "ironic" })).body).toBe("hello");
  expect((await client.send({ ...get, tlsSection: "ironic" })).status).toBe(200);
  await expect(client.request(get)).rejects.toThrow(/SELF_SIGNED|VERIFY/);
  await expect(client.request({ ...get, tlsSection: "glance" })).rejects.toThrow(/SELF_SIGNED|VERIFY/);
});
