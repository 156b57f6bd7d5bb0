import { afterEach, describe, expect, it } from "vitest";
import type { DashboardRow } from "../../src/dashboard/wire/messages.js";
import type { FakeDashboardServer } from "./support/fake-server.js";
import { hostName, hostRow, serverRow, serverUuid } from "./support/generated-cluster.js";
import { smallCluster, smallRows } from "./support/scenes.js";
import { Visits } from "./support/visits.js";

describe("the live dashboard", () => {
  let fake: FakeDashboardServer;
  // Hooks run in reverse order: pages are closed before their server stops.
  afterEach(() => fake.stop());
  const visits = new Visits();

  it("shows changes without a reload", async () => {
    fake = await smallCluster();
    const page = await visits.page();
    await page.goto(`${fake.url}#/hosts`);
    const card = page.getByRole("article", { name: hostName(0) });
    await card.getByText("up", { exact: true }).waitFor();
    const requestCount = fake.requests.length;
    fake.push([{ kind: "host", key: hostName(0), value: { ...hostRow(0), state: "down", agent: "killed" } }]);
    await card.getByText("killed", { exact: true }).waitFor();
    fake.push([{ kind: "server", key: serverUuid(0), value: { ...serverRow(0, 0), taskState: "rebuilding" } }]);
    await card.getByText("ACTIVE · rebuilding").waitFor();
    fake.push([], [{ kind: "host", key: hostName(0) }]);
    await card.waitFor({ state: "detached" });
    expect(fake.requests.slice(requestCount)).toEqual([]);
  });

  it("shows a lost connection and the age of its data, reconnects by itself, and drops rows removed meanwhile", async () => {
    let rows: readonly DashboardRow[] = [...smallRows()];
    fake = await smallCluster({ rows: () => rows });
    const port = Number(new URL(fake.url).port);
    const page = await visits.page({ allowed: /ERR_(CONNECTION_REFUSED|INCOMPLETE_CHUNKED_ENCODING|EMPTY_RESPONSE)/ });
    await page.goto(`${fake.url}#/hosts`);
    await page.getByText("live", { exact: true }).waitFor();
    await fake.stop();
    await page.getByText("disconnected", { exact: true }).waitFor();
    await page.getByText(/data from \d\d:\d\d:\d\d, \d+ s old/).waitFor();
    expect(await page.getByRole("article").count(), "it shows what it knows").toBe(6);

    rows = rows.filter(({ kind, key }) => !(kind === "host" && key === hostName(1)));
    await fake.start(port);
    await page.getByText("live", { exact: true }).waitFor();
    await page.getByRole("article", { name: hostName(1) }).waitFor({ state: "detached" });
    expect(await page.getByRole("article").count()).toBe(5);
  });

  it("asks for the password when the session has ended, and then returns to the same view", async () => {
    fake = await smallCluster({ password: "secret" });
    const page = await visits.page({ allowed: /401/ });
    await page.goto(`${fake.url}#/servers`);
    await page.getByRole("heading", { name: "Sign in to the cluster" }).waitFor();
    await page.getByLabel("Password").fill("wrong");
    await page.getByRole("button", { name: "Sign in" }).click();
    await page.getByText("The user name or the password is wrong.").waitFor();
    await page.getByLabel("Password").fill("secret");
    await page.keyboard.press("Enter");
    await page.getByRole("link", { name: "vm13" }).waitFor();
  });

  it("receives requests only while they are displayed", async () => {
    fake = await smallCluster();
    const page = await visits.page();
    await page.goto(`${fake.url}#/hosts`);
    await page.getByText("live", { exact: true }).waitFor();
    expect([fake.requests.includes("GET /window/requests"), fake.listeners]).toEqual([false, 1]);
    await page.getByRole("link", { name: "Requests" }).click();
    await page.getByText("Requests of clients and agents appear here").waitFor();
    await expect.poll(() => fake.requests).toContain("GET /window/requests");
    await page.getByRole("link", { name: "Servers" }).click();
    await expect.poll(() => fake.listeners).toBe(1);
    // All other data was sent once: neither leaving nor returning restarted the stream.
    expect(fake.requests.filter((request) => request === "GET /window/events")).toHaveLength(1);
  });

  it("draws once per frame, however many changes arrive", async () => {
    fake = await smallCluster();
    const page = await visits.page();
    await page.goto(`${fake.url}#/hosts`);
    await page.getByText("live", { exact: true }).waitFor();
    await page.evaluate(`
      window.drawn = 0; window.frames = 0; window.began = performance.now();
      const count = () => { window.frames++; requestAnimationFrame(count); };
      requestAnimationFrame(count);
      new MutationObserver(() => { window.drawn++; }).observe(document.getElementById("app"), { subtree: true, childList: true, characterData: true, attributes: true });
    `);
    for (let event = 0; event < 5_000; event++) {
      fake.push([
        { kind: "host", key: hostName(event % 6), value: { ...hostRow(event % 6), reason: `event ${event}` } },
      ]);
    }
    await page.getByText("event 4999").waitFor();
    const { drawn, frames, seconds } = await page.evaluate<{ drawn: number; frames: number; seconds: number }>(
      "({ drawn, frames, seconds: Math.ceil((performance.now() - began) / 1000) })",
    );
    // One batch of changes per frame, the clock's update per second, and the frames pending at the beginning.
    expect(drawn).toBeLessThanOrEqual(frames + seconds + 3);
    expect(drawn).toBeLessThan(1_000);
  });
});
