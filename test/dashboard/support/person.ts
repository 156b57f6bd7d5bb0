import type { Locator, Page } from "playwright-core";
import { expect } from "vitest";
import { overhang, screenshot } from "./browser.js";

/** A user of the page, who opens views, fills in forms, and waits for what they display. */
export class Person {
  readonly page: Page;
  readonly #story: string;
  #step = 0;

  constructor(page: Page, story: string) {
    this.page = page;
    this.#story = story;
  }

  /** Follows a link of `compute-agent open`. */
  async enter(link: string): Promise<void> {
    await this.page.goto(link);
    await this.page.getByText("live", { exact: true }).waitFor();
    expect(new URL(this.page.url()).pathname, "the key is out of the address").toBe("/");
  }

  async goTo(view: string): Promise<void> {
    await this.page.getByRole("navigation", { name: "Views" }).getByRole("link", { name: view }).click();
    await this.page.getByRole("heading", { level: 1, name: view }).waitFor();
  }

  card(host: string): Locator {
    return this.page.getByRole("article", { name: host });
  }

  /** Opens a host's view, and from there one of its actions. */
  async choose(host: string, action: string): Promise<void> {
    await this.goTo("Hosts");
    await this.card(host).getByRole("link", { name: host, exact: true }).click();
    await this.page.getByRole("heading", { level: 1, name: host }).waitFor();
    await this.open(this.card(host), action);
  }

  /** Opens the dialog of an action of the host or server that is displayed there. */
  async open(place: Locator | Page, action: string): Promise<void> {
    await place.getByRole("button", { name: action, exact: true }).click();
    await this.page.getByRole("dialog").waitFor();
  }

  /** Creates a server of this name, by default the smallest on the first host. */
  async boot(
    name: string,
    more: Readonly<Record<string, string>> = { Flavor: "m1.tiny", Host: "devstack1" },
  ): Promise<void> {
    await this.goTo("Servers");
    await this.open(this.page, "Create server");
    const fields = { Name: name, Image: "cirros", ...more };
    expect(await this.send("Create server", fields)).toContain("Done");
  }

  async openServer(name: string): Promise<void> {
    await this.goTo("Servers");
    await this.page.getByRole("rowheader").getByRole("link", { name, exact: true }).click();
    await this.page.getByRole("heading", { level: 1, name }).waitFor();
  }

  /** Fills in the open form, sends it, and confirms if asked. Returns the result, and closes the dialog. */
  async send(label: string, fields: Readonly<Record<string, string>> = {}): Promise<string> {
    const dialog = this.page.getByRole("dialog");
    for (const [name, value] of Object.entries(fields)) {
      const field = this.page.locator("form.action").getByLabel(name).filter({ visible: true });
      // The kind of a field is known only once the field exists.
      await field.waitFor();
      if ((await field.and(this.page.locator("select")).count()) > 0) {
        const option = field.locator("option", { hasText: new RegExp(`^${value}( |$)`) });
        await option.waitFor({ state: "attached" });
        await field.selectOption({ label: (await option.textContent()) ?? "" });
      } else {
        await field.fill(value);
      }
    }
    const isInDialog = await dialog.isVisible();
    await (isInDialog ? dialog : this.page).getByRole("button", { name: label, exact: true }).click();
    if (!isInDialog && (await dialog.isVisible())) {
      await dialog.getByRole("button", { name: label, exact: true }).click();
    }
    const actionResult = this.page.locator(".answer");
    await actionResult.waitFor({ timeout: 90_000 });
    const result = (await actionResult.textContent()) ?? "";
    if (await dialog.isVisible()) {
      await this.page.keyboard.press("Escape");
      await dialog.waitFor({ state: "hidden" });
    }
    return result;
  }

  /** Takes a screenshot and checks that nothing is cut off. */
  async keep(name: string): Promise<void> {
    this.#step += 1;
    expect(await overhang(this.page), name).toBeLessThanOrEqual(0);
    await screenshot(this.page, `story-${this.#story}-${this.#step}-${name}`);
  }
}
