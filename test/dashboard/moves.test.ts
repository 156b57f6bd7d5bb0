import { afterEach, describe, expect, it } from "vitest";
import { Person } from "./support/person.js";
import { RealCluster } from "./support/real-cluster.js";
import { Visits } from "./support/visits.js";

const STRATEGIES = [
  { release: "queens", holder: "migration", allocationLabel: "migration's allocations" },
  { release: "pike", holder: "server", allocationLabel: "allocations" },
];

describe("a move on the page", () => {
  let cluster: RealCluster;
  // Hooks run in reverse order: pages are closed before the cluster stops.
  afterEach(() => cluster.stop());
  const visits = new Visits();

  it.each(STRATEGIES)(
    "that resizes shows by whom both halves are held, as in $release, until it is confirmed",
    async ({ release, holder, allocationLabel }) => {
      cluster = await RealCluster.start("--releases", `${release},${release}`);
      const person = new Person(await visits.page(), `resize-${release}`);
      const { page } = person;
      await person.enter(await cluster.link());
      await person.boot("vm1");
      await person.openServer("vm1");
      await page.getByTitle(/^vm_state active/).waitFor();
      await person.open(page, "Resize");
      expect(await person.send("Resize", { Flavor: "m1.tiny" })).toMatch(
        /When resizing, instances must change flavor!.* badRequest \(400\)/,
      );
      await person.open(page, "Resize");
      expect(await person.send("Resize", { Flavor: "m1.small" })).toContain("Done");

      await person.openServer("vm1");
      await page.getByText("VERIFY_RESIZE", { exact: true }).waitFor();
      // The port follows the server without a reload.
      await page.getByRole("group", { name: "Ports" }).getByRole("link", { name: "devstack2" }).waitFor();
      const old = page.getByRole("row", { name: new RegExp(`^${holder} \\w+ devstack1 .*512 MiB`) });
      await old.waitFor();
      await page.getByRole("row", { name: /^server \w+ devstack2 .*2 GiB/ }).waitFor();
      // The lanes of the source's and the destination's allocations.
      await page
        .getByRole("list", { name: `${allocationLabel} on devstack1`, exact: true })
        .getByText(holder)
        .last()
        .waitFor();
      await page.getByRole("list", { name: "allocations on devstack2", exact: true }).waitFor();
      await (release === "queens" ? person.keep("unconfirmed-resize") : person.keep("two-halves"));

      await person.open(page, "Confirm resize");
      expect(await person.send("Confirm resize")).toContain("Done");
      await person.openServer("vm1");
      await page.getByTitle(/^vm_state active/).waitFor();
      await old.waitFor({ state: "detached" });
      await person.keep("confirmed");
    },
  );

  it.each(STRATEGIES)(
    "that is live shows by whom both halves are held, as in $release, until it has arrived",
    async ({ release, holder, allocationLabel }) => {
      cluster = await RealCluster.start("--releases", `${release},${release}`);
      const person = new Person(await visits.page(), `live-${release}`);
      const { page } = person;
      await person.enter(await cluster.link());
      await person.boot("vm1");
      await person.goTo("Hosts");
      await person.card("devstack1").getByText("ACTIVE", { exact: true }).waitFor();
      // The migration continues until the fault is cleared.
      await person.choose("devstack1", "Set fault");
      expect(await person.send("Set fault", { Fault: "driver.liveMigration=hang" })).toContain("Done");
      await person.openServer("vm1");
      await person.open(page, "Live migrate");
      expect(await person.send("Live migrate", { "Destination host": "devstack2" })).toContain("Done");

      await person.openServer("vm1");
      await page.getByText("MIGRATING · migrating", { exact: true }).waitFor();
      await page.getByRole("row", { name: /^live-migration running/ }).waitFor();
      const old = page.getByRole("row", { name: new RegExp(`^${holder} \\w+ devstack1 .*512 MiB`) });
      await old.waitFor();
      await page.getByRole("row", { name: /^server \w+ devstack2 .*512 MiB/ }).waitFor();
      await page.getByRole("list", { name: `${allocationLabel} on devstack1`, exact: true }).waitFor();
      await person.keep("on-its-way");

      await person.choose("devstack1", "Clear faults");
      expect(await person.send("Clear faults")).toContain("Done");
      await person.openServer("vm1");
      await page.getByTitle(/^vm_state active/).waitFor();
      await page.getByRole("row", { name: /^live-migration completed/ }).waitFor();
      await old.waitFor({ state: "detached" });
      await person.keep("arrived");
      await person.goTo("Hosts");
      await person.card("devstack1").getByText("No servers, no guests.").waitFor();
      await person.card("devstack2").getByText("running", { exact: true }).waitFor();
    },
  );
});
