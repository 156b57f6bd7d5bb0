import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Outcome } from "./clients.js";
import { Devstack } from "./devstack.js";
import { type DocumentStep, documentSteps } from "./document.js";
import { Likeness } from "./likeness.js";

let devstack: Devstack;
const likeness = new Likeness();
/** Shell variables that the document sets. */
const variables = new Map<string, string>();

/** Creates the document's initial state: vm1 was evacuated to devstack2 from devstack1, which is dead and fenced. */
beforeAll(async () => {
  devstack = await Devstack.start();
  const { clients } = devstack;
  const create = "server create --flavor m1.tiny --image cirros --nic none --host devstack1 vm1";
  await clients.output(`openstack --os-compute-api-version 2.74 ${create}`);
  await devstack.serverIn("vm1", "ACTIVE");
  devstack.killAgent("devstack1");
  await clients.output("openstack --os-compute-api-version 2.53 compute service set --down devstack1 nova-compute");
  // This version of the client fails to print the response, after the server has been evacuated.
  await clients.run("openstack --os-compute-api-version 2.29 server evacuate --host devstack2 vm1");
  await devstack.serverIn("vm1", "OS-EXT-SRV-ATTR:host=devstack2");
  await devstack.serverIn("vm1", "ACTIVE");
  await devstack.heartbeats();
});
afterAll(() => devstack?.stop());

/** Runs a command; `nova-manage` is `compute-agent manage`. */
async function run(command: string): Promise<Outcome> {
  const words = likeness.translate(command.replaceAll(/\$(\w+)/g, (_, name: string) => variables.get(name) ?? ""));
  if (!words.startsWith("nova-manage ")) {
    return devstack.clients.run(words);
  }
  const { rc, stdout } = await devstack.command("manage", ...words.split(" ").slice(1));
  return { rc: rc ?? -1, stdout, stderr: "" };
}

async function follow({ command, output }: DocumentStep): Promise<void> {
  const [, name, inner] = /^(\w+)=\$\((.*)\)$/.exec(command) ?? [];
  const { rc, stdout, stderr } = await run(inner ?? command);
  if (name !== undefined) {
    variables.set(name, stdout.trim());
  }
  const isRejected = output.startsWith("Unable to ");
  expect(rc, stderr).toBe(isRejected ? 1 : 0);
  // The document omits the output of assignments and of commands without output.
  if (output !== "") {
    expect(likeness.differences(output, isRejected ? stderr : stdout)).toEqual([]);
  } else if (name === undefined && / delete /.test(command)) {
    expect(stdout.trim()).toBe("");
  }
}

describe("the troubleshooting document for orphaned allocations, command by command", () => {
  test.each(documentSteps().map((step) => [step.command, step] as const))("$ %s", (_command, step) => follow(step));

  test("OA-6, OA-7: provider and service of devstack1 are deleted, vm1 has allocations on devstack2 only", async () => {
    const providers = await devstack.clients.output("openstack resource provider list -f value -c name");
    expect(providers.split("\n").toSorted()).toEqual(["devstack2", "devstack3"]);
    const hosts = await devstack.clients.output(
      "openstack compute service list --service nova-compute -f value -c Host",
    );
    expect(hosts.split("\n").toSorted()).toEqual(["devstack2", "devstack3"]);
  });
});
