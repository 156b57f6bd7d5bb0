import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { Person } from "./support/person.js";
import { RealCluster } from "./support/real-cluster.js";
import { Visits } from "./support/visits.js";

/** An agent with the old behaviour, which treats an unresponsive Ironic as one without nodes. */
const OLD_ORDER = fileURLToPath(new URL("../../config/scenarios/lost-ironic-provider.conf", import.meta.url));

/** Long enough for several passes, which come every two seconds, on a busy machine. */
const PASSES = { timeout: 60_000 };

describe("a bare-metal provider that is lost while Ironic is away", () => {
  let cluster: RealCluster;
  beforeAll(async () => {
    cluster = await RealCluster.start("--hosts", "0", "--ironic", "1", "--config-file", OLD_ORDER);
  });
  afterAll(() => cluster.stop());
  const visits = new Visits();

  it("disappears from the page with its server's allocations, and comes back without them", async () => {
    const person = new Person(await visits.page(), "lost-provider");
    const { page } = person;
    await person.enter(await cluster.link());
    await person.boot("bm1", { Flavor: "baremetal" });
    await person.openServer("bm1");
    await page.getByTitle(/^vm_state active/).waitFor(PASSES);
    await page.getByRole("row", { name: /^server \w+ .*CUSTOM_BAREMETAL/ }).waitFor();
    await person.keep("deployed");

    await person.choose("ironic1", "Set fault");
    expect(await person.send("Set fault", { Fault: "ironic=refuse" })).toContain("Done");
    await person.goTo("Placement");
    await page.getByText("There are no providers").waitFor(PASSES);
    await person.keep("lost");

    await person.choose("ironic1", "Clear faults");
    expect(await person.send("Clear faults")).toContain("Done");
    await person.goTo("Placement");
    await page.getByText("There are no providers").waitFor({ ...PASSES, state: "detached" });
    await person.keep("back");
    await person.openServer("bm1");
    await page.getByTitle(/^vm_state active/).waitFor();
    await page.getByText("No allocations in Placement.").waitFor();
    await page.getByText("has no allocations in Placement: others may claim its resources").waitFor();
    // Ironic is back, so its agent reports the guest again.
    await page.getByText("server without guest").waitFor({ ...PASSES, state: "detached" });
    await person.keep("holds-nothing");
  });
});
