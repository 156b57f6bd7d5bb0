import type { Page } from "playwright-core";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { violations } from "./support/accessible.js";
import { overhang, SIZES } from "./support/browser.js";
import type { FakeDashboardServer } from "./support/fake-server.js";
import { hostName, hostRow, serverRow, serverUuid } from "./support/generated-cluster.js";
import { smallCluster } from "./support/scenes.js";
import { Visits } from "./support/visits.js";

const NOTHING = { commands: [], error: null, code: null, lines: [], made: null, requestId: null };

describe("an action on the object that is displayed", () => {
  let fake: FakeDashboardServer;
  beforeEach(async () => {
    fake = await smallCluster();
  });
  // Hooks run in reverse order: pages are closed before their server stops.
  afterEach(() => fake.stop());
  const visits = new Visits();

  async function open(route: string, allowed?: RegExp): Promise<Page> {
    const page = await visits.page(allowed === undefined ? {} : { allowed });
    await page.goto(`${fake.url}#/${route}`);
    await page.getByText("live", { exact: true }).waitFor();
    return page;
  }

  it("opens a dialog over the view that names the object and the consequence, and closes after a success", async () => {
    const page = await open("hosts");
    const card = page.getByRole("article", { name: hostName(0) });
    await card.getByRole("button", { name: "Kill" }).click();
    const dialog = page.getByRole("dialog", { name: `Kill ${hostName(0)}?` });
    await dialog.getByText("Its 4 guests keep running.").waitFor();
    await dialog.getByText(`compute-agent host kill ${hostName(0)}`).waitFor();
    expect(await violations(page)).toEqual([]);
    expect(await page.evaluate("document.activeElement.textContent"), "the safe choice has the focus").toBe("Cancel");
    await page.keyboard.press("Escape");
    await dialog.waitFor({ state: "detached" });
    expect(fake.acted).toEqual([]);

    await card.getByRole("button", { name: "Kill" }).click();
    await dialog.getByRole("button", { name: "Kill" }).click();
    await dialog.waitFor({ state: "detached" });
    await page
      .getByRole("status")
      .getByText(`Kill ${hostName(0)}: Done`)
      .waitFor();
    expect(await violations(page)).toEqual([]);
    expect(fake.acted).toEqual([{ name: "host-kill", body: { host: hostName(0) }, secret: "a secret of the page" }]);
    expect(new URL(page.url()).hash, "the view is the same").toBe("#/hosts");
    await page.getByRole("button", { name: "Dismiss" }).click();
    await page.getByText("Done").waitFor({ state: "detached" });
  });

  it("is disabled if the state of the object forbids it, and says why", async () => {
    const page = await open(`hosts/${hostName(0)}`);
    const start = page.getByRole("button", { name: "Start" });
    const reason = `The agent of ${hostName(0)} is already running (serving).`;
    expect(await start.getAttribute("aria-disabled")).toBe("true");
    expect(await start.getAttribute("title")).toBe(reason);
    const described = "document.getElementById(document.activeElement.getAttribute('aria-describedby')).textContent";
    await start.focus();
    expect(await page.evaluate(described), "it can be reached with the keyboard").toBe(reason);
    await page.keyboard.press("Enter");
    expect(await page.getByRole("dialog").count()).toBe(0);

    fake.push([{ kind: "host", key: hostName(0), value: { ...hostRow(0), agent: "killed", state: "down" } }]);
    await page.getByText("killed", { exact: true }).waitFor();
    expect(await start.getAttribute("aria-disabled")).toBe("false");
    expect(await page.getByRole("button", { name: "Kill" }).getAttribute("title")).toBe(
      `The agent of ${hostName(0)} is not running (killed).`,
    );
  });

  it("of a server is disabled by its state and by that of its host", async () => {
    const page = await open(`servers/${serverUuid(12)}`);
    const evacuate = page.getByRole("button", { name: "Evacuate" });
    await evacuate.waitFor();
    expect(await evacuate.getAttribute("aria-disabled")).toBe("false");
    fake.push([{ kind: "server", key: serverUuid(12), value: serverRow(12, 0) }]);
    await page
      .getByRole("link", { name: hostName(0) })
      .first()
      .waitFor();
    expect(await evacuate.getAttribute("title")).toBe(`${hostName(0)} is up. Kill or fence the host first.`);
    fake.push([
      { kind: "server", key: serverUuid(12), value: { ...serverRow(12, 0), vmState: "rescued", status: "RESCUE" } },
    ]);
    await page.getByText("RESCUE", { exact: true }).waitFor();
    expect(await evacuate.getAttribute("title")).toBe("vm13 is rescued. The server must be active, stopped or error.");
  });

  it("shows the error of an API as a sentence with its code, and stays open", async () => {
    fake.actionResponse = {
      ...NOTHING,
      ok: false,
      error: "Compute host rack01-node002 could not be found.",
      code: "computeHostNotFound (404)",
    };
    const page = await open(`servers/${serverUuid(12)}`);
    await page.getByRole("button", { name: "Evacuate" }).click();
    const dialog = page.getByRole("dialog", { name: "Evacuate: vm13" });
    const destinations = await dialog.getByLabel("Destination host").locator("option").allTextContents();
    expect(destinations, "another host than its own").toEqual([
      "selected by the scheduler",
      hostName(0),
      hostName(1),
      hostName(2),
      hostName(4),
      `${hostName(5)} (disabled)`,
    ]);
    await dialog.getByRole("button", { name: "Evacuate" }).click();
    await dialog.getByText("Compute host rack01-node002 could not be found.").waitFor();
    await dialog.getByText("computeHostNotFound (404)").waitFor();
    expect(await violations(page)).toEqual([]);
    await dialog.getByRole("button", { name: "Cancel" }).click();
    await dialog.waitFor({ state: "detached" });
  });

  it("with output shows it until the dialog is closed", async () => {
    fake.actionResponse = { ...NOTHING, ok: true, lines: ["destroys guest instance-00000001"] };
    const page = await open("hosts");
    await page
      .getByRole("article", { name: hostName(0) })
      .getByRole("button", { name: "Set fault" })
      .click();
    const dialog = page.getByRole("dialog", { name: `Set fault: ${hostName(0)}` });
    const submit = dialog.getByRole("button", { name: "Set fault" });
    expect(await submit.isDisabled()).toBe(true);
    await dialog.getByText("Required: Fault").waitFor();
    await dialog.getByLabel("Fault").fill("driver.spawn=fail:once");
    await submit.click();
    await dialog.getByText("destroys guest instance-00000001").waitFor();
    await page.keyboard.press("Enter");
    await dialog.waitFor({ state: "detached" });
  });

  it("that creates a server offers flavors, images, networks, zones and the hosts of the zone", async () => {
    fake.actionResponse = { ...NOTHING, ok: true, made: serverUuid(3) };
    const page = await open("servers");
    await page.getByRole("button", { name: "Create server" }).click();
    const dialog = page.getByRole("dialog", { name: "Create server" });
    await dialog.getByLabel("Name").fill("web");
    await dialog.getByLabel("Flavor").selectOption({ label: "m1.small (1 VCPU, 2048 MiB, 20 GiB)" });
    await dialog.getByLabel("Image").selectOption("cirros");
    await dialog.getByLabel("Network").selectOption({ label: "private (2e700000)" });
    await dialog.getByLabel("Availability zone").selectOption("east");
    const hosts = await dialog.getByLabel("Host").locator("option").allTextContents();
    expect(hosts).toEqual(["selected by the scheduler", hostName(0), hostName(2), hostName(4)]);
    await dialog.getByLabel("Host").selectOption(hostName(2));
    const images = await dialog.getByLabel("Image").locator("option").allTextContents();
    expect(images, "the id distinguishes equal names").toEqual([
      "Select …",
      "cirros",
      "debian (1a9e0000)",
      "debian (1a9e0000)",
    ]);
    for (const size of Object.values(SIZES)) {
      await page.setViewportSize(size);
      expect(await overhang(page)).toBeLessThanOrEqual(0);
      expect(await violations(page)).toEqual([]);
    }
    await dialog.getByText(`--availability-zone east --host ${hostName(2)} web`).waitFor();
    await dialog.getByRole("button", { name: "Create server" }).click();
    await page.getByRole("status").getByRole("link", { name: "vm4" }).waitFor();
    expect(fake.acted).toMatchObject([
      {
        name: "create",
        body: {
          name: "web",
          flavor: "2",
          image: "cirros",
          network: "2e700000-0000-4000-8000-000000000001",
          zone: "east",
          dest: hostName(2),
        },
      },
    ]);
  });

  it("takes names as text if the lists of the APIs cannot be read", async () => {
    await fake.stop();
    fake = await smallCluster({ choices: () => null });
    const page = await open("servers", /404/);
    await page.getByRole("button", { name: "Create server" }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByText("The lists of images, networks and zones could not be read.").waitFor();
    await dialog.getByLabel("Image").fill("cirros");
    await dialog.getByText("--image cirros").waitFor();
  });
});
