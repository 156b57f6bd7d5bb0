import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { violations } from "./support/accessible.js";
import { Person } from "./support/person.js";
import { RealCluster } from "./support/real-cluster.js";
import { Visits } from "./support/visits.js";

describe("requests and logs of a real cluster", () => {
  let cluster: RealCluster;
  beforeAll(async () => {
    cluster = await RealCluster.start("--hosts", "2", "--log-requests");
  });
  afterAll(() => cluster.stop());
  const visits = new Visits();

  it("lead from a request of before the page was opened to what the host logged for it", async () => {
    const person = new Person(await visits.page(), "logs");
    const { page } = person;
    await person.enter(await cluster.link());
    await person.boot("vm1");
    await person.goTo("Hosts");
    await person.card("devstack1").getByText("running", { exact: true }).waitFor();

    await person.goTo("Requests");
    await page.getByRole("searchbox", { name: /^Filter by server/ }).fill("POST servers vm1");
    await page.getByRole("button", { name: "/compute/v2.1/servers" }).click();
    await page.getByRole("dialog").getByText('"name": "vm1"').first().waitFor();
    await page.getByRole("dialog").getByRole("link", { name: "log entries" }).first().click();

    await page.getByRole("heading", { level: 1, name: "Logs" }).waitFor();
    const entries = page.getByRole("list", { name: "Log entries, newest first" });
    await entries.getByText("build_and_run_instance finished").waitFor();
    await entries.getByText("method=POST path=/compute/v2.1/servers").waitFor();
    await person.keep("of-a-request");
    expect(await violations(page)).toEqual([]);

    // An entry leads back to its server.
    await entries.getByText("build_and_run_instance finished").click();
    const entry = page.getByRole("dialog");
    await entry.getByText("devstack1", { exact: true }).waitFor();
    expect(await violations(page)).toEqual([]);
    await page.keyboard.press("Escape");
    await entry.waitFor({ state: "detached" });
  });

  it("shows new entries of the selected host alone, and says why there are none", async () => {
    const person = new Person(await visits.page(), "logs");
    const { page } = person;
    await person.enter(await cluster.link());
    await person.goTo("Logs");
    const entries = page.getByRole("list", { name: "Log entries, newest first" });
    const source = page.getByLabel("Host or control-plane");
    await source.fill("devstack2");
    await entries.getByText("host devstack2 is serving").waitFor();
    await entries.getByText("control-plane").first().waitFor({ state: "detached" });
    await entries.getByText("host devstack2 is serving").waitFor();
    await cluster.run("host", "stop", "devstack2");
    await cluster.run("host", "start", "devstack2");
    await expect.poll(() => entries.getByText("host devstack2 is serving").count()).toBe(2);

    await source.fill("devstack7");
    await page.getByText(/^There is no host devstack7/).waitFor();
    await source.fill("");
    await page.getByLabel("Level").selectOption("ERROR");
    await page.getByText("No log entry matches.").waitFor();
    await page.getByRole("button", { name: "Show all" }).click();
    await entries.getByText("request").first().waitFor();
  });

  it("says that an address names no view, and leads back", async () => {
    const person = new Person(await visits.page(), "logs");
    const { page } = person;
    await person.enter(await cluster.link());
    await person.goTo("Servers");
    for (const address of ["#/nowhere/at/all", "#/hosts/devstack1/more", "#/requests/one"]) {
      await page.evaluate(`location.hash = ${JSON.stringify(address)}`);
      await page.getByText(`The dashboard has no view at ${address}.`).waitFor();
      expect(await violations(page)).toEqual([]);
      await page.getByRole("button", { name: "Back" }).click();
      await page.getByRole("heading", { level: 1, name: "Servers" }).waitFor();
    }
    await page.evaluate(`location.hash = "#/try/fly"`);
    await page.getByText("There is no action fly.").waitFor();
    await page.evaluate(`location.hash = "#/nowhere"`);
    await page.getByRole("link", { name: "All hosts" }).click();
    await page.getByRole("heading", { level: 1, name: "Hosts" }).waitFor();
    await page.keyboard.press("Tab");
    await page.evaluate(`document.querySelector(".skip").focus()`);
    await page.keyboard.press("Enter");
    expect(await page.evaluate("document.activeElement?.id")).toBe("main");
    await page.getByRole("heading", { level: 1, name: "Hosts" }).waitFor();
  });
});
