/**
 * `npm run bench dashboard`: cost of a page with 5,000 hosts and 20,000 servers for browser and control plane. The
 * control plane is a separate process with a store of that size and a hypervisor folder per host. Records change 200
 * times a second, as agents change them.
 * It prints:
 * - when the first hosts are rendered, and when all data is loaded
 * - the delay from an API request to its rendered change
 * - the share of a core for scripts and rendering
 * - how long the control plane's event loop is blocked
 * - the memory before and after; `--seconds 600` reveals growth
 */
import { setTimeout as pause, setInterval as ticks } from "node:timers/promises";
import { parseArgs } from "node:util";
import type { CDPSession, Page } from "playwright-core";
import { renderTable } from "../../src/cli/ui/table.js";
import { openBrowser, SIZES } from "../dashboard/support/browser.js";
import { DashboardCluster } from "./dashboard-cloud.js";

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
/** Milliseconds between batches of changes. */
const PORTION = 10;
const OBSERVED_CHANGES = 40;

/** Records in the page when the first hosts are rendered. */
const WATCH_FIRST = `new MutationObserver((_, self) => {
  if (document.querySelector(".virtual > *") !== null) {
    self.disconnect();
    requestAnimationFrame(() => { window.firstHosts = performance.now(); });
  }
}).observe(document, { childList: true, subtree: true });`;

/** Records when each text of this kind is rendered. */
const WATCH_CHANGES = `window.seen = {};
new MutationObserver(() => {
  for (const [text] of document.body.textContent.matchAll(/change-\\d+\\./g)) {
    if (!(text in window.seen)) {
      window.seen[text] = null;
      requestAnimationFrame(() => { window.seen[text] = Date.now(); });
    }
  }
}).observe(document.body, { childList: true, subtree: true, characterData: true });`;

async function figuresOf(session: CDPSession): Promise<Readonly<Record<string, number>>> {
  const { metrics } = await session.send("Performance.getMetrics");
  return Object.fromEntries(metrics.map(({ name, value }) => [name, value]));
}

async function heapMiB(session: CDPSession): Promise<number> {
  await session.send("HeapProfiler.collectGarbage");
  return ((await figuresOf(session)).JSHeapUsedSize ?? 0) / 2 ** 20;
}

/** Returns the milliseconds from requests that change a visible host until each change is rendered. */
async function delays(page: Page, cloud: DashboardCluster): Promise<readonly number[]> {
  await page.evaluate(WATCH_CHANGES);
  const sent = new Map<string, number>();
  const disable = await cloud.disablingFirst();
  for (let index = 0; index < OBSERVED_CHANGES; index++) {
    const reason = `change-${index}.`;
    sent.set(reason, Date.now());
    await disable(reason);
    await page.getByText(reason, { exact: true }).waitFor();
  }
  const observedAt = await page.evaluate<Record<string, number>>(
    "new Promise((drawn) => requestAnimationFrame(() => drawn(window.seen)))",
  );
  return [...sent].map(([reason, at]) => (observedAt[reason] ?? 0) - at).toSorted((a, b) => a - b);
}

async function changes(cloud: DashboardCluster): Promise<number> {
  let index = 0;
  const began = performance.now();
  for await (const _ of ticks(PORTION)) {
    const passed = performance.now() - began;
    const due = Math.floor((rate * passed) / 1_000) - index;
    await Promise.all(Array.from({ length: due }, () => cloud.change(index++)));
    if (passed >= seconds * 1_000) {
      return index / (passed / 1_000);
    }
  }
  return 0;
}

const cloud = await DashboardCluster.start({ hosts, servers });
const browser = await openBrowser();
try {
  const page = await browser.newPage({ viewport: SIZES.wide });
  const session = await page.context().newCDPSession(page);
  await session.send("Performance.enable");
  await page.addInitScript(WATCH_FIRST);
  const link = await cloud.link();
  await cloud.longestHold();
  const idle = await cloud.usage();
  await page.goto(link);
  await page.getByText("live", { exact: true }).waitFor({ timeout: 120_000 });
  const known = await page.evaluate<number>("performance.now()");
  const first = await page.evaluate<number>("window.firstHosts");
  const paint = await page.evaluate<number>(
    "performance.getEntriesByName('first-contentful-paint')[0]?.startTime ?? NaN",
  );
  const opening = await cloud.longestHold();
  await pause(5_000);
  const usageAfterOpening = await cloud.usage();
  const changeDelays = await delays(page, cloud);

  await cloud.longestHold();
  const memory = await heapMiB(session);
  const [before, used] = [await figuresOf(session), await cloud.usage()];
  const reached = await changes(cloud);
  const [after, spent] = [await figuresOf(session), await cloud.usage()];
  const passed = (after.Timestamp ?? 0) - (before.Timestamp ?? 0);
  const percent = (part: number): string => `${((100 * part) / passed).toFixed(1)} %`;
  const share = (name: string): string => percent((after[name] ?? 0) - (before[name] ?? 0));
  const rows = [
    ["first paint", `${paint.toFixed(0)} ms`],
    ["first hosts drawn", `${first.toFixed(0)} ms`],
    [`all ${hosts} hosts and ${servers} servers known`, `${known.toFixed(0)} ms`],
    ["the control plane's loop held at a time meanwhile", `${opening.toFixed(1)} ms`],
    [
      "the control plane's processor time meanwhile, and of reading all guests",
      `${(usageAfterOpening.cpu - idle.cpu).toFixed(1)} s`,
    ],
    ["a change drawn, median", `${changeDelays[Math.floor(changeDelays.length / 2)]} ms`],
    ["a change drawn, slowest", `${changeDelays.at(-1)} ms`],
    ["changes a second", reached.toFixed(0)],
    ["scripting meanwhile", share("ScriptDuration")],
    ["all of the page's tasks", share("TaskDuration")],
    ["the control plane, the changes included", percent(spent.cpu - used.cpu)],
    ["its loop held at a time", `${(await cloud.longestHold()).toFixed(1)} ms`],
    ["the page's memory before", `${memory.toFixed(1)} MiB`],
    [`${seconds} s later`, `${(await heapMiB(session)).toFixed(1)} MiB`],
    ["the control plane's before", `${used.memory.toFixed(0)} MiB`],
    [`${seconds} s later`, `${spent.memory.toFixed(0)} MiB`],
  ];
  const columns = [
    { title: "the page of a cluster", value: (row: readonly string[]) => row[0] ?? "" },
    { title: "", value: (row: readonly string[]) => row[1] ?? "", align: "right" as const },
  ];
  process.stdout.write(`${renderTable(columns, rows, process.stdout.columns ?? 120)}\n`);
} finally {
  await browser.close();
  await cloud.stop();
}
