import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { parse } from "yaml";
import { passwordToken, request } from "../process/support/cloud.js";
import { Person } from "./support/person.js";
import { RealCluster } from "./support/real-cluster.js";
import { Visits } from "./support/visits.js";

const NOBODY = "0b5e55ed-0000-4000-8000-000000000001";
const OTHER = "0b5e55ed-0000-4000-8000-000000000002";

/** Allocates two VCPUs of the host to a consumer, like a script that has lost its server. */
async function allocate(stateDir: string, host: string, consumer: string): Promise<void> {
  const { devstack } = parse(await readFile(join(stateDir, "clouds.yaml"), "utf8")).clouds;
  const { auth_url: identity, username, password, project_name: project } = devstack.auth;
  const token = await passwordToken(identity.replace(/\/v3$/, ""), { username, password, project });
  const placement = `${new URL(identity).origin}/placement`;
  const headers = { "x-auth-token": token, "openstack-api-version": "placement 1.36" };
  const { body } = await request("GET", `${placement}/resource_providers?name=${host}`, undefined, headers);
  const provider = String(Object.values(body.resource_providers ?? {})[0]?.uuid);
  const known = (await request("GET", `${placement}/allocations/${consumer}`, undefined, headers)).body;
  const allocations = { [provider]: { resources: { VCPU: 2 } } };
  const { consumer_generation = null, project_id = "p", user_id = "u" } = known;
  const allocationRequest = { allocations, consumer_generation, project_id, user_id };
  const { status } = await request("PUT", `${placement}/allocations/${consumer}`, allocationRequest, headers);
  expect(status).toBe(204);
}

describe("findings of the audit", () => {
  let cluster: RealCluster;
  beforeAll(async () => {
    cluster = await RealCluster.start("--hosts", "1");
  });
  afterAll(() => cluster.stop());
  const visits = new Visits();

  it("are fixed and restored on the page", async () => {
    const person = new Person(await visits.page(), "audit");
    const { page } = person;
    await person.enter(await cluster.link());
    // If most consumers had no owner, the audit would doubt the records instead.
    for (const name of ["vm1", "vm2"]) {
      await person.boot(name);
      await person.goTo("Hosts");
      await person
        .card("devstack1")
        .getByRole("row", { name: new RegExp(`^${name} ACTIVE running`) })
        .waitFor();
    }
    await allocate(cluster.stateDir, "devstack1", NOBODY);
    await allocate(cluster.stateDir, "devstack1", OTHER);
    await person.goTo("Try it");
    const finding = (consumer: string) =>
      page.getByText(`consumer ${consumer} has 2 VCPU allocated, but no server and no migration has this uuid`);
    await finding(NOBODY).waitFor();
    await finding(OTHER).waitFor();
    await person.keep("wrong");

    const audit = page.getByRole("link", { name: "Audit", exact: true });
    await audit.click();
    expect(await person.send("Audit")).toContain(NOBODY);
    const planned = (consumer: string) =>
      page.getByRole("listitem").filter({ hasText: `all allocations of ${consumer}` });
    await planned(NOBODY).waitFor();
    await person.keep("planned");

    // Applies one of the two edits, and undoes it.
    await planned(OTHER).getByRole("link", { name: "Apply", exact: true }).click();
    expect(await page.getByLabel("Only this consumer or provider").inputValue()).toBe(OTHER);
    expect(await person.send("Apply")).toContain("1 done");
    await finding(OTHER).waitFor({ state: "detached" });
    await finding(NOBODY).waitFor();
    await person.keep("one-is-repaired");
    await planned(OTHER).getByRole("link", { name: "Undo", exact: true }).click();
    expect(await person.send("Undo")).toContain("1 done");
    await finding(OTHER).waitFor();

    // Applies all edits at once.
    await page.getByRole("link", { name: "Apply", exact: true }).first().click();
    await page.getByLabel("Only this consumer or provider").fill("");
    expect(await person.send("Apply")).toContain("2 done");
    await finding(NOBODY).waitFor({ state: "detached" });
    await finding(OTHER).waitFor({ state: "detached" });
    await person.keep("repaired");

    // Only the audit compares amounts with flavors.
    await person.openServer("vm1");
    const server = new URL(page.url()).hash.replace("#/servers/", "");
    await allocate(cluster.stateDir, "devstack1", server);
    await page.getByRole("link", { name: "No findings" }).click();
    await person.open(page, "Audit");
    expect(await person.send("Audit")).toContain(`wrong-amounts: server vm1 (${server})`);
    await page.getByRole("banner").getByText("1 finding", { exact: true }).waitFor();
    const card = page.getByRole("article").filter({ hasText: "wrong amounts" });
    await card.getByText(`compute-agent apply --only ${server}`).waitFor();
    await person.keep("wrong-amounts");
    // A change of the consumer makes the finding obsolete.
    await cluster.run("apply", join(cluster.stateDir, "window-plan.json"), "--only", server);
    await page.getByRole("banner").getByText("No findings", { exact: true }).waitFor();
  });
});
