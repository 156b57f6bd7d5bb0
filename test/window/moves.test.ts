import { afterEach, describe, expect, it } from "vitest";
import { Person } from "./support/person.js";
import { RealCluster } from "./support/real-cluster.js";
import { Visits } from "./support/visits.js";

describe("a resize on the page", () => {
  let cluster: RealCluster;
  // Hooks run backwards: pages are closed before the cluster is.
  afterEach(() => cluster.stop());
  const visits = new Visits();

  it.each([
    { release: "queens", holder: "migration", half: "move holds" },
    { release: "pike", holder: "server", half: "server holds" },
  ])("shows by whom both halves are held, as in $release, until it is confirmed", async ({ release, holder, half }) => {
    cluster = await RealCluster.start("--releases", `${release},${release}`);
    const person = new Person(await visits.page(), `resize-${release}`);
    const { page } = person;
    await person.enter(await cluster.link());
    await person.goTo("Try it");
    await page.getByRole("link", { name: "Boot a server" }).click();
    const server = { Name: "vm1", Flavor: "m1.tiny", Image: "cirros", "To host": "devstack1" };
    expect(await person.send("Boot a server", server)).toContain("Done");
    await person.openServer("vm1");
    await page.getByText("ACTIVE", { exact: true }).waitFor();
    await page.getByRole("link", { name: "Resize", exact: true }).click();
    expect(await person.send("Resize", { Flavor: "m1.small" })).toContain("Done");

    await person.openServer("vm1");
    await page.getByText("VERIFY_RESIZE", { exact: true }).waitFor();
    const old = page.getByRole("row", { name: new RegExp(`^${holder} \\w+ devstack1 .*512 MiB`) });
    await old.waitFor();
    await page.getByRole("row", { name: /^server \w+ devstack2 .*2 GiB/ }).waitFor();
    // The two lanes: who held room on the host that it leaves, and who on the one that it goes to.
    await page
      .getByRole("list", { name: `devstack1 ${half}`, exact: true })
      .getByText(holder)
      .last()
      .waitFor();
    await page.getByRole("list", { name: "devstack2 server holds", exact: true }).waitFor();
    await (release === "queens" ? person.picture("two-halves") : person.keep("two-halves"));

    await page.getByRole("link", { name: "Confirm", exact: true }).click();
    expect(await person.send("Confirm")).toContain("Done");
    await person.openServer("vm1");
    await page.getByText("ACTIVE", { exact: true }).waitFor();
    await old.waitFor({ state: "detached" });
    await person.keep("confirmed");
  });
});
