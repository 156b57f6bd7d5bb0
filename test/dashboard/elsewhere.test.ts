import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, it } from "vitest";
import { connectionTo } from "../../drivers/fake-libvirt/hypervisor.js";
import { Virsh } from "../../drivers/fake-libvirt/virsh.js";
import { quietLogger } from "../../src/cli/ui/logging.js";
import { createNodeRuntime } from "../../src/runtime/node/node-runtime.js";
import { Person } from "./support/person.js";
import { RealCluster } from "./support/real-cluster.js";
import { Visits } from "./support/visits.js";

describe("guests of a hypervisor that the dashboard cannot read itself", () => {
  let cluster: RealCluster;
  let elsewhere: string;
  beforeAll(async () => {
    elsewhere = await mkdtemp(join(tmpdir(), "compute-agent-elsewhere-"));
    cluster = await RealCluster.start("--hosts", "0");
    await cluster.run("host", "add", "far", "-o", `fake_libvirt.connection_uri=${connectionTo(elsewhere)}`);
  });
  afterAll(async () => {
    await cluster.stop();
    await rm(elsewhere, { recursive: true, force: true });
  });
  const visits = new Visits();

  it("are those that its agent reports, including changes by others, and show their age once the agent has ended", async () => {
    const person = new Person(await visits.page(), "elsewhere");
    await person.enter(await cluster.link());
    await person.boot("vm1", { Flavor: "m1.tiny", Host: "far" });
    await person.goTo("Hosts");
    const card = person.card("far");
    await card.getByText("running", { exact: true }).waitFor();
    await new Virsh(connectionTo(elsewhere), createNodeRuntime({ logger: quietLogger })).suspend("instance-00000001");
    await card.getByText("paused", { exact: true }).waitFor();
    await person.keep("paused");
    await person.choose("far", "Kill");
    await person.send("Kill");
    await person.goTo("Hosts");
    await card.getByText("killed", { exact: true }).waitFor();
    await card.getByText(/^Hypervisor \d+ s ago$/).waitFor();
    await person.keep("as-it-was-last");
  });
});
