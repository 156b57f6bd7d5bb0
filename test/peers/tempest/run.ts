/**
 * `npm run test:tempest`: runs Debian's release of OpenStack's integration suite with a cluster that `compute-cluster
 * up` starts. Two workers take class after class; each class creates its projects and users in Identity. A failure that
 * `known-failures.ts` does not list fails the run.
 */
import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { parse } from "yaml";
import { PACKAGE_ROOT, Program } from "../../process/support/program.js";
import { configuration, DNS_DOMAIN, FILTERS, type TempestCloud } from "./configuration.js";
import { inAnyGroup, tally } from "./tally.js";
import { requireTempest, TempestWorker, type TestResult } from "./tempest-worker.js";

const USAGE = `npm run test:tempest -- [PATTERN] [--workers N] [--keep DIR]
Runs the tests whose names match the regular expression PATTERN (default: all that the README speaks of). With --keep, DIR has
the log of every request (tempest.log), what became of each test (report.txt), and the cluster's state afterwards.`;

const print = (text: string) => void process.stdout.write(`${text}\n`);

interface Options {
  readonly pattern: RegExp | null;
  readonly workers: number;
  readonly keep: string | undefined;
}

async function run({ pattern, workers, keep }: Options): Promise<number> {
  requireTempest();
  const work = keep ?? (await mkdtemp(join(tmpdir(), "compute-agent-tempest-")));
  await mkdir(join(work, "locks"), { recursive: true });
  const stateDir = join(work, "state");
  const file = join(PACKAGE_ROOT, "test/peers/tempest/cluster.yaml");
  const up = new Program("compute-cluster", ["up", "--file", file, "--yes", "--port", "0", "--state-dir", stateDir], {
    OS_FILTER_SCHEDULER__ENABLED_FILTERS: FILTERS,
    OS_NETWORK__DNS_DOMAIN: DNS_DOMAIN,
  });
  try {
    await up.printed(/Ctrl-C stops all of it/);
    await prepare(work, stateDir);
    const names = await TempestWorker.list(work);
    const selected = names.filter((name) => (pattern === null ? inAnyGroup(name) : pattern.test(name)));
    const began = performance.now();
    const results = await runAll(work, selected, workers);
    const lines = results.map(({ test, result, why }) => `${result} ${test}${why === "" ? "" : `  # ${why}`}\n`);
    await writeFile(join(work, "report.txt"), lines.toSorted().join(""));
    const { lines: summary, good } = tally(results, pattern === null);
    print([`${results.length} tests took ${((performance.now() - began) / 1000).toFixed(0)} s`, ...summary].join("\n"));
    return good ? 0 : 1;
  } finally {
    await up.stop();
    if (keep === undefined) {
      await rm(work, { recursive: true, force: true });
    }
  }
}

async function prepare(work: string, stateDir: string): Promise<void> {
  const clouds = parse(await readFile(join(stateDir, "clouds.yaml"), "utf8")) as {
    readonly clouds: Readonly<Record<string, { readonly auth: Readonly<Record<string, string>> }>>;
  };
  const {
    auth_url: authUrl = "",
    username = "",
    password = "",
    project_name: project = "",
  } = clouds.clouds.devstack?.auth ?? {};
  const cloud = { authUrl, username, password, project };
  const session = await logIn(cloud);
  const text = configuration({ work, ...cloud, extensions: await listExtensions(authUrl, session) });
  await writeFile(join(work, "tempest.conf"), text, { mode: 0o600 });
  await writeFile(join(work, "image.img"), Buffer.alloc(2 ** 20));
  await registerLimits(authUrl, session);
}

interface Session {
  readonly headers: Readonly<Record<string, string>>;
  readonly catalog: readonly { readonly id: string; readonly type: string }[];
}

async function logIn({
  authUrl,
  username,
  password,
  project,
}: Pick<TempestCloud, "authUrl" | "username" | "password" | "project">): Promise<Session> {
  const domain = { id: "default" };
  const user = { name: username, password, domain };
  const scope = { project: { name: project, domain } };
  const login = { auth: { identity: { methods: ["password"], password: { user } }, scope } };
  const response = await post(`${authUrl}/auth/tokens`, login);
  const { token } = (await response.json()) as { readonly token: Pick<Session, "catalog"> };
  return {
    headers: { "x-auth-token": response.headers.get("x-subject-token") ?? "" },
    catalog: token.catalog,
  };
}

function post(url: string, body: unknown, headers: Readonly<Record<string, string>> = {}): Promise<Response> {
  const json = { "content-type": "application/json", ...headers };
  return fetch(url, { method: "POST", headers: json, body: JSON.stringify(body) });
}

/** Returns the aliases of the Network service's extensions, so that tests of others are skipped. */
async function listExtensions(authUrl: string, { headers }: Session): Promise<readonly string[]> {
  const response = await fetch(new URL("/network/v2.0/extensions", authUrl), { headers });
  const { extensions } = (await response.json()) as { readonly extensions: readonly { readonly alias: string }[] };
  return extensions.map(({ alias }) => alias);
}

/** Registers the Image service's limits as devstack does: tests give their projects smaller ones. */
async function registerLimits(authUrl: string, { headers, catalog }: Session): Promise<void> {
  const service_id = catalog.find(({ type }) => type === "image")?.id;
  const limits = {
    image_size_total: 1000,
    image_stage_total: 1000,
    image_count_total: 100,
    image_count_uploading: 100,
  };
  const registered = Object.entries(limits).map(([resource_name, default_limit]) => ({
    service_id,
    region_id: "RegionOne",
    resource_name,
    default_limit,
  }));
  const made = await post(`${authUrl}/registered_limits`, { registered_limits: registered }, headers);
  if (!made.ok) {
    throw new Error(`limits cannot be registered: ${made.status} ${await made.text()}`);
  }
}

/**
 * Classes whose hosts must have no other servers: they move hosts into zones, which Nova allows only for empty hosts.
 */
const ALONE = /\.admin\.test_aggregates\./;

/** Runs the classes, the largest first, each on the next free worker. */
async function runAll(work: string, tests: readonly string[], count: number): Promise<readonly TestResult[]> {
  const byClass = new Map<string, string[]>();
  for (const test of tests) {
    const name = test.replace(/\.\w+(\(.*\))?$/, "");
    byClass.set(name, [...(byClass.get(name) ?? []), test]);
  }
  const classes = [...byClass.values()].toSorted((left, right) => right.length - left.length);
  const results: TestResult[] = [];
  const workers = Array.from({ length: count }, () => new TempestWorker(work));
  const onResult = (result: TestResult) => void results.push(result);
  const alone = classes.filter(([test = ""]) => ALONE.test(test));
  const concurrent = classes.filter(([test = ""]) => !ALONE.test(test));
  try {
    for (const each of alone) {
      await workers[0]?.run(each, onResult);
    }
    await Promise.all(
      workers.map(async (worker) => {
        for (let next = concurrent.shift(); next !== undefined; next = concurrent.shift()) {
          await worker.run(next, onResult);
        }
      }),
    );
  } finally {
    for (const worker of workers) {
      worker.stop();
    }
  }
  return results;
}

function readOptions(args: readonly string[]): Options {
  const options = { workers: { type: "string", default: "2" }, keep: { type: "string" } } as const;
  const { values, positionals } = parseArgs({ args: [...args], options, allowPositionals: true });
  const [pattern, ...more] = positionals;
  if (more.length > 0 || !(Number(values.workers) >= 1)) {
    throw new Error("there is one PATTERN, and one worker at least");
  }
  return {
    pattern: pattern === undefined ? null : new RegExp(pattern),
    workers: Number(values.workers),
    keep: values.keep,
  };
}

let options: Options | undefined;
try {
  options = readOptions(process.argv.slice(2));
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n${USAGE}\n`);
}
process.exitCode = options ? await run(options) : 2;
