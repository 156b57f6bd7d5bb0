import type { Browser, Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, expect } from "vitest";
import { openBrowser, SIZES } from "./browser.js";

interface Visit {
  readonly size?: { readonly width: number; readonly height: number };
  readonly colorScheme?: "light" | "dark";
  /** Messages that the browser may report, for a test that stops the server or requests forbidden paths. */
  readonly allowed?: RegExp;
}

/**
 * Opens pages in one browser for the tests of a file. A test fails if its page reported an error or sent a request to
 * another host.
 */
export class Visits {
  #browser: Browser | undefined;
  readonly #open: Page[] = [];
  readonly #complaints: string[] = [];

  constructor() {
    beforeAll(async () => {
      this.#browser = await openBrowser();
    });
    afterEach(async () => {
      await Promise.all(this.#open.splice(0).map((page) => page.context().close()));
      expect(this.#complaints.splice(0)).toEqual([]);
    });
    afterAll(() => this.#browser?.close());
  }

  async page({ size = SIZES.wide, colorScheme = "light", allowed }: Visit = {}): Promise<Page> {
    if (this.#browser === undefined) {
      throw new Error("there is no browser before the tests begin");
    }
    const page = await this.#browser.newPage({ viewport: size, colorScheme, locale: "en", timezoneId: "UTC" });
    const complain = (text: string): void => {
      if (allowed?.test(text) !== true) {
        this.#complaints.push(text);
      }
    };
    page.on("pageerror", (error) => complain(`error: ${error.message}`));
    page.on("console", (message) => {
      if (message.type() === "error") {
        complain(`console: ${message.text()}`);
      }
    });
    page.on("request", (request) => {
      if (!/^(data:|http:\/\/127\.0\.0\.1:)/.test(request.url())) {
        complain(`asked for ${request.url()}`);
      }
    });
    this.#open.push(page);
    return page;
  }
}
