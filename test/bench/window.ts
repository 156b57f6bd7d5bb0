/**
 * `npm run bench:window`: what a page of 5,000 hosts and 20,000 servers costs a browser. A server that makes rows up tells the page
 * of them, then of 200 changes a second in messages of 50 ms, as the real one does. Printed: when the first hosts are drawn and
 * when all is known, how long after it was sent a change is drawn, which share of a core scripts and drawing take, and the memory
 * before and after. `--seconds 600` to see whether memory grows.
 */
import { setTimeout as pause, setInterval as ticks } from "node:timers/promises";
import { parseArgs } from "node:util";
import type { CDPSession, Page } from "playwright-core";
import { renderTable } from "../../src/cli/ui/table.js";
import type { WindowRow } from "../../src/window/wire.js";
import { openBrowser, SIZES } from "../window/support/browser.js";
import { FakeWindow } from "../window/support/fake-window.js";
import { hello, hostName, hostRow, rowsOf, serverRow, serverUuid } from "../window/support/generated-cluster.js";

const { values } = parseArgs({
  options: {
    hosts: { type: "string", default: "5000" },
    servers: { type: "string", default: "20000" },
    rate: { type: "string", default: "200" },
    seconds: { type: "string", default: "20" },
  },
});
const [hosts, servers, rate, seconds] = [values.hosts, values.servers, values.rate, values.seconds].map(Number) as [
  number,
  number,
  number,
  number,
];
/** Milliseconds of changes that are one message. */
const GATHER = 50;
const CHANGES_SEEN = 40;

/** Notes in the page when hosts are first there to be seen. */
const WATCH_FIRST = `new MutationObserver((_, self) => {
  if (document.querySelector(".virtual li") !== null) {
    self.disconnect();
    requestAnimationFrame(() => { window.firstHosts = performance.now(); });
  }
}).observe(document, { childList: true, subtree: true });`;

/** Notes when each text of this kind is drawn. */
const WATCH_CHANGES = `window.seen = {};
new MutationObserver(() => {
  for (const [text] of document.body.textContent.matchAll(/change-\\d+\\./g)) {
    if (!(text in window.seen)) {
      window.seen[text] = null;
      requestAnimationFrame(() => { window.seen[text] = Date.now(); });
    }
  }
}).observe(document.body, { childList: true, subtree: true, characterData: true });`;

/** What changes all the time: mostly servers that something is done to, and heartbeats. */
function changeAt(index: number): WindowRow {
  const host = (index * 7919) % hosts;
  if (index % 2 === 0) {
    return { kind: "heartbeat", key: hostName(host), value: Date.now() };
  }
  const server = (index * 7907) % servers;
  const taskState = index % 4 === 1 ? "rebuilding" : null;
  return { kind: "server", key: serverUuid(server), value: { ...serverRow(server, host), taskState } };
}

async function figuresOf(session: CDPSession): Promise<Readonly<Record<string, number>>> {
  const { metrics } = await session.send("Performance.getMetrics");
  return Object.fromEntries(metrics.map(({ name, value }) => [name, value]));
}

async function heapMiB(session: CDPSession): Promise<number> {
  await session.send("HeapProfiler.collectGarbage");
  return ((await figuresOf(session)).JSHeapUsedSize ?? 0) / 2 ** 20;
}

/** Milliseconds from sending a change of a host that is on the screen until it is drawn. */
async function delays(page: Page, fake: FakeWindow): Promise<readonly number[]> {
  await page.evaluate(WATCH_CHANGES);
  const sent = new Map<string, number>();
  for (let index = 0; index < CHANGES_SEEN; index++) {
    const reason = `change-${index}.`;
    sent.set(reason, Date.now());
    fake.push([{ kind: "host", key: hostName(0), value: { ...hostRow(0), reason } }]);
    await page.getByText(reason, { exact: true }).waitFor();
  }
  const seen = await page.evaluate<Record<string, number>>(
    "new Promise((drawn) => requestAnimationFrame(() => drawn(window.seen)))",
  );
  return [...sent].map(([reason, at]) => (seen[reason] ?? 0) - at).toSorted((a, b) => a - b);
}

async function changes(fake: FakeWindow): Promise<void> {
  const each = Math.max(1, Math.round((rate * GATHER) / 1_000));
  let index = 0;
  const until = performance.now() + seconds * 1_000;
  for await (const _ of ticks(GATHER)) {
    fake.push(Array.from({ length: each }, () => changeAt(index++)));
    if (performance.now() >= until) {
      return;
    }
  }
}

const fake = new FakeWindow({
  hello: () => hello(Date.now()),
  rows: () => rowsOf({ hosts, servers }, Date.now()),
});
await fake.start();
const browser = await openBrowser();
try {
  const page = await browser.newPage({ viewport: SIZES.wide });
  const session = await page.context().newCDPSession(page);
  await session.send("Performance.enable");
  await page.addInitScript(WATCH_FIRST);
  await page.goto(`${fake.url}#/hosts`);
  await page.getByText("live", { exact: true }).waitFor();
  const known = await page.evaluate<number>("performance.now()");
  const first = await page.evaluate<number>("window.firstHosts");
  const paint = await page.evaluate<number>(
    "performance.getEntriesByName('first-contentful-paint')[0]?.startTime ?? NaN",
  );
  await pause(2_000);
  const seen = await delays(page, fake);

  const memory = await heapMiB(session);
  const before = await figuresOf(session);
  await changes(fake);
  const after = await figuresOf(session);
  const share = (name: string): string => {
    const spent = (after[name] ?? 0) - (before[name] ?? 0);
    return `${((100 * spent) / ((after.Timestamp ?? 0) - (before.Timestamp ?? 0))).toFixed(1)} %`;
  };
  const rows = [
    ["first paint", `${paint.toFixed(0)} ms`],
    ["first hosts drawn", `${first.toFixed(0)} ms`],
    [`all ${hosts} hosts and ${servers} servers known`, `${known.toFixed(0)} ms`],
    ["a change drawn, median", `${seen[Math.floor(seen.length / 2)]} ms`],
    ["a change drawn, slowest", `${seen.at(-1)} ms`],
    [`scripting at ${rate} changes a second`, share("ScriptDuration")],
    ["all of the page's tasks", share("TaskDuration")],
    ["memory before", `${memory.toFixed(1)} MiB`],
    [`memory ${seconds} s later`, `${(await heapMiB(session)).toFixed(1)} MiB`],
  ];
  const columns = [
    { title: "the page of a cluster", value: (row: readonly string[]) => row[0] ?? "" },
    { title: "", value: (row: readonly string[]) => row[1] ?? "", align: "right" as const },
  ];
  process.stdout.write(`${renderTable(columns, rows, process.stdout.columns ?? 120)}\n`);
} finally {
  await browser.close();
  await fake.stop();
}
