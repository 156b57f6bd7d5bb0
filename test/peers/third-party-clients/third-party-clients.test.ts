import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, test } from "vitest";
import { Devstack } from "../openstack-client/devstack.js";

const run = promisify(execFile);
const HERE = fileURLToPath(new URL(".", import.meta.url));
const GO_PACKAGES = "/usr/share/gocode";
const NEEDED = [
  `${GO_PACKAGES}/src/github.com/gophercloud/gophercloud`,
  "/usr/lib/python3/dist-packages/openstack",
  "/usr/lib/python3/dist-packages/keystoneclient",
];
const HOW_TO_INSTALL =
  "clients are missing; on Debian: apt-get install golang-go golang-github-gophercloud-gophercloud-dev python3-openstacksdk python3-keystoneclient";

let devstack: Devstack;

beforeAll(async () => {
  if (!NEEDED.every((path) => existsSync(path))) {
    throw new Error(HOW_TO_INSTALL);
  }
  devstack = await Devstack.start();
});
afterAll(() => devstack?.stop());

/** Runs a program that prints a line for each of its calls. Returns the failed calls. */
async function failures(program: string, args: readonly string[], least: number): Promise<unknown> {
  // gophercloud does not read OS_USER_DOMAIN_ID.
  const env = { PATH: "/usr/bin:/bin", HOME: devstack.stateDir, ...devstack.environment, OS_DOMAIN_ID: "default" };
  const { stdout } = await run(program, args, { env, maxBuffer: 2 ** 24 });
  const calls = stdout
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line) as { readonly name: string; readonly error?: string });
  expect(calls.length).toBeGreaterThanOrEqual(least);
  return calls.filter(({ error }) => error !== undefined);
}

/** Builds with Debian's packages, which are sources in a GOPATH, so nothing is downloaded. */
async function buildGo(): Promise<string> {
  const program = join(devstack.stateDir, "gopher");
  const cache = join(devstack.stateDir, "go-cache");
  const env = { PATH: process.env.PATH, GO111MODULE: "off", GOPATH: GO_PACKAGES, GOCACHE: cache };
  await run("go", ["build", "-o", program, "."], { cwd: join(HERE, "gophercloud"), env });
  return program;
}

test("gophercloud", async () => {
  expect(await failures(await buildGo(), [], 100)).toEqual([]);
});

test("openstacksdk", async () => {
  expect(await failures("/usr/bin/python3", ["-BW", "ignore", join(HERE, "sdk.py")], 8)).toEqual([]);
});

test("Horizon's login", async () => {
  expect(await failures("/usr/bin/python3", ["-B", join(HERE, "horizon.py")], 11)).toEqual([]);
});

test.each([
  "nova --os-compute-api-version 2.91 keypair-add mine",
  "nova keypair-delete mine",
  "nova boot --flavor m1.tiny --image cirros --nic none --poll vm",
  "nova meta vm set a=b",
  "nova server-tag-add vm green",
  "nova list --name vm --fields name,status",
  "nova lock vm",
  "nova unlock vm",
  "nova resize vm m1.small --poll",
  "nova resize-confirm vm",
  "nova image-create --poll vm snapshot",
  "nova rebuild vm cirros --poll",
  "nova instance-action-list vm",
  "nova live-migration --block-migrate vm",
  "nova migration-list",
  "nova hypervisor-list",
  "nova aggregate-list",
  "nova service-list",
  "nova availability-zone-list",
  "nova limits",
  "nova quota-show",
  "nova delete vm",
])("%s", async (command) => {
  await devstack.clients.output(command);
});
