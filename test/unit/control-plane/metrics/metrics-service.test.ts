import { expect, it } from "vitest";
import { metricsService } from "../../../../src/control-plane/metrics.js";
import type { ServiceRequest } from "../../../../src/runtime/http-server.js";
import { createVirtualRuntime } from "../../../../src/simulation/virtual-world.js";
import { memoryStore } from "../store/support.js";

it("after a failure to create the metrics, the next request creates them", async () => {
  const { files, clock, modules } = createVirtualRuntime();
  const { store } = await memoryStore();
  let requestCount = 0;
  const handle = metricsService({
    store,
    files,
    clock,
    modules,
    downTime: 60_000,
    tasks: { running: 0, listen: () => undefined },
    onRequest: () => {
      requestCount += 1;
      if (requestCount === 1) {
        throw new Error("not yet");
      }
    },
  });
  const ask = () => Promise.resolve(handle({ method: "GET", path: "" } as ServiceRequest));
  await expect(ask()).rejects.toThrow("not yet");
  expect(await ask()).toMatchObject({ status: 200 });
  expect(await ask()).toMatchObject({ status: 200 });
  expect(requestCount).toBe(2);
});
