import { connect } from "node:net";
import { beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { type KeyPair, makeAuthority, makeServerCertificate } from "../../../src/cli/cluster/tls/make-certificates.js";
import { openSocket } from "../../../src/conductor-client/wire.js";
import type { Listener, ServerTls } from "../../../src/runtime/http-server.js";
import { createNodeRuntime } from "../../../src/runtime/node/node-runtime.js";
import { createVirtualRuntime } from "../../../src/simulation/virtual-world.js";

const { logger } = createVirtualRuntime();
const DAY = 86_400_000;
const FOR_YEARS = { from: Date.now() - DAY, until: Date.now() + 1_000 * DAY };

let authority: KeyPair;
let good: KeyPair;
beforeAll(async () => {
  authority = await makeAuthority("CA", FOR_YEARS);
  good = await makeServerCertificate(authority, ["127.0.0.1"], FOR_YEARS);
});

async function listen(tls?: ServerTls): Promise<Listener> {
  const listener = await createNodeRuntime({ logger }).servers.listen({
    port: 0,
    services: { "/api": async ({ baseUrl }) => ({ status: 200, headers: {}, body: baseUrl }) },
    sockets: { "/conductor": (socket, { origin }) => void socket.send(origin) },
    ...(tls && { tls }),
  });
  onTestFinished(() => listener.close(0));
  return listener;
}

function agentOf(listener: Listener, ca = authority.cert) {
  const trusted = new Map([[listener.url, { verify: true, ca }]]);
  const runtime = createNodeRuntime({ logger, trusted });
  onTestFinished(() => runtime.http.close());
  return runtime;
}

/** Connects an agent. Returns how it reached the control plane, or why it failed. */
async function join(url: string, listener: Listener, ca?: string): Promise<string> {
  const limits = { timeout: 10_000, signal: new AbortController().signal };
  try {
    const socket = await openSocket(`${url}/conductor`, "token", agentOf(listener, ca), limits);
    const firstMessage = await new Promise<string>((resolve) => socket.onMessage(resolve));
    socket.terminate();
    return firstMessage;
  } catch (error) {
    return String(error);
  }
}

describe("a control plane behind TLS", () => {
  it("is reached by agents that have its CA, over WebSocket and HTTP", async () => {
    const listener = await listen(good);
    expect(listener.url).toBe(`https://127.0.0.1:${listener.port}`);
    expect(await join(`wss://127.0.0.1:${listener.port}`, listener)).toBe(listener.url);
    const { http } = agentOf(listener);
    expect((await http.request({ method: "GET", url: `${listener.url}/api` })).body).toBe(`${listener.url}/api`);
  });

  it("is not trusted with a certificate of another authority of the same name", async () => {
    const other = await makeAuthority("CA", FOR_YEARS);
    const listener = await listen(good);
    expect(await join(`wss://127.0.0.1:${listener.port}`, listener, other.cert)).toMatch(
      /^ConductorUnreachable: no TLS with the control plane at wss:.*not issued by a trusted CA.*cafile/,
    );
    const { http } = agentOf(listener, other.cert);
    await expect(http.request({ method: "GET", url: listener.url })).rejects.toThrow(/not issued by a trusted CA/);
  });

  it("is not trusted with a certificate that has expired, or is not valid yet", async () => {
    const late = await listen(
      await makeServerCertificate(authority, ["127.0.0.1"], { from: Date.now() - 2 * DAY, until: Date.now() - DAY }),
    );
    expect(await join(`wss://127.0.0.1:${late.port}`, late)).toMatch(/has expired.*--renew.*CERT_HAS_EXPIRED/);
    const early = await listen(
      await makeServerCertificate(authority, ["127.0.0.1"], { from: Date.now() + DAY, until: Date.now() + 2 * DAY }),
    );
    expect(await join(`wss://127.0.0.1:${early.port}`, early)).toMatch(/not valid yet.*clock.*CERT_NOT_YET_VALID/);
  });

  it("is not trusted with a certificate for other names, and the message names them", async () => {
    const listener = await listen(await makeServerCertificate(authority, ["control.test", "192.0.2.2"], FOR_YEARS));
    expect(await join(`wss://127.0.0.1:${listener.port}`, listener)).toMatch(
      /its certificate is for other names: .*127\.0\.0\.1 is not in.*192\.0\.2\.2; connect by a name of the certificate/,
    );
  });

  it("responds to a plain HTTP client with a hint", async () => {
    const listener = await listen(good);
    const plain = listener.url.replace("https", "http");
    expect(await join(plain.replace("http", "ws"), listener)).toMatch(
      /at ws:\S+: that port uses TLS: use wss:\S+, with its CA in \[conductor\] cafile/,
    );
    const response = await agentOf(listener).http.request({ method: "GET", url: `${plain}/api` });
    expect([response.status, response.body]).toEqual([400, expect.stringContaining("speaks TLS")]);
  });

  it("closes although one client is silent, another sends garbage, and a third stops during its handshake", async () => {
    const listener = await listen(good);
    const ended = ["", "\x16\x03\x01\x02", "\x00\x01\x02"].map(async (text) => {
      const socket = connect(listener.port, "127.0.0.1");
      socket.on("error", () => undefined);
      await new Promise<void>((resolve) => socket.once("connect", () => resolve()));
      socket.write(text);
      return () =>
        new Promise<void>((resolve) => (socket.destroyed ? resolve() : socket.once("close", () => resolve())));
    });
    const closed = await Promise.all(ended);
    await listener.close(0);
    await Promise.all(closed.map((each) => each()));
  });
});

it("a port without TLS is distinguished from one with TLS", async () => {
  const listener = await listen();
  expect(await join(`wss://127.0.0.1:${listener.port}`, listener)).toMatch(
    /no TLS with the control plane at wss:.*the server does not use TLS on this port: connect with http:\/\/ or ws:\/\//,
  );
});
