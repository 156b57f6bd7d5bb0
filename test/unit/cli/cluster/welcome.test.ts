import picocolors from "picocolors";
import { expect, test } from "vitest";
import { welcome } from "../../../../src/cli/cluster/welcome.js";
import type { Terminal } from "../../../../src/cli/ui/terminal.js";
import { ownServices } from "../../../../src/cluster/identity/catalog/catalog.js";
import { stateDir } from "../../../../src/cluster/local/state-dir.js";

const terminal = { columns: 80, colors: picocolors.createColors(false) } as unknown as Terminal;
const UP = {
  url: "http://127.0.0.1:8774",
  outside: undefined,
  where: "",
  attached: true,
  here: true,
  another: undefined,
  missing: [],
  leftDown: [],
} as const;

test("names each service of the catalog, and a command that the client understands without a microversion", () => {
  const text = welcome({ ...UP, directory: stateDir("/somewhere", "/") }, terminal);
  const services = ownServices({ sha256: () => "0".repeat(64) });
  expect(text.match(/http:\/\/127\.0\.0\.1:8774\/\S+/g)).toHaveLength(services.length);
  expect(text).toContain("http://127.0.0.1:8774/ by  npx compute-cluster open");
  expect(text).toContain("  openstack server create --flavor m1.tiny --image cirros --wait vm1\n");
});
