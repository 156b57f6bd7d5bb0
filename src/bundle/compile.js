import { spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

/** What ends by itself. */
const COMMANDS = [["status"], ["fault", "list"], ["manage", "placement", "audit"], ["audit"], ["--help"]];

/** An agent that is below a Nova of which nothing is there. */
const BELOW_A_NOVA = ["transport_url=rabbit://127.0.0.1:1/", "placement.auth_type=none"].flatMap((option) => [
  "-o",
  option,
]);
const NO_BROKER = "rabbit://127.0.0.1:1/";

/** Milliseconds that one of them may run. */
const PATIENCE = 60_000;

const KEEP = fileURLToPath(new URL("keep.cjs", import.meta.url));

/**
 * Runs the programs, one after the other, and keeps in `folder` what V8 has compiled of each, with what it found there of those
 * before it. Where they cannot run, they start slower.
 */
export async function compile(bin, folder, whole) {
  mkdirSync(folder, { recursive: true });
  const state = mkdtempSync(join(tmpdir(), "compute-agent-build-"));
  const started = [];
  const run = (keep, program, ...args) => {
    const running = start(keep ? whole : null, [join(bin, `${program}.js`), ...args, "--state-dir", state]);
    started.push(running);
    return running;
  };
  try {
    const first = run(true, "compute-cluster", "control-plane", "--port", "0");
    await first.printed("listening on");
    await first.stop();
    const other = run(false, "compute-cluster", "control-plane");
    await other.printed("listening on");
    const agent = run(true, "compute-agent", "--host", "devstack1");
    await agent.printed("serving");
    await agent.stop();
    const below = run(true, "compute-agent", "--host", "devstack1", ...BELOW_A_NOVA);
    await below.printed(NO_BROKER);
    await below.stop();
    for (const command of COMMANDS) {
      await run(true, "compute-cluster", ...command).ended;
    }
    await other.stop();
    const up = run(true, "compute-cluster", "up", "--hosts", "0");
    await up.printed("Ctrl-C");
    await up.stop();
  } catch (error) {
    rmSync(folder, { recursive: true, force: true });
    process.stderr.write(`The programs could not be run, and start slower for it: ${error.message}\n`);
  } finally {
    await Promise.all(started.map((running) => running.stop("SIGKILL")));
    rmSync(state, { recursive: true, force: true });
  }
}

function start(whole, args) {
  const child = spawn(process.execPath, [...(whole === null ? [] : ["--require", KEEP]), ...args], {
    env: { ...process.env, COMPILE_WHOLE: String(whole ?? "") },
    stdio: ["ignore", "pipe", "pipe"],
    timeout: PATIENCE,
  });
  let output = "";
  let look = () => undefined;
  for (const stream of [child.stdout, child.stderr]) {
    stream.on("data", (data) => {
      output += data;
      look();
    });
  }
  const ended = new Promise((resolve) => child.once("close", resolve));
  return {
    ended,
    printed: (text) =>
      new Promise((resolve, reject) => {
        look = () => output.includes(text) && resolve();
        look();
        ended.then(() => reject(new Error(output)));
      }),
    stop: (signal = "SIGTERM") => {
      child.kill(signal);
      return ended;
    },
  };
}
