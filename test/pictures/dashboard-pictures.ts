import { setTimeout as pause } from "node:timers/promises";
import type { Page } from "playwright-core";
import { quietLogger } from "../../src/cli/ui/logging.js";
import { type CloudSession, openCloudSession } from "../../src/control-plane/local/cloud-session.js";
import { stateDir } from "../../src/control-plane/local/state-dir.js";
import { createNodeRuntime } from "../../src/runtime/node/node-runtime.js";
import { openBrowser } from "../dashboard/support/browser.js";
import { RealCluster } from "../dashboard/support/real-cluster.js";

const WIDTH = 1_280;
const MIN_HEIGHT = 360;
const MAX_HEIGHT = 900;
const REQUESTS_HEIGHT = 560;
/** The microversion of requests. Since 2.95 evacuated servers are stopped. */
const VERSION = "2.90";
const STATUS_TIMEOUT_MS = 60_000;
const POLL_INTERVAL_MS = 200;

/** Takes a picture of the open view under a name. */
type Take = (name: string, maxHeight?: number) => Promise<void>;

/** Takes the pictures of the dashboard on a real cluster. @param save receives each picture as PNG */
export async function takeDashboardPictures(save: (name: string, png: Buffer) => Promise<void>): Promise<void> {
  const cluster = await RealCluster.start("--hosts", "3", "--log-requests");
  const browser = await openBrowser();
  try {
    const page = await browser.newPage({
      viewport: { width: WIDTH, height: MAX_HEIGHT },
      colorScheme: "light",
      locale: "en",
      timezoneId: "UTC",
    });
    // Allocations and states are known only since a page was open.
    await page.goto(await cluster.link());
    await page.getByText("live", { exact: true }).waitFor();
    const take: Take = async (name, maxHeight = MAX_HEIGHT) => {
      await page.setViewportSize({ width: WIDTH, height: MIN_HEIGHT });
      const height = await page.evaluate<number>("document.documentElement.scrollHeight");
      await page.setViewportSize({ width: WIDTH, height: Math.min(maxHeight, Math.max(MIN_HEIGHT, height)) });
      await page.mouse.move(0, 0);
      await save(`dashboard-${name}.png`, await page.screenshot({ animations: "disabled" }));
    };
    const runtime = createNodeRuntime({ logger: quietLogger });
    const session = await openCloudSession(runtime.files, runtime.http, stateDir(cluster.stateDir, "/"));
    await takeStory(cluster, session, page, take);
    await runtime.http.close();
  } finally {
    await browser.close();
    await cluster.stop();
  }
}

/** A host dies, its server is evacuated, another one is resized. */
async function takeStory(cluster: RealCluster, session: CloudSession, page: Page, take: Take): Promise<void> {
  const api = (method: "GET" | "POST" | "PUT", path: string, body?: unknown) =>
    session.request("compute", method, path, VERSION, body);
  const open = async (hash: string, text: string | RegExp) => {
    await page.evaluate(`location.hash = ${JSON.stringify(hash)}; scrollTo(0, 0)`);
    await page.getByText(text).filter({ visible: true }).first().waitFor();
  };
  // The first heartbeats come after ten seconds.
  await page.getByText("never", { exact: true }).first().waitFor({ state: "detached" });
  const vm1 = await boot(session, "vm1", "devstack1");
  const vm2 = await boot(session, "vm2", "devstack2");
  await cluster.run("host", "kill", "devstack1");
  const { services } = (await api("GET", "/os-services?host=devstack1")) as { services: readonly { id: string }[] };
  await api("PUT", `/os-services/${services[0]?.id}`, { forced_down: true });
  await api("POST", `/servers/${vm1}/action`, { evacuate: { host: "devstack2" } });
  await waitForStatus(session, vm1, ({ host, status }) => host === "devstack2" && status === "ACTIVE");
  await cluster.run("wait", "--for", "settled");
  await open("#/hosts", /stale guest/);
  await take("stale-guest");
  await open(`#/servers/${vm1}`, /^evacuat/);
  await take("evacuated-server");

  await api("POST", `/servers/${vm2}/action`, { resize: { flavorRef: await flavorId(session, "m1.small") } });
  await waitForStatus(session, vm2, ({ status }) => status === "VERIFY_RESIZE");
  await open(`#/servers/${vm2}`, /VERIFY_RESIZE/);
  await take("unconfirmed-resize");

  await open("#/requests?changes=1", "/compute/v2.1/servers");
  await take("requests", REQUESTS_HEIGHT);
  const created = page.getByRole("button", { name: /POST\s*\/compute\/v2\.1\/servers\s*202/ });
  await created.last().click();
  const id = /req-[0-9a-f-]{36}/.exec((await page.getByRole("dialog").textContent()) ?? "")?.[0] ?? "";
  await page.keyboard.press("Escape");
  await open(`#/logs?request=${id}`, "build_and_run_instance");
  await take("logs");
}

async function boot(session: CloudSession, name: string, host: string): Promise<string> {
  const { images } = (await session.request("image", "GET", "/v2/images?name=cirros", "2.17")) as {
    images: readonly { id: string }[];
  };
  const server = {
    name,
    host,
    networks: "auto",
    imageRef: images[0]?.id,
    flavorRef: await flavorId(session, "m1.tiny"),
  };
  const made = (await session.request("compute", "POST", "/servers", VERSION, { server })) as {
    server: { id: string };
  };
  await waitForStatus(session, made.server.id, ({ status }) => status === "ACTIVE");
  return made.server.id;
}

async function flavorId(session: CloudSession, name: string): Promise<string> {
  const { flavors } = (await session.request("compute", "GET", "/flavors", VERSION)) as {
    flavors: readonly { id: string; name: string }[];
  };
  return flavors.find((flavor) => flavor.name === name)?.id ?? "";
}

interface ServerStatus {
  readonly status: string;
  readonly host: string;
}

/** Polls a server until it has the expected state. @throws {Error} after {@link STATUS_TIMEOUT_MS} */
async function waitForStatus(
  session: CloudSession,
  id: string,
  isReached: (server: ServerStatus) => boolean,
): Promise<void> {
  for (const deadline = Date.now() + STATUS_TIMEOUT_MS; ; ) {
    const { server } = (await session.request("compute", "GET", `/servers/${id}`, VERSION)) as {
      server: { status: string; "OS-EXT-SRV-ATTR:host": string };
    };
    const current = { status: server.status, host: server["OS-EXT-SRV-ATTR:host"] };
    if (isReached(current)) {
      return;
    }
    if (Date.now() > deadline) {
      throw new Error(`server ${id} is still ${current.status} on ${current.host}`);
    }
    await pause(POLL_INTERVAL_MS);
  }
}
