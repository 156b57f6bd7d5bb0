import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { DashboardRow } from "../../src/dashboard/wire/messages.js";
import type { FakeDashboardServer } from "./support/fake-server.js";
import { hostName, lifeOf, serverRow, serverUuid } from "./support/generated-cluster.js";
import { logRow, requestRow, smallCluster, smallRows } from "./support/scenes.js";
import { Visits } from "./support/visits.js";

const EVIL = `<img src=x onerror="window.hurt = 1"><script>window.hurt = 1</script>`;
const evilServer = { ...serverRow(12, 3), name: EVIL, fault: EVIL, flavor: EVIL };

function* evilRows(): Generator<DashboardRow> {
  for (const row of smallRows()) {
    yield row.kind === "host" ? { ...row, value: { ...row.value, reason: EVIL, aggregates: [EVIL] } } : row;
  }
  yield { kind: "server", key: evilServer.uuid, value: evilServer };
  const finding = {
    code: EVIL,
    text: EVIL,
    explanation: EVIL,
    commands: [EVIL],
    server: evilServer.uuid,
    consumer: null,
    provider: null,
  };
  yield { kind: "finding", key: EVIL, value: { ...finding, host: hostName(3) } };
  yield { kind: "edit", key: EVIL, value: { findings: [EVIL], reason: EVIL, does: EVIL, subject: EVIL } };
  yield { kind: "snapshot", key: EVIL, value: { name: EVIL, at: 0, bytes: 0 } };
}

describe("a script in names and messages", () => {
  const visits = new Visits();
  let fake: FakeDashboardServer;
  beforeAll(async () => {
    fake = await smallCluster({
      rows: evilRows,
      life: () => ({ ...lifeOf(evilServer), faults: [{ at: 0, message: EVIL, host: EVIL }] }),
      logs: () => [{ ...logRow(2), message: EVIL, source: EVIL, fields: [`path=${EVIL}`], more: [EVIL] }],
      bodies: () => ({ ...requestRow(0), path: EVIL, body: EVIL, answer: EVIL }),
    });
  });
  afterAll(() => fake.stop());

  it.each(["hosts", "servers", `servers/${serverUuid(12)}`, `hosts/${hostName(3)}`, "try", "snapshots", "logs"])(
    "is text in %s",
    async (route) => {
      const page = await visits.page();
      await page.goto(`${fake.url}#/${route}`);
      await page.getByText(EVIL).filter({ visible: true }).first().waitFor();
      expect(await page.evaluate("window.hurt")).toBeUndefined();
      expect(await page.locator("img, body script").count()).toBe(0);
    },
  );

  it("is displayed as text in request bodies, in their filter and in an address", async () => {
    const page = await visits.page();
    await page.goto(`${fake.url}#/requests`);
    await page.getByText("Requests of clients and agents appear here").waitFor();
    fake.push([{ kind: "request", key: "r0", value: { ...requestRow(0), path: EVIL } }]);
    await page.getByText(EVIL).click();
    await page.getByRole("dialog").locator("pre").first().getByText(EVIL).waitFor();
    await page.goto(`${fake.url}#/hosts/${encodeURIComponent(EVIL)}?q=${encodeURIComponent(EVIL)}`);
    await page.getByText("There is no host of this name.").waitFor();
    expect(await page.evaluate("window.hurt")).toBeUndefined();
  });
});
