import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { Person } from "./support/person.js";
import { RealCluster } from "./support/real-cluster.js";
import { Visits } from "./support/visits.js";

describe("access to a real dashboard from a browser", () => {
  let cluster: RealCluster;
  const elsewhere = createServer((_, response) => {
    response.writeHead(200, { "content-type": "text/html" }).end("<title>elsewhere</title>");
  });
  beforeAll(async () => {
    cluster = await RealCluster.start("--hosts", "1");
    await new Promise<void>((resolve) => {
      elsewhere.listen(0, "127.0.0.1", resolve);
    });
  });
  afterAll(async () => {
    elsewhere.close();
    await cluster.stop();
  });
  const visits = new Visits();
  const allowed = /401|403|CORS|ERR_FAILED|ERR_BLOCKED_BY_RESPONSE|frame-ancestors|Framing/;

  it("opens with a link only once", async () => {
    const link = await cluster.link();
    await new Person(await visits.page(), "doors").enter(link);
    const second = await visits.page({ allowed });
    await second.goto(link);
    await second.getByText("The link was already used, or has expired.").waitFor();
  });

  it("gives no data to a page of another origin and runs no action for it, even with the browser's session", async () => {
    const page = await visits.page({ allowed });
    const person = new Person(page, "doors");
    await person.enter(await cluster.link());
    const window = new URL(page.url()).origin;
    await page.goto(`http://127.0.0.1:${(elsewhere.address() as AddressInfo).port}/`);
    const outcome = await page.evaluate<Record<string, string>>(`(async () => {
      const read = (path, options) => fetch("${window}" + path, { credentials: "include", ...options })
        .then(async (answer) => answer.status + await answer.text(), () => "nothing");
      const events = new Promise((resolve) => {
        const source = new EventSource("${window}/window/events", { withCredentials: true });
        source.addEventListener("hello", () => resolve("told"));
        source.onerror = () => resolve("nothing");
      });
      const deed = { method: "POST", headers: { "content-type": "text/plain" }, body: '{"host":"devstack1"}' };
      return {
        session: await read("/window/session"),
        action: await read("/window/actions/host-kill", deed),
        blind: await read("/window/actions/host-kill", { ...deed, mode: "no-cors" }),
        events: await events,
      };
    })()`);
    expect(outcome).toEqual({ session: "nothing", action: "nothing", blind: "nothing", events: "nothing" });
    await page.goto(`${window}/`);
    await person.card("devstack1").getByText("up", { exact: true }).waitFor();
  });

  it("asks for the password after the session was ended, and rejects the old cookie", async () => {
    const page = await visits.page({ allowed });
    await new Person(page, "doors").enter(await cluster.link());
    const cookies = await page.context().cookies();
    expect(cookies).toMatchObject([{ httpOnly: true, sameSite: "Strict" }]);
    const ended = await page.evaluate<number>(
      `fetch("/window/session", { method: "DELETE" }).then(({ status }) => status)`,
    );
    expect(ended).toBe(204);
    await page.getByRole("heading", { name: "Sign in to the cluster" }).waitFor();
    await page.context().addCookies(cookies);
    await page.reload();
    await page.getByRole("heading", { name: "Sign in to the cluster" }).waitFor();
    expect(await page.getByText("devstack1").count()).toBe(0);
  });
});
