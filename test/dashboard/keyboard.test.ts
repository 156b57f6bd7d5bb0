import type { Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { violations } from "./support/accessible.js";
import type { FakeDashboardServer } from "./support/fake-server.js";
import { hostName, serverUuid } from "./support/generated-cluster.js";
import { smallCluster } from "./support/scenes.js";
import { Visits } from "./support/visits.js";

const hashOf = (page: Page): string => new URL(page.url()).hash;

/** Presses Tab until an element of this name has the focus. */
async function tabTo(page: Page, name: string): Promise<void> {
  const found = `document.activeElement?.textContent === ${JSON.stringify(name)}`;
  for (let press = 0; press < 60; press++) {
    await page.keyboard.press("Tab");
    if (await page.evaluate<boolean>(found)) {
      return;
    }
  }
  throw new Error(`Tab does not lead to ${name}`);
}

describe("the dashboard without a mouse", () => {
  const visits = new Visits();
  let fake: FakeDashboardServer;
  let page: Page;
  beforeAll(async () => {
    fake = await smallCluster();
  });
  afterAll(() => fake.stop());

  async function open(route: string): Promise<void> {
    page = await visits.page();
    await page.goto(`${fake.url}#/${route}`);
    await page.getByText("live").waitFor();
  }

  it("searches with /, chooses with the arrows and Enter, and Esc closes", async () => {
    await open("hosts");
    await page.keyboard.press("/");
    await page.keyboard.type("vm13");
    await page.getByRole("option", { name: "vm13" }).waitFor();
    expect(await violations(page)).toEqual([]);
    await page.keyboard.press("Escape");
    await page.getByRole("option").first().waitFor({ state: "hidden" });

    await page.keyboard.press("/");
    await page.keyboard.type("node00");
    await page
      .getByRole("option", { name: hostName(1) })
      .first()
      .waitFor();
    await page.keyboard.press("ArrowDown");
    await page.keyboard.press("Enter");
    await page
      .getByRole("heading", { name: hostName(1) })
      .first()
      .waitFor();
    expect(hashOf(page)).toBe(`#/hosts/${hostName(1)}`);
  });

  it("inserts / in a text field instead of opening the search", async () => {
    await open("servers");
    const filter = page.getByRole("searchbox", { name: /Filter servers/ });
    await filter.focus();
    await page.keyboard.type("a/b");
    expect(await filter.inputValue()).toBe("a/b");
    await page.keyboard.press("Escape");
    expect(await filter.inputValue()).toBe("");
  });

  it("reaches views and actions by Tab, with a visible focus", async () => {
    await open("hosts");
    await tabTo(page, "Placement");
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { name: "Placement" }).waitFor();
    await tabTo(page, hostName(0));
    const outline = await page.evaluate<string>("getComputedStyle(document.activeElement).outlineStyle");
    expect(outline).toBe("solid");
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { name: "Inventory" }).waitFor();
  });

  it("asks for confirmation before a destructive action; Esc cancels it, Enter sends it with the session's header", async () => {
    await open(`try/host-kill?host=${hostName(0)}`);
    await page.getByText(`compute-agent host kill ${hostName(0)}`).waitFor();
    const kill = page.getByRole("button", { name: "Kill" });
    await kill.focus();
    await page.keyboard.press("Enter");
    const sure = page.getByRole("dialog");
    await sure.waitFor();
    expect(await violations(page)).toEqual([]);
    await page.keyboard.press("Escape");
    await sure.waitFor({ state: "hidden" });
    expect(fake.acted).toEqual([]);

    await kill.focus();
    await page.keyboard.press("Enter");
    await sure.waitFor();
    await sure.getByRole("button", { name: "Kill" }).press("Enter");
    await page.getByText("Done").waitFor();
    expect(fake.acted).toEqual([{ name: "host-kill", body: { host: hostName(0) }, secret: "a secret of the page" }]);
  });

  it("stores filters in the address, so that a link shows the same rows", async () => {
    await open("servers");
    await page.getByRole("searchbox", { name: /Filter servers/ }).fill("vm13");
    // The address changes with the next frame.
    await page.waitForURL("**/#/servers?q=vm13");
    await page.reload();
    await page.getByRole("link", { name: "vm13" }).waitFor();
    expect(await page.getByRole("link", { name: /^vm/ }).count()).toBe(1);
    await page.getByRole("link", { name: "vm13" }).click();
    await page.getByRole("heading", { name: "vm13" }).waitFor();
    expect(hashOf(page)).toBe(`#/servers/${serverUuid(12)}`);
    await page.goBack();
    await page.getByRole("link", { name: "vm13" }).waitFor();
  });
});
