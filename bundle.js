// Puts each program and the packages it uses into few files, so that it starts fast and needs few packages installed.
import { build } from "rolldown";

await build({
  input: ["dist/src/cli/compute-agent.js", "dist/src/cli/compute-cluster.js"],
  platform: "node",
  // A binary for the platform comes with it.
  external: ["libsql"],
  output: { dir: "dist/bin", format: "esm", chunkFileNames: "lib/[name].js" },
  logLevel: "warn",
});
