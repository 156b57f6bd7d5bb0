import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { FakeDashboardServer } from "./support/fake-server.js";
import { hostName, networkUuid, portRow, portUuid, serverUuid } from "./support/generated-cluster.js";
import { smallCluster } from "./support/scenes.js";
import { Visits } from "./support/visits.js";

describe("the networks of the dashboard", () => {
  const visits = new Visits();
  let fake: FakeDashboardServer;
  beforeAll(async () => {
    fake = await smallCluster();
  });
  afterAll(() => fake.stop());

  async function open(route: string) {
    const page = await visits.page();
    await page.goto(`${fake.url}#/${route}`);
    await page.getByText("live", { exact: true }).waitFor();
    return page;
  }

  it("lead from a network to its ports, and from a port to its server", async () => {
    const page = await open("networks");
    await page
      .getByRole("table", { name: "Routers" })
      .or(page.getByRole("row", { name: /router1/ }))
      .first()
      .waitFor();
    await page.getByRole("rowheader", { name: "private" }).getByRole("link").click();
    await page.getByRole("heading", { name: "Subnets 2" }).waitFor();
    const row = page.getByRole("row").filter({ hasText: "172.24.4.80" });
    await row.getByText("10.0.0.12").waitFor();
    await row.getByRole("link", { name: "vm13" }).click();
    await page.getByRole("heading", { name: "Ports 1" }).waitFor();
    await page.getByRole("link", { name: "private" }).click();
    await page.getByRole("heading", { name: "Ports 24" }).waitFor();
  });

  it("mark ports of ACTIVE servers that are DOWN, failed bindings and inactive ones", async () => {
    const page = await open("ports");
    const failed = page.getByRole("row").filter({ hasText: "binding_failed" });
    await failed.getByText("DOWN").waitFor();
    expect(await failed.getAttribute("class")).toContain("line-wrong");
    const moving = page.getByRole("row").filter({ hasText: "inactive" });
    await moving
      .getByRole("link", { name: hostName(1) })
      .first()
      .waitFor();
    expect(await moving.getAttribute("class")).not.toContain("line-wrong");
  });

  it("follow their records", async () => {
    const page = await open(`servers/${serverUuid(12)}`);
    await page.getByRole("heading", { name: "Ports 1" }).waitFor();
    const port = { ...portRow(12, 3), status: "DOWN", bindings: [{ host: "elsewhere", vifType: "ovs", active: true }] };
    fake.push([{ kind: "port", key: portUuid(12), value: port }]);
    await page.getByRole("row").filter({ hasText: "elsewhere" }).getByText("DOWN").waitFor();
    const other = { ...portRow(99, 3), server: serverUuid(12), network: networkUuid(2) };
    fake.push([{ kind: "port", key: portUuid(99), value: other }]);
    await page.getByRole("heading", { name: "Ports 2" }).waitFor();
  });
});
