import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { violations } from "./support/accessible.js";
import { overhang, SIZES, screenshot } from "./support/browser.js";
import type { FakeWindow } from "./support/fake-window.js";
import { hello } from "./support/generated-cluster.js";
import { requests, smallCluster, VIEWS } from "./support/scenes.js";
import { Visits } from "./support/visits.js";

const LOOKS = Object.entries(SIZES).flatMap(([name, size]) =>
  (["light", "dark"] as const).map((colorScheme) => ({ name: `${name}-${colorScheme}`, size, colorScheme })),
);
const HUGE = { width: 2560, height: 1440 };

describe("the views of the window", () => {
  const visits = new Visits();
  let fake: FakeWindow;
  beforeAll(async () => {
    fake = await smallCluster();
  });
  afterAll(() => fake.stop());

  it.each(VIEWS)("$route can be used by everybody, and nothing of it is cut", async ({ route, shows }) => {
    const page = await visits.page();
    await page.goto(`${fake.url}#/${route}`);
    if (route === "requests") {
      await page.getByText("Whatever clients and agents ask appears here").waitFor();
      fake.push(requests(40));
    }
    await page.getByText(shows).first().waitFor();
    for (const { name, size, colorScheme } of LOOKS) {
      await page.setViewportSize(size);
      await page.emulateMedia({ colorScheme });
      await screenshot(page, `view-${route.replace(/\W+/g, "-").slice(0, 30)}-${name}`);
      expect(await violations(page), name).toEqual([]);
      expect(await overhang(page), `${name}: pixels beside the screen`).toBeLessThanOrEqual(0);
    }
    await page.setViewportSize(HUGE);
    expect(await overhang(page), "2560 wide").toBeLessThanOrEqual(0);
  });

  it("shows the bodies of a request on a click, and Esc closes them", async () => {
    const page = await visits.page();
    await page.goto(`${fake.url}#/requests`);
    await page.getByText("Whatever clients and agents ask appears here").waitFor();
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

  it("says what to do where there is nothing", async () => {
    const empty = await smallCluster({ rows: () => [] });
    const page = await visits.page();
    for (const [route, text] of [
      ["hosts", "compute-cluster host add devstack1"],
      ["servers", "There is no server yet."],
      ["placement", "the first host that starts makes one"],
    ]) {
      await page.goto(`${empty.url}#/${route}`);
      await page.getByText(text ?? "").waitFor();
      expect(await violations(page)).toEqual([]);
    }
    await page.close();
    await empty.stop();
  });

  it("has nothing to do and no snapshot to restore when it is read-only", async () => {
    const readOnly = await smallCluster({ hello: () => hello(Date.now(), []) });
    const page = await visits.page();
    await page.goto(`${readOnly.url}#/hosts`);
    await page.getByText("live, read-only").waitFor();
    expect(await page.getByRole("link", { name: "Try it" }).count()).toBe(0);
    expect(await page.getByRole("link", { name: "Kill" }).count()).toBe(0);
    await page.goto(`${readOnly.url}#/try`);
    await page.getByText("This window is read-only").waitFor();
    await page.close();
    await readOnly.stop();
  });
});
