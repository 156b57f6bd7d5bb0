import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { parse } from "yaml";
import { passwordToken, request } from "../process/support/cloud.js";
import { Person } from "./support/person.js";
import { RealCluster } from "./support/real-cluster.js";
import { Visits } from "./support/visits.js";

const NOBODY = "0b5e55ed-0000-4000-8000-000000000001";

/** Has nobody hold two VCPUs of the host, as a script would that has lost its server. */
async function holdForNobody(stateDir: string, host: string): Promise<void> {
  const { devstack } = parse(await readFile(join(stateDir, "clouds.yaml"), "utf8")).clouds;
  const { auth_url: identity, username, password, project_name: project } = devstack.auth;
  const token = await passwordToken(identity.replace(/\/v3$/, ""), { username, password, project });
  const placement = `${new URL(identity).origin}/placement`;
  const headers = { "x-auth-token": token, "openstack-api-version": "placement 1.36" };
  const { body } = await request("GET", `${placement}/resource_providers?name=${host}`, undefined, headers);
  const provider = String(Object.values(body.resource_providers ?? {})[0]?.uuid);
  const allocations = { [provider]: { resources: { VCPU: 2 } } };
  const wanted = { allocations, consumer_generation: null, project_id: "p", user_id: "u" };
  const { status } = await request("PUT", `${placement}/allocations/${NOBODY}`, wanted, headers);
  expect(status).toBe(204);
}

describe("what the audit finds", () => {
  let cluster: RealCluster;
  beforeAll(async () => {
    cluster = await RealCluster.start("--hosts", "1");
  });
  afterAll(() => cluster.stop());
  const visits = new Visits();

  it("is mended and taken back on the page", async () => {
    const person = new Person(await visits.page(), "audit");
    const { page } = person;
    await person.enter(await cluster.link());
    await holdForNobody(cluster.stateDir, "devstack1");
    await person.goTo("Try it");
    const finding = page.getByText("holds 2 VCPU, but no server and no migration has this uuid");
    await finding.waitFor();
    await person.keep("wrong");

    const audit = page.getByRole("link", { name: "Audit", exact: true });
    await audit.click();
    expect(await person.send("Audit")).toContain(NOBODY);
    await page.getByRole("link", { name: "Apply", exact: true }).first().click();
    expect(await person.send("Apply")).toContain("Done");
    await finding.waitFor({ state: "detached" });
    await person.keep("mended");

    await page.getByRole("link", { name: "Undo", exact: true }).first().click();
    expect(await person.send("Undo")).toContain("Done");
    await finding.waitFor();
  });
});
