import { expect, test } from "vitest";
import { rawClient } from "./raw-client.js";

test.each(["../../escape", "dev\nstack1", "dev\u001b[2Jstack1", ".", "x".repeat(256)])(
  "host name %j is rejected for connections and records",
  async (host) => {
    const { call, cluster } = await rawClient();
    const service = { host, binary: "nova-compute", topic: "compute", version: 73, enableNewServices: true };
    for (const [id, method, params] of [
      [1, "host_lease", { host }],
      [2, "service_create", service],
    ] as const) {
      expect(await call(id, method, params)).toMatchObject({
        error: {
          code: -32602,
          message: expect.stringMatching(/params\.host: found .*, expected a host name: 1 to 255/),
        },
      });
    }
    expect(await call(3, "session_ping", {}, { host })).toMatchObject({ error: { code: -32600 } });
    expect(cluster.store.services.list()).toEqual([]);
  },
);
