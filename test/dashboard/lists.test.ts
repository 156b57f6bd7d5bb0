import type { Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { overhang, SIZES } from "./support/browser.js";
import type { FakeDashboardServer } from "./support/fake-server.js";
import { hello, hostName, lifeOf, START, serverRow, serverUuid } from "./support/generated-cluster.js";
import { smallCluster, smallRows } from "./support/scenes.js";
import { Visits } from "./support/visits.js";

const PHONE = { width: 390, height: 844 };
const LONG_NAME = "nightly-integration-cluster-of-the-storage-team";

describe("lists and timelines", () => {
  const visits = new Visits();
  let fake: FakeDashboardServer;
  beforeAll(async () => {
    fake = await smallCluster({ hello: () => ({ ...hello(Date.now()), name: LONG_NAME }) });
  });
  afterAll(() => fake.stop());

  async function open(route: string, size: { readonly width: number; readonly height: number } = SIZES.wide) {
    const page = await visits.page({ size });
    await page.goto(`${fake.url}#/${route}`);
    await page.getByText("live", { exact: true }).waitFor();
    return page;
  }

  const names = (page: Page) => page.getByRole("rowheader").allTextContents();

  it("have column heads that sort them with the mouse and the keyboard, and the address keeps the order", async () => {
    const page = await open("servers");
    const head = (name: string) => page.getByRole("columnheader", { name });
    await page.getByRole("rowheader", { name: "vm10" }).waitFor();
    expect((await names(page)).slice(0, 3)).toEqual(["vm1", "vm2", "vm3"]);
    expect(await head("Name").getAttribute("aria-sort")).toBe("ascending");
    expect(await head("Host").getAttribute("aria-sort")).toBe("none");
    expect(await head("Host").getAttribute("title")).toBe("Host that Compute records for the server");

    await head("Name").getByRole("button").click();
    await expect.poll(async () => (await names(page))[0]).toBe("vm24");
    await head("Host").getByRole("button").focus();
    await page.keyboard.press("Enter");
    await expect.poll(async () => (await names(page)).slice(0, 5)).toEqual(["vm1", "vm2", "vm3", "vm4", "vm5"]);
    await page.keyboard.press("Space");
    await expect.poll(async () => (await names(page))[0]).toBe("vm21");
    expect(await head("Host").getAttribute("aria-sort")).toBe("descending");
    expect(await head("Name").getAttribute("aria-sort")).toBe("none");
    await page.reload();
    await expect.poll(async () => (await names(page))[0]).toBe("vm21");
  });

  it("say at each bar the resource class, and what is used of which capacity", async () => {
    const page = await open("placement");
    for (const name of ["VCPU", "MEMORY_MB", "DISK_GB"]) {
      await page.getByRole("columnheader", { name }).waitFor();
    }
    const row = page.getByRole("row").filter({ hasText: hostName(3) });
    await row.getByText("6 / 64").waitFor();
    await row.getByText("3 GiB / 31.5 GiB").waitFor();
    await row.getByText("6 GiB / 200 GiB").waitFor();
    const memory = row.getByRole("img", { name: /^MEMORY_MB/ });
    expect(await memory.getAttribute("aria-label")).toBe(
      "MEMORY_MB: 3 GiB of 31.5 GiB used (2 GiB by servers, 1 GiB by consumers without a server or migration)",
    );
    await page.getByRole("columnheader", { name: "VCPU" }).getByRole("button").click();
    await expect.poll(async () => (await names(page))[0], { message: "the most used host is first" }).toBe(hostName(3));

    await page.setViewportSize(PHONE);
    await row.getByText("MEMORY_MB", { exact: true }).waitFor();
    expect(await overhang(page)).toBeLessThanOrEqual(0);
    await page.getByLabel("Sort by").selectOption("name");
    await expect.poll(async () => (await names(page))[0]).toBe(hostName(0));
    await page.getByRole("button", { name: "Ascending order" }).click();
    await expect.poll(async () => (await names(page))[0]).toBe(hostName(5));
  });

  it("show a few hosts as cards or as a list", async () => {
    const page = await open("hosts");
    await page.getByRole("article", { name: hostName(0) }).waitFor();
    await page.getByRole("button", { name: "Show as list" }).click();
    await page.getByRole("columnheader", { name: "Findings" }).getByRole("button").click();
    await expect.poll(async () => (await names(page))[0]).toBe(hostName(3));
    await page.getByRole("row").filter({ hasText: "1 finding" }).waitFor();
    await page.getByRole("columnheader", { name: "Heartbeat" }).getByRole("button").click();
    await expect.poll(async () => (await names(page))[0], { message: "the oldest first" }).toBe(hostName(3));
    await page.getByRole("button", { name: "Show as cards" }).click();
    await page.getByRole("article", { name: hostName(0) }).waitFor();
  });

  it("do not cut the name of the cluster on a phone", async () => {
    const page = await open("hosts", PHONE);
    const isCut =
      "(({ scrollWidth, clientWidth }) => scrollWidth > clientWidth)(document.querySelector('.brand-name'))";
    expect(await page.locator(".brand-name").textContent()).toBe(LONG_NAME);
    expect(await page.evaluate(isCut)).toBe(false);
    expect(await overhang(page)).toBeLessThanOrEqual(0);
  });

  it("hatch in a timeline what was not observed, with a legend and a hint to scroll", async () => {
    const server = serverRow(12, 3);
    const life = { ...lifeOf(server), states: [], history: [], observedSince: START + 4_500_000 };
    const late = await smallCluster({ rows: smallRows, life: () => life });
    const page = await visits.page({ size: PHONE });
    await page.goto(`${late.url}#/servers/${serverUuid(12)}`);
    const lane = page.getByRole("list", { name: "Task", exact: true }).getByRole("listitem");
    await lane.first().waitFor();
    expect(await page.locator(".stretch.tone-unobserved").first().getAttribute("title")).toMatch(
      /^not observed: task states/,
    );
    const background = "getComputedStyle(document.querySelector('.stretch.tone-unobserved')).backgroundImage";
    expect(await page.evaluate(background)).toContain("repeating-linear-gradient");
    await page.getByRole("list", { name: "Legend" }).getByText("not observed").waitFor();
    await page.getByRole("list", { name: `instance on ${hostName(3)}` }).waitFor();

    const hint = page.getByText("Scroll sideways for the complete timeline.");
    await hint.waitFor();
    await page.getByRole("group", { name: /^Timeline/ }).evaluate((box: { scrollLeft: number }) => {
      box.scrollLeft = 10_000;
    });
    await hint.waitFor({ state: "hidden" });
    await page.setViewportSize(SIZES.wide);
    expect(await hint.count()).toBe(0);
    await page.close();
    await late.stop();
  });
});
