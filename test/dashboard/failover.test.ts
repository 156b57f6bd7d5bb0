import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { Person } from "./support/person.js";
import { RealCluster } from "./support/real-cluster.js";
import { Visits } from "./support/visits.js";

describe("the passive half of a fail-over pair", () => {
  let cluster: RealCluster;
  beforeAll(async () => {
    cluster = await RealCluster.start("--hosts", "1");
  });
  afterAll(() => cluster.stop());
  const visits = new Visits();

  it("is rejected on the page with both records named, and the guest keeps running", async () => {
    const hypervisor = join(cluster.stateDir, "hypervisors", "devstack1");
    const uri = `fake_libvirt.connection_uri=fake-libvirt://${hypervisor}`;
    await expect(cluster.run("host", "add", "backup1", "-o", uri)).rejects.toThrow("ended with 3");

    const person = new Person(await visits.page(), "failover");
    const { page } = person;
    await person.enter(await cluster.link());
    await person.boot("vm1");
    await person.goTo("Hosts");
    await person.card("devstack1").getByText("running", { exact: true }).waitFor();
    await person.choose("devstack1", "Kill");
    expect(await person.send("Kill")).toContain("Done");

    await person.goTo("Try it");
    // The first link is a host's, the second a server's.
    await page.getByRole("link", { name: "Start", exact: true }).first().click();
    const rejection = await person.send("Start", { Host: "backup1" });
    expect(rejection).toMatch(/compute node [\w-]{36} .* is recorded for host devstack1, this agent is backup1/);
    await person.keep("refused");
    await person.goTo("Hosts");
    const rejectedCard = person.card("backup1");
    await rejectedCard.getByText("refused", { exact: true }).waitFor();
    await rejectedCard
      .getByText(/compute node [\w-]{36} .* is recorded for host devstack1, this agent is backup1/)
      .waitFor();
    await rejectedCard.getByText("The host has never joined").waitFor();
    await person.goTo("Hosts");
    await person.card("devstack1").getByText("running", { exact: true }).waitFor();
    await person.keep("guest-lives-on");
  });
});
