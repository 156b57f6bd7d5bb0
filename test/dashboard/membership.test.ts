import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { violations } from "./support/accessible.js";
import { Person } from "./support/person.js";
import { RealCluster } from "./support/real-cluster.js";
import { Visits } from "./support/visits.js";

describe("hosts that are added and removed on the page", () => {
  let cluster: RealCluster;
  beforeAll(async () => {
    cluster = await RealCluster.start("--hosts", "1");
  });
  afterAll(() => cluster.stop());
  const visits = new Visits();

  it("serve once they are added, and are removed unless they have servers", async () => {
    const person = new Person(await visits.page(), "membership");
    const { page } = person;
    await person.enter(await cluster.link());

    // Two hosts are added as a range.
    await person.goTo("Hosts");
    await person.open(page, "Add hosts");
    expect(await person.send("Add hosts", { Name: "rack[1-2]" })).toContain("Done");
    for (const host of ["rack1", "rack2"]) {
      await person.card(host).getByText("up", { exact: true }).waitFor();
    }

    // A host with a server is not removed, and remains enabled.
    await person.boot("vm1", { Flavor: "m1.tiny", Host: "rack1" });
    await person.goTo("Hosts");
    await person.card("rack1").getByText("running", { exact: true }).waitFor();
    await person.choose("rack1", "Remove");
    const dialog = page.getByRole("dialog", { name: "Remove rack1?" });
    await dialog.getByText("It has 1 server: the removal is rejected unless they are evacuated first.").waitFor();
    expect(await violations(page)).toEqual([]);
    await person.keep("removal");
    expect(await person.send("Remove")).toContain("rack1 has 1 server (vm1)");
    await person.goTo("Hosts");
    await person.card("rack1").getByText("up", { exact: true }).waitFor();

    // With an evacuation it is.
    await person.choose("rack1", "Remove");
    await dialog.getByLabel("Evacuate its servers to other hosts first").check();
    expect(await person.send("Remove")).toContain("rack1 removed");
    await person.goTo("Hosts");
    await person.card("rack1").waitFor({ state: "detached" });
    await page.getByText("ACTIVE", { exact: true }).first().waitFor();

    // A name that is none is rejected with the reason.
    await person.open(page, "Add hosts");
    await dialog.waitFor({ state: "detached" });
    expect(await person.send("Add hosts", { Name: "rack[3-" })).toContain("rack[3-");
  });
});
