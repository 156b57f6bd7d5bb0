import type { Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { DashboardRow } from "../../src/dashboard/wire/messages.js";
import { violations } from "./support/accessible.js";
import { overhang, SIZES, screenshot } from "./support/browser.js";
import type { FakeDashboardServer } from "./support/fake-server.js";
import { hello, hostName, lifeOf, serverRow, serverUuid } from "./support/generated-cluster.js";
import { requests, smallCluster, smallRows, VIEWS } from "./support/scenes.js";
import { Visits } from "./support/visits.js";

const VARIANTS = Object.entries(SIZES).flatMap(([name, size]) =>
  (["light", "dark"] as const).map((colorScheme) => ({ name: `${name}-${colorScheme}`, size, colorScheme })),
);
const LONG_HOST = "production-compute-rack-0017-chassis-3-blade-12.east-2.internal.example.org";
const longServer = { ...serverRow(12, 3), host: LONG_HOST, name: `the-database-of-the-${"x".repeat(200)}` };

function* longRows(): Generator<DashboardRow> {
  for (const row of smallRows()) {
    yield JSON.parse(JSON.stringify(row).replaceAll(hostName(3), LONG_HOST)) as DashboardRow;
  }
  yield { kind: "server", key: longServer.uuid, value: longServer };
}

/** Returns a consumer's amounts whose right end is cut off by a table that is wider than its box. */
function cutAmounts(page: Page): Promise<string[]> {
  return page.evaluate<string[]>(`[...document.querySelectorAll(".scroll .amounts > *")]
    .filter((amount) => amount.getBoundingClientRect().right > amount.closest(".scroll").getBoundingClientRect().right + 1)
    .map((amount) => amount.textContent)`);
}

const HUGE = { width: 2560, height: 1440 };

describe("the views of the dashboard", () => {
  const visits = new Visits();
  let fake: FakeDashboardServer;
  beforeAll(async () => {
    fake = await smallCluster();
  });
  afterAll(() => fake.stop());

  it.each(VIEWS)("$route is accessible, and nothing of it is cut off", async ({ route, shows }) => {
    const page = await visits.page();
    await page.goto(`${fake.url}#/${route}`);
    if (route === "requests") {
      await page.getByText("Requests of clients and agents appear here").waitFor();
      fake.push(requests(40));
    }
    await page.getByText(shows).first().waitFor();
    for (const { name, size, colorScheme } of VARIANTS) {
      await page.setViewportSize(size);
      await page.emulateMedia({ colorScheme });
      await screenshot(page, `view-${route.replace(/\W+/g, "-").slice(0, 30)}-${name}`);
      expect(await violations(page), name).toEqual([]);
      expect(await overhang(page), `${name}: pixels beside the screen`).toBeLessThanOrEqual(0);
      expect(await cutAmounts(page), `${name}: amounts that have to be scrolled to`).toEqual([]);
    }
    await page.setViewportSize(HUGE);
    expect(await overhang(page), "2560 wide").toBeLessThanOrEqual(0);
  });

  it.each(["hosts", `hosts/${LONG_HOST}`, "servers", `servers/${serverUuid(12)}`, "placement"])(
    "%s has room for long names, and for what stands beside them",
    async (route) => {
      const long = await smallCluster({ rows: longRows, life: () => lifeOf(longServer) });
      const page = await visits.page();
      await page.goto(`${long.url}#/${route}`);
      await page
        .getByText(route === "placement" ? LONG_HOST : /^the-database|^production/)
        .first()
        .waitFor();
      for (const { name, size } of VARIANTS.filter(({ colorScheme }) => colorScheme === "light")) {
        await page.setViewportSize(size);
        await screenshot(page, `long-${route.replace(/\W+/g, "-").slice(0, 20)}-${name}`);
        expect(await overhang(page), name).toBeLessThanOrEqual(0);
        const tallest = await page.evaluate<number>(
          `Math.max(0, ...[...document.querySelectorAll(".card-head .state, .pairs .state")].map((state) => state.offsetHeight))`,
        );
        expect(tallest, `${name}: a state is a line`).toBeLessThan(30);
      }
      await page.close();
      await long.stop();
    },
  );

  it("shows the bodies of a request on a click, and Esc closes them", async () => {
    const page = await visits.page();
    await page.goto(`${fake.url}#/requests`);
    await page.getByText("Requests of clients and agents appear here").waitFor();
    fake.push(requests(3));
    await page.getByRole("button", { name: "409" }).click();
    const bodies = page.getByRole("dialog");
    await bodies.getByText('"server": {}').waitFor();
    expect(await violations(page)).toEqual([]);
    for (const size of Object.values(SIZES)) {
      await page.setViewportSize(size);
      expect(await overhang(page)).toBeLessThanOrEqual(0);
    }
    await page.keyboard.press("Escape");
    await bodies.waitFor({ state: "detached" });
  });

  it("shows a complete log entry on a click, and Esc closes it", async () => {
    const page = await visits.page();
    await page.goto(`${fake.url}#/logs`);
    await page.getByText("live_migration step 59").click();
    const entry = page.getByRole("dialog");
    await entry.getByText("Error: the guest is gone").waitFor();
    expect(await violations(page)).toEqual([]);
    for (const size of Object.values(SIZES)) {
      await page.setViewportSize(size);
      expect(await overhang(page)).toBeLessThanOrEqual(0);
    }
    await page.keyboard.press("Escape");
    await entry.waitFor({ state: "detached" });
  });

  it("suggests what to do in an empty list", async () => {
    const empty = await smallCluster({ rows: () => [] });
    const page = await visits.page();
    for (const [route, text] of [
      ["hosts", "compute-agent host add devstack1"],
      ["servers", "There are no servers yet."],
      ["placement", "The first host that starts creates one"],
    ]) {
      await page.goto(`${empty.url}#/${route}`);
      await page.getByText(text ?? "").waitFor();
      expect(await violations(page)).toEqual([]);
    }
    await page.close();
    await empty.stop();
  });

  it("offers no actions and no snapshot to restore in a read-only session", async () => {
    const readOnly = await smallCluster({ hello: () => hello(Date.now(), []) });
    const page = await visits.page();
    await page.goto(`${readOnly.url}#/hosts`);
    await page.getByText("live, read-only").waitFor();
    expect(await page.getByRole("link", { name: "Try it" }).count()).toBe(0);
    expect(await page.getByRole("link", { name: "Kill" }).count()).toBe(0);
    await page.goto(`${readOnly.url}#/try`);
    await page.getByText("This session is read-only").waitFor();
    await page.close();
    await readOnly.stop();
  });
});
