import { afterEach, beforeEach, expect, it } from "vitest";
import { LocalCloud } from "./support/local-cloud.js";
import { Program } from "./support/program.js";

let cloud: LocalCloud;
beforeEach(async () => {
  cloud = await LocalCloud.start();
});
afterEach(() => cloud.dispose());

it("compute-agent open prints a link to the dashboard, whose events and command actions work", async () => {
  const agent = await cloud.startAgent("devstack1");
  const open = new Program("compute-cluster", ["open", "--no-browser", "--state-dir", cloud.stateDir]);
  await open.exited;
  const link = open.stdout.trim();
  expect(link).toMatch(new RegExp(`^${cloud.url}/window/enter\\?key=[0-9a-f]{64}$`));
  const entered = await fetch(link, { redirect: "manual" });
  const cookie = entered.headers.get("set-cookie")?.split(";")[0] ?? "";
  const page = await fetch(`${cloud.url}/`, { headers: { accept: "text/html" } });
  expect([page.status, page.headers.get("content-security-policy")]).toEqual([200, expect.stringContaining("'self'")]);
  expect((await fetch(`${cloud.url}/`)).status).toBe(404);

  const abort = new AbortController();
  const events = await fetch(`${cloud.url}/window/events`, { headers: { cookie }, signal: abort.signal });
  const secret = await readUntil(events, /"secret":"([0-9a-f]+)"[\s\S]*"kind":"host","key":"devstack1"/);
  const response = await fetch(`${cloud.url}/window/actions/fault-set`, {
    method: "POST",
    headers: { cookie, origin: cloud.url, "x-window-session": secret },
    body: JSON.stringify({ host: "devstack1", rule: "driver.spawn=fail:once" }),
  });
  expect(await response.json()).toMatchObject({
    ok: true,
    commands: [`compute-agent fault set devstack1 'driver.spawn=fail:once' --state-dir ${cloud.stateDir}`],
    lines: ["devstack1: driver.spawn=fail:once"],
  });
  await readUntil(events, /"faults":\["(driver\.spawn=fail:once)"\]/);
  abort.abort();
  await agent.stop();
});

/** Reads until the text matches, and returns its first group. */
async function readUntil({ body }: Response, pattern: RegExp): Promise<string> {
  const reader = body?.getReader();
  let text = "";
  for (;;) {
    const part = await reader?.read();
    text += new TextDecoder().decode(part?.value);
    const found = pattern.exec(text);
    if (found !== null) {
      reader?.releaseLock();
      return found[1] ?? "";
    }
    if (part === undefined || part.done) {
      throw new Error(`the events ended with ${text.slice(-500)}`);
    }
  }
}
