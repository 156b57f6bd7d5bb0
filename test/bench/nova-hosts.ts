/** Agents of many hosts in one process, under a real Nova: `node nova-hosts.js nova.conf...`, one for each host. */
import { connectNova } from "../../src/cli/agent/connect-nova.js";
import { loadConfig } from "../../src/cli/agent/load-config.js";
import { quietLogger } from "../../src/cli/ui/quiet-logger.js";
import { createNodeRuntime } from "../../src/runtime/node/node-runtime.js";
import { testAgent } from "../fixtures/world/agent.js";

const runtime = createNodeRuntime({ logger: quietLogger });
const abort = new AbortController();
const files = process.argv.slice(2);
const hosts = await Promise.all(
  files.map((file) =>
    loadConfig(
      { configFile: [file], configDir: [], option: [], stateDir: "/nowhere", logFormat: "pretty" },
      runtime.files,
      null,
    ),
  ),
);
const [first] = hosts;
if (first === undefined) {
  throw new Error("name a nova.conf for each host");
}
const { config: shared } = first.compiled;
const connection = await connectNova(shared, shared.defaults.transportUrl ?? "", runtime, abort.signal, {});
const { serviceVersion } = connection;
const agents = hosts.map(({ compiled, configFiles, driver }) => {
  const { host } = compiled.config.defaults;
  return testAgent({ host, compiled, configFiles, runtime, session: connection.host(host), driver, serviceVersion });
});
process.on("SIGTERM", async () => {
  await Promise.all(agents.map((agent) => agent.stop()));
  await connection.close();
  await runtime.http.close();
});
await Promise.all(agents.map((agent) => agent.start()));
process.stdout.write("all are serving\n");
