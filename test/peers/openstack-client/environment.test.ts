import { execFile } from "node:child_process";
import { stat } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, test } from "vitest";
import { Devstack } from "./devstack.js";

const run = promisify(execFile);
const PROGRAM = fileURLToPath(new URL("../../../dist/bin/compute-cluster.js", import.meta.url));

let devstack: Devstack;

beforeAll(async () => {
  devstack = await Devstack.start();
});
afterAll(() => devstack?.stop());

/** Returns the output of a line in a shell without any settings, in the folder of the cluster's clouds.yaml. */
async function shell(line: string): Promise<string> {
  const env = { PATH: `/usr/bin:/bin:${process.env.PATH}`, HOME: devstack.stateDir };
  const { stdout } = await run("/bin/sh", ["-ec", line], { cwd: devstack.stateDir, env });
  return stdout.trim();
}
function exports(...args: string[]) {
  return `eval "$(${process.execPath} ${PROGRAM} env --state-dir ${devstack.stateDir} ${args.join(" ")})"`;
}

test("OS_CLOUD=devstack openstack server list works in the folder of clouds.yaml", async () => {
  expect((await stat(join(devstack.stateDir, "clouds.yaml"))).mode & 0o777).toBe(0o600);
  expect(await shell("OS_CLOUD=devstack openstack server list -f json")).toBe("[]");
  expect(await shell("OS_CLOUD=devstack-demo openstack server list -f json")).toBe("[]");
});

test("compute-agent env works in any folder, for each cloud", async () => {
  const services =
    "openstack --os-compute-api-version 2.53 compute service list --service nova-compute -f value -c Host";
  const hosts = (text: string) => text.split("\n").toSorted();
  const expected = ["devstack1", "devstack2", "devstack3"];
  expect(hosts(await shell(`${exports()}; cd /; ${services}`))).toEqual(expected);
  expect(hosts(await shell(`${exports("--cloud devstack-system-admin")}; cd /; ${services}`))).toEqual(expected);
});

test("compute-agent env --openrc works for `nova`", async () => {
  const commands = "cd /; openstack server list -f json; nova list 2>/dev/null | grep -c Status";
  expect(await shell(`${exports("--openrc")}; ${commands}`)).toBe("[]\n1");
});

test.each(["", "--openrc"])("env %s rejects an unknown cloud", async (option) => {
  const line = `${process.execPath} ${PROGRAM} env ${option} --cloud mine --state-dir ${devstack.stateDir}`;
  await expect(shell(line)).rejects.toMatchObject({
    code: 2,
    stderr: expect.stringContaining("clouds.yaml has no cloud mine; expected devstack"),
  });
});
