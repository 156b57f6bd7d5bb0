import { hostname, userInfo } from "node:os";
import { PageShell } from "../docs/support/page-shell.js";
import { PACKAGE_ROOT } from "../process/support/program.js";
import { type RecordedCommand, renderTerminal } from "./terminal-svg.js";

/** The README's story in short. */
const COMMANDS = [
  "npx compute-agent up --hosts 3 --detach",
  'eval "$(npx compute-agent env)"; export OS_COMPUTE_API_VERSION=2.74',
  "openstack server create --flavor m1.tiny --image cirros --host devstack1 --wait -f value -c status vm1",
  "npx compute-agent host kill devstack1",
  "openstack compute service set --down devstack1 nova-compute",
  "openstack --os-compute-api-version 2.29 server evacuate --host devstack2 vm1 >/dev/null 2>&1",
  "npx compute-agent wait --for settled",
  "npx compute-agent status",
  "npx compute-agent host start devstack1",
  "npx compute-agent status",
] as const;

/** Commands that may fail: python3-openstackclient 6.0 fails after the evacuation, which takes place nevertheless. */
const MAY_FAIL = /server evacuate/;

const COLUMNS = 104;
const UUID = /\b[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}\b/g;

/** Runs the commands in a shell of their own, and renders what they print. Needs OpenStack's client, on Linux. */
export async function recordTerminal(): Promise<string> {
  const shell = await PageShell.open();
  const recorded: RecordedCommand[] = [];
  try {
    const replace = createReplacements();
    for (const command of COMMANDS) {
      const began = performance.now();
      const { status, output } = await shell.run(command);
      if (status !== 0 && !MAY_FAIL.test(command)) {
        throw new Error(`${command} ended with ${status}: ${output}`);
      }
      const lines = replace(output).trim().split("\n");
      recorded.push({
        command,
        output: lines.length === 1 && lines[0] === "" ? [] : lines.map((line) => line.slice(0, COLUMNS)),
        seconds: (performance.now() - began) / 1_000,
      });
    }
    await shell.run("npx compute-agent down");
  } finally {
    await shell.close();
  }
  const svg = renderTerminal("A host dies, its server is evacuated, and the host comes back", recorded, COLUMNS);
  const local = [shell.folder, PACKAGE_ROOT, hostname(), userInfo().homedir].filter((text) => text.length > 1);
  const found = local.find((text) => new RegExp(`(?<![\\w-])${escapePattern(text)}(?![\\w-])`).test(svg));
  if (found !== undefined) {
    throw new Error(`the recording has ${JSON.stringify(found)}, which is of this machine`);
  }
  return svg;
}

const escapePattern = (text: string): string => text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");

/** Replaces ids of objects and processes, which differ each time, by fixed ones. */
function createReplacements(): (text: string) => string {
  const ids = new Map<string, string>();
  const pids = new Map<string, string>();
  const numbered = (known: Map<string, string>, text: string, make: (number: number) => string): string => {
    const replacement = known.get(text) ?? make(known.size + 1);
    known.set(text, replacement);
    return replacement;
  };
  return (text) =>
    text
      .replace(UUID, (id) => numbered(ids, id, (number) => `5e7f0a1${number}-0000-4000-8000-00000000000${number}`))
      .replace(/\bpid (\d+)/g, (_, pid: string) => `pid ${numbered(pids, pid, (number) => String(100 + number))}`);
}
