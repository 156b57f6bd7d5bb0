import { afterEach, describe, expect, it } from "vitest";
import type { DashboardRow } from "../../src/dashboard/wire/messages.js";
import { violations } from "./support/accessible.js";
import type { FakeDashboardServer } from "./support/fake-server.js";
import { hostName, serverUuid } from "./support/generated-cluster.js";
import { smallCluster, smallRows } from "./support/scenes.js";
import { Visits } from "./support/visits.js";

const staleGuest = (index: number): DashboardRow => ({
  kind: "finding",
  key: `guest ${index}`,
  value: {
    code: "stale-guest",
    text: `server vm${index} is recorded on ${hostName(1)}`,
    explanation: "When the agent of this host starts, it removes the guest and the allocations.",
    commands: [`compute-agent host start ${hostName(0)}`],
    host: hostName(0),
    server: serverUuid(index),
    consumer: null,
    provider: null,
  },
});

describe("the badge of findings", () => {
  let fake: FakeDashboardServer;
  // Hooks run in reverse order: pages are closed before their server stops.
  afterEach(() => fake.stop());
  const visits = new Visits();

  it("counts them in every view, and leads to their explanations and repairs", async () => {
    fake = await smallCluster();
    const page = await visits.page();
    await page.goto(`${fake.url}#/servers`);
    const badge = page.getByRole("link", { name: /findings?$/ });
    await page.getByText("1 finding", { exact: true }).waitFor();
    fake.push([staleGuest(1), staleGuest(2)]);
    await page.getByRole("banner").getByText("3 findings", { exact: true }).waitFor();
    await badge.first().click();
    await page.getByRole("heading", { level: 1, name: "Findings 3" }).waitFor();
    const card = page.getByRole("article").filter({ hasText: `server vm1 is recorded on ${hostName(1)}` });
    await card.getByText("When the agent of this host starts, it removes the guest and the allocations.").waitFor();
    await card.getByText(`compute-agent host start ${hostName(0)}`).waitFor();
    await card.getByRole("link", { name: hostName(0) }).waitFor();
    expect(await violations(page)).toEqual([]);

    await page.getByLabel("Code").selectOption("stale-allocation");
    await expect.poll(() => page.getByRole("article").count()).toBe(1);
    fake.push(
      [],
      [1, 2].map((index) => ({ kind: "finding" as const, key: `guest ${index}` })),
    );
    await page.getByRole("banner").getByText("1 finding", { exact: true }).waitFor();
  });

  it("says that there are none", async () => {
    const rows = [...smallRows()].filter(({ kind }) => kind !== "finding");
    fake = await smallCluster({ rows: () => rows });
    const page = await visits.page();
    await page.goto(`${fake.url}#/findings`);
    await page.getByRole("banner").getByText("No findings", { exact: true }).waitFor();
    await page.getByText("No findings. Records, guests and allocations agree.").waitFor();
  });

  it("stays fast with 10,000 findings: the view renders a part of them", async () => {
    const rows = [...smallRows(), ...Array.from({ length: 10_000 }, (_, index) => staleGuest(index))];
    fake = await smallCluster({ rows: () => rows });
    const page = await visits.page();
    await page.goto(`${fake.url}#/findings`);
    await page.getByRole("banner").getByText("10,001 findings", { exact: true }).waitFor();
    expect(await page.getByRole("article").count()).toBe(50);
    await page.getByRole("button", { name: "Show 50 of 9,951 further findings" }).click();
    await expect.poll(() => page.getByRole("article").count()).toBe(100);
  });
});
