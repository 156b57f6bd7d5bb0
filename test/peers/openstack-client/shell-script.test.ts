import { execFile } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, it } from "vitest";

const run = promisify(execFile);
const PROGRAM = fileURLToPath(new URL("../../../dist/bin/compute-cluster.js", import.meta.url));

/** The commands of a CI job, with the output to check. */
const SCRIPT = `
cluster() { "$NODE" "$PROGRAM" "$@"; }
cluster up --name ci-7 --hosts 3 --port 0 --detach --json > up.json
cluster wait --name ci-7 --for hosts=3 --timeout 60 > wait.txt
eval "$(cluster env --name ci-7)"
openstack server create vm1 --flavor m1.tiny --image cirros --nic none --os-compute-api-version 2.37 -f value -c name
cluster wait --name ci-7 --for server=vm1:ACTIVE --timeout 60 > wait.txt
openstack server show vm1 -f value -c status
cluster list --json | grep -c '"name": *"ci-7"'
openstack server delete vm1 --wait
cluster wait --name ci-7 --for settled --timeout 60 > wait.txt
openstack server list -f json
if cluster delete ci-7 2> refused.txt; then exit 9; fi
grep -c 'is running; stop it first' refused.txt
cluster down --name ci-7 > down.txt
cluster list --json | grep -c '"state": *"stopped"'
cluster delete ci-7 --yes
cluster list --json
`;

it("a shell script starts a named cluster, uses it with the openstack client, waits, and removes it", async () => {
  const folder = await mkdtemp(join(tmpdir(), "compute-agent-shell-"));
  const paths = { HOME: folder, XDG_STATE_HOME: folder, NODE: process.execPath, PROGRAM };
  try {
    const env = { PATH: `/usr/bin:/bin:${process.env.PATH}`, ...paths };
    const { stdout } = await run("/bin/sh", ["-ec", SCRIPT], { cwd: folder, env });
    expect(stdout.trim().split("\n")).toEqual(["vm1", "ACTIVE", "1", "[]", "1", "1", "ci-7: deleted", "[]"]);
  } finally {
    await run(process.execPath, [PROGRAM, "down", "--all", "--yes"], { env: { ...process.env, ...paths } }).catch(
      () => undefined,
    );
    await rm(folder, { recursive: true, force: true });
  }
});
