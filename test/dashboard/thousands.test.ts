import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { overhang } from "./support/browser.js";
import type { FakeDashboardServer } from "./support/fake-server.js";
import { hostName, rowsOf } from "./support/generated-cluster.js";
import { smallCluster } from "./support/scenes.js";
import { Visits } from "./support/visits.js";

describe("the dashboard with five thousand hosts", () => {
  const visits = new Visits();
  let fake: FakeDashboardServer;
  beforeAll(async () => {
    fake = await smallCluster({ rows: () => rowsOf({ hosts: 5_000, servers: 20_000 }, Date.now()) });
  });
  afterAll(() => fake.stop());

  it("draws only the visible hosts, scrolls to the last one, and finds one by name", async () => {
    const page = await visits.page();
    await page.goto(fake.url);
    await page.getByRole("heading", { name: "Hosts 5,000" }).waitFor();
    const lines = page.getByRole("table", { name: "Hosts" }).getByRole("row");
    await lines.first().waitFor();
    expect(await lines.count()).toBeLessThan(60);
    await page.evaluate("scrollTo(0, document.body.scrollHeight)");
    await page.getByRole("link", { name: hostName(4_999) }).waitFor();
    expect(await overhang(page)).toBe(0);
    await page.getByRole("searchbox", { name: /Filter hosts/ }).fill(hostName(4_321));
    await page.getByRole("article", { name: hostName(4_321) }).waitFor();
  });
});
