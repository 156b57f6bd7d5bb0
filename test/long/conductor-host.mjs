// A control plane with only a store and a conductor: `node conductor-host.mjs <file> <port> <join token>` prints its port.
import { openClusterNetwork } from "../../dist/src/control-plane/cluster-network.js";
import { ConductorServer } from "../../dist/src/control-plane/conductor/conductor-server.js";
import { openStore } from "../../dist/src/control-plane/store/open-store.js";
import { createNodeLogger } from "../../dist/src/runtime/node/node-logger.js";
import { createNodeRuntime } from "../../dist/src/runtime/node/node-runtime.js";

const [path, port, joinToken] = process.argv.slice(2);
const runtime = createNodeRuntime({ logger: createNodeLogger({ level: "error" }) });
const store = await openStore({ path, runtime });
const placementAccess = () => ({ endpoint: "http://127.0.0.1", token: "token", expiresAt: 0 });
const start = { start: "empty", projects: {} };
const { ports } = openClusterNetwork({ store, runtime, validate: () => undefined, start });
const conductor = new ConductorServer({ store, runtime, ports, joinToken, placementAccess });
const listener = await runtime.servers.listen({ port: Number(port), services: {}, sockets: conductor.sockets });
process.stdout.write(`${listener.port}\n`);
