import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { violations } from "./support/accessible.js";
import { Person } from "./support/person.js";
import { RealCluster } from "./support/real-cluster.js";
import { Visits } from "./support/visits.js";

describe("a host dies, its server is evacuated, the host comes back: on the page alone", () => {
  let cluster: RealCluster;
  beforeAll(async () => {
    cluster = await RealCluster.start("--hosts", "2");
  });
  afterAll(() => cluster.stop());
  const visits = new Visits();

  it("can be followed and run from the boot to the repaired state", async () => {
    const person = new Person(await visits.page(), "evacuation");
    const { page } = person;
    await person.enter(await cluster.link());
    for (const host of ["devstack1", "devstack2"]) {
      await person.card(host).getByText("up", { exact: true }).waitFor();
    }

    // The server is built on devstack1.
    await person.boot("vm1");
    await person.goTo("Hosts");
    await person.card("devstack1").getByText("ACTIVE", { exact: true }).waitFor();
    await person.card("devstack1").getByText("running", { exact: true }).waitFor();
    await person.keep("booted");

    // The host dies.
    await person.choose("devstack1", "Kill");
    await page.getByText(/compute-agent host kill devstack1/).waitFor();
    expect(await person.send("Kill")).toContain("Done");
    await person.goTo("Hosts");
    await person.card("devstack1").getByText("killed", { exact: true }).waitFor();
    await person.card("devstack1").getByText("running", { exact: true }).waitFor();

    // The host is fenced, and the server is evacuated.
    await person.choose("devstack1", "Fence");
    expect(await person.send("Fence")).toContain("Done");
    await person.openServer("vm1");
    await person.open(page, "Evacuate");
    expect(await person.send("Evacuate", { "Destination host": "devstack2" })).toContain("Done");
    await person.goTo("Hosts");
    await person.card("devstack2").getByText("ACTIVE", { exact: true }).waitFor();

    // The old guest is still on devstack1's hypervisor, and the server has allocations on both hosts.
    const stale = person.card("devstack1");
    await stale.getByText("stale guest").waitFor();
    await stale.getByText(/it was evacuated, and the agent of devstack1 removes this guest when it starts/).waitFor();
    await person.keep("stale-guest");
    expect(await violations(page)).toEqual([]);
    await person.openServer("vm1");
    const held = page.locator("section", { has: page.getByRole("heading", { name: "Current allocations" }) });
    await held.getByRole("link", { name: "devstack1" }).waitFor();
    await held.getByRole("link", { name: "devstack2" }).waitFor();
    await page.getByRole("row", { name: /^evacuation done/ }).waitFor();
    await person.keep("holds-both");
    expect(await violations(page)).toEqual([]);

    // The dry run lists what a start would destroy.
    await person.choose("devstack1", "Dry run");
    expect(await person.send("Dry run")).toMatch(/destroy/i);
    await person.keep("plan");

    // The host starts again and removes the stale guest.
    await person.choose("devstack1", "Start");
    expect(await person.send("Start")).toContain("Done");
    await person.openServer("vm1");
    await page.getByRole("row", { name: /^evacuation completed/ }).waitFor();
    await held.getByRole("link", { name: "devstack1" }).waitFor({ state: "detached" });
    await held.getByRole("link", { name: "devstack2" }).waitFor();
    await person.keep("mended");
    await person.choose("devstack1", "Unfence");
    expect(await person.send("Unfence")).toContain("Done");
    await person.goTo("Hosts");
    await person.card("devstack1").getByText("up", { exact: true }).waitFor();
    await person.card("devstack1").getByText("No servers, no guests.").waitFor();
    await person.card("devstack2").getByText("running", { exact: true }).waitFor();
    expect(await page.getByText("stale guest").count()).toBe(0);
    await person.keep("both-up");
  });
});
