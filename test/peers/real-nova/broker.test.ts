import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { eventually } from "../../process/support/cloud.js";
import { freePort } from "../placement/real-placement.js";
import { hasPeer } from "./control-plane.js";
import { TcpRelay } from "./tcp-relay.js";
import { useRealNova } from "./use-real-nova.js";
import { idle } from "./waiting.js";

const HOST = "tls1";

/**
 * Creates an authority with a certificate for the broker's host and one for agents; `other.pem` is an unrelated
 * authority.
 */
const MAKE_CERTIFICATES = `
mkdir -p "$1" && cd "$1"
authority() { openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj "/CN=$1" -keyout "$1.key" -out "$1.pem"; }
certificate() {
  openssl req -newkey rsa:2048 -nodes -subj "/CN=$1" -keyout "$1.key" -out "$1.csr" &&
  printf 'subjectAltName=DNS:%s\\n' "$1" >"$1.ext" &&
  openssl x509 -req -in "$1.csr" -CA authority.pem -CAkey authority.key -CAcreateserial -days 2 -extfile "$1.ext" -out "$1.pem"
}
authority authority && authority other && certificate localhost && certificate agent && chmod a+r *.key
`;
/** Opens another port of the running broker for TLS with client certificates. */
const LISTEN = `rabbitctl eval "
  {ok, _} = application:ensure_all_started(ssl),
  rabbit_networking:start_ssl_listener($2, [{cacertfile, \\"$1/authority.pem\\"}, {certfile, \\"$1/localhost.pem\\"},
    {keyfile, \\"$1/localhost.key\\"}, {verify, verify_peer}, {fail_if_no_peer_cert, true}], 2)."`;

/** The broker's TLS port behind two hosts of a transport_url, each of which can be switched off. */
describe.skipIf(!hasPeer)("RabbitMQ over TLS, with several hosts configured", () => {
  const cloud = useRealNova();
  let relays: readonly TcpRelay[] = [];
  let folder = "";
  const file = (name: string) => join(folder, `${name}.pem`);
  /** @param authority the one that the agent trusts @param hostname the broker's name in the agent's configuration */
  const options = (authority: string, hostname = "localhost"): readonly string[] => [
    `transport_url=rabbit://${relays.map(({ port }) => `guest:guest@${hostname}:${port}`).join(",")}/`,
    "oslo_messaging_rabbit.ssl=true",
    `oslo_messaging_rabbit.ssl_ca_file=${file(authority)}`,
    `oslo_messaging_rabbit.ssl_cert_file=${file("agent")}`,
    `oslo_messaging_rabbit.ssl_key_file=${join(folder, "agent.key")}`,
    "oslo_messaging_rabbit.ssl_enforce_hostname_verification=true",
  ];

  beforeAll(async () => {
    const { plane } = cloud();
    folder = join(plane.state, "certificates");
    const port = await freePort();
    for (const [command, ...args] of [
      [MAKE_CERTIFICATES, folder],
      [LISTEN, folder, String(port)],
    ] as const) {
      const { rc, output } = await plane.shell(command, ...args);
      if (rc !== 0) {
        throw new Error(output);
      }
    }
    relays = await Promise.all([1, 2].map(() => TcpRelay.to(port)));
  });
  afterAll(async () => {
    await Promise.all(relays.map((relay) => relay.close()));
  });

  it("an agent uses the remaining host, and the first one when only that is up", async () => {
    const nova = cloud();
    const [first, second] = relays;
    const agent = await nova.startAgent(HOST, { options: options("authority") });
    await nova.discover();
    const build = async (name: string): Promise<void> => {
      const id = await nova.operator.boot(name, { host: HOST });
      await idle(nova, id, "ACTIVE");
      await nova.remove(id);
    };
    await build("by-tls");
    for (const [gone, left] of [
      [first, second],
      [second, first],
    ]) {
      await left?.open();
      await gone?.close();
      const read = await eventually(
        () => nova.plane.shell("rabbitctl list_queues name consumers"),
        ({ output }) => new RegExp(`^compute\\.${HOST}\\s+1$`, "m").test(output) && (left?.connections ?? 0) >= 2,
      );
      expect(read.rc).toBe(0);
      await build("by-the-other");
    }
    await agent.stop();
    expect(await nova.operator.deleteService(HOST)).toBe(204);
  });

  it("--check reports whether the broker's certificate is trusted, and for which host", async () => {
    const nova = cloud();
    await Promise.all(relays.map((relay) => relay.open()));
    expect(await nova.check("checked2", options("authority"))).toMatchObject({ broker: "ok", conductor: "ok" });
    for (const wrong of [options("other"), options("authority", "127.0.0.1")]) {
      expect(await nova.check("checked2", wrong)).toMatchObject({ code: 4, broker: "waits", conductor: "unknown" });
    }
  });
});
