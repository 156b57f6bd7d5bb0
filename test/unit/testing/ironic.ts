import { createIronic } from "../../../src/control-plane/bare-metal/ironic.js";
import { FaultSet } from "../../../src/faults/fault-set.js";
import type { HttpClient } from "../../../src/runtime/http.js";
import type { ServiceHandler } from "../../../src/runtime/http-server.js";
import { createVirtualLogger } from "../../../src/simulation/virtual-logger.js";
import type { DriverCheckOptions } from "../../../src/testing/index.js";
import { emptyStore } from "../../fixtures/empty-store.js";
import { ADMINISTRATOR } from "../../fixtures/world/administrator.js";

const ROOT = "http://ironic.test/baremetal";

/** Creates a client that calls the service without a socket. */
function clientOf(handle: ServiceHandler): HttpClient {
  return {
    request: async ({ method, url, headers, body }) => {
      const [path = "", query = ""] = url.slice(ROOT.length).split("?");
      return handle({
        method,
        path,
        query,
        headers: { ...headers, "x-auth-token": "any" },
        body: body ?? "",
        baseUrl: ROOT,
      });
    },
    close: async () => {},
  };
}

/** Options of the check of ironic: each case has its own emulated Ironic with some nodes, in virtual time. */
export const IRONIC: DriverCheckOptions = {
  time: "virtual",
  config: () => ({ endpointOverride: ROOT, authType: "none" }),
  flavor: {
    extraSpecs: {
      "resources:CUSTOM_BAREMETAL": "1",
      "resources:VCPU": "0",
      "resources:MEMORY_MB": "0",
      "resources:DISK_GB": "0",
    },
  },
  setUp: async (deps) => {
    const logger = createVirtualLogger(() => {});
    const store = emptyStore({ runtime: { ...deps, logger } });
    const faults = new FaultSet(deps);
    const service = createIronic({ ...deps, logger, sql: store.database, validate: () => ADMINISTRATOR, faults });
    service.enrol(8);
    return {
      context: () => ({ http: clientOf(service.handle) }),
      close: () => {
        service.stop();
        store.close();
      },
    };
  },
  // Deviations of nova's own driver for Ironic.
  waive: {
    "spawn-powered-off": "Ironic turns on what it has deployed",
    "reboot-hard-absent": "a machine that has no instance is not deployed by a reboot",
    "tree-foreign": "the traits of a node replace those of its provider",
  },
};
