import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { appendFile, mkdtemp, open, readFile, rm } from "node:fs/promises";
import { createConnection } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { LastWill } from "../../process/support/last-will.js";
import { PACKAGE_ROOT } from "../../process/support/program.js";

/** Starts and stops a real Nova of Debian's packages; beside the project, not in it. */
const PEER = join(PACKAGE_ROOT, "../shared/peers/nova");
const NEEDED = [
  "/usr/bin/nova-api-wsgi",
  "/usr/bin/nova-conductor",
  "/usr/bin/nova-scheduler",
  "/usr/bin/placement-api",
  "/usr/bin/uwsgi",
  "/usr/bin/bc",
  "/usr/sbin/mariadbd",
  "/usr/lib/rabbitmq/bin/rabbitmq-server",
];
/** The root of another release of Debian, whose Nova is taken; `/`: this machine's. */
const ROOT = process.env.REAL_NOVA_ROOT ?? "/";
/**
 * Goes into it, for one command and what that starts: mounts are nobody else's, and go with the last of them. The peer and its
 * folders are at the same paths there, the peer also where it is in the folder for temporary files. `$0` is the root, `$1` that
 * folder, `$2` the peer, the rest is the command.
 */
const ENTER = `
mount -t proc proc "$0/proc" && mount --rbind /dev "$0/dev" && mkdir -p "$0$1" && mount --bind "$1" "$0$1" &&
  mkdir -p "$0$2" && mount --bind "$2" "$0$2" || exit 1
root=$0; shift 2; exec chroot "$root" "$@"
`;
const INTO_ROOT =
  ROOT === "/"
    ? []
    : ["/usr/bin/unshare", "--mount", "--propagation", "private", "/bin/bash", "-c", ENTER, ROOT, tmpdir(), PEER];
const HOW_TO_INSTALL =
  `the real Nova is not installed in ${ROOT}; on Debian: apt-get install python3-nova nova-api nova-conductor nova-scheduler ` +
  "placement-api uwsgi-core uwsgi-plugin-python3 rabbitmq-server mariadb-server python3-pymysql bc; " +
  "without starting its services: /usr/sbin/policy-rc.d has to say 101 meanwhile";
/** MariaDB, RabbitMQ, a stand-in for Identity, Placement, the Compute API, Image. The peer has no others. */
const PORTS = [3306, 5672, 18100, 18101, 18103, 18104];

const ATTEMPTS = 5;
/** `$0` is the peer's folder, `$1` the control plane's. What this project starts beside it is not known to `down`. */
const STOP = 'STATE=$1; . "$0/lib/common.sh"; stop other-api; exec "$0/down" "$1" --purge';

/** What all of the peer's services are to have beside what it configures, as oslo.config reads it from the environment. */
const CONFIGURATION = {
  // A process of the Compute API gives the broker signs of life only while it works on a request: one that had none for two
  // minutes would be cut off, would not notice, and would give its dead connection the next request that it gets.
  OS_OSLO_MESSAGING_RABBIT__HEARTBEAT_TIMEOUT_THRESHOLD: "0",
};

/** Whether the scripts that start a real Nova are beside the project; its packages must then be installed, too. */
export const hasPeer = existsSync(join(PEER, "up"));

/** The exit code of a script, and what it printed. */
export interface ScriptOutcome {
  readonly rc: number;
  readonly stdout: string;
  /** Standard output, then standard error: libraries print warnings there that are no part of a result. */
  readonly output: string;
}

/** The processes of a real Nova, and their folder. */
export class ControlPlane {
  readonly state: string;
  readonly #end: LastWill | null;
  #complaint = "";

  /** @param end stops it; null: it is another's, or goes on */
  private constructor(state: string, end: LastWill | null) {
    this.state = state;
    this.#end = end;
  }

  /** One that was started before. */
  static at(state: string): ControlPlane {
    return new ControlPlane(state, null);
  }

  /** Starts all of it from nothing; or takes the one that REAL_NOVA_STATE names, which then goes on. */
  static async start(): Promise<ControlPlane> {
    const existingState = process.env.REAL_NOVA_STATE;
    if (existingState !== undefined) {
      return ControlPlane.at(existingState);
    }
    if (!NEEDED.every((path) => existsSync(join(ROOT, path)))) {
      throw new Error(HOW_TO_INSTALL);
    }
    await assertPortsFree();
    const state = await mkdtemp(join(tmpdir(), "real-nova-"));
    const plane = new ControlPlane(state, new LastWill("/bin/bash", ["-c", STOP, PEER, state]));
    // The peer gives a broker fifteen seconds, which a busy machine takes longer than.
    for (let attempt = 0; attempt < ATTEMPTS; attempt += 1) {
      if (await plane.#up()) {
        return plane;
      }
    }
    await plane.stop();
    throw new Error(`the real Nova did not start:\n${plane.#complaint}`);
  }

  /** Runs one of the peer's scripts for this control plane. */
  script(name: string, args: readonly string[], environment: NodeJS.ProcessEnv = {}): Promise<ScriptOutcome> {
    return this.run(join(PEER, name), [this.state, ...args], environment);
  }

  /** Runs a function of the peer's shell library: `rabbitctl delete_queue compute.oc1`. `$1`... are the arguments. */
  shell(command: string, ...args: readonly string[]): Promise<ScriptOutcome> {
    const library = join(PEER, "lib/common.sh");
    return this.run("/bin/bash", ["-c", `. "$0"; ${command}`, library, ...args], { STATE: this.state });
  }

  /** The rows that a statement of SQL finds in the services' databases, a line each. The shell reads nothing of it. */
  async rows(statement: string): Promise<string[]> {
    const { rc, stdout, output } = await this.shell('sql -N -e "$1"', statement);
    if (rc !== 0) {
      throw new Error(`${statement}: ${output}`);
    }
    return stdout.split("\n").filter((line) => line !== "");
  }

  /** Writes the nova.conf of a nova-compute, and names it. */
  async writeComputeConfig(host: string, driver: string, more = ""): Promise<string> {
    const program = join(PEER, "lib/mkconf.py");
    const placement = "http://127.0.0.1:18101";
    const args = [program, this.state, "noauth", "compute", host, driver, placement, more];
    const { rc, output } = await this.run("/usr/bin/python3", args, {});
    if (rc !== 0) {
      throw new Error(output);
    }
    return join(this.state, "etc", `compute-${host}.conf`);
  }

  /** What the process prints goes to files: the services that it starts would hold a pipe open. */
  async run(program: string, args: readonly string[], environment: NodeJS.ProcessEnv): Promise<ScriptOutcome> {
    const folder = await mkdtemp(join(tmpdir(), "real-nova-script-"));
    const paths = ["stdout", "stderr"].map((name) => join(folder, name));
    const files = await Promise.all(paths.map((path) => open(path, "w")));
    try {
      const env = { ...process.env, PYTHONDONTWRITEBYTECODE: "1", ...CONFIGURATION, ...environment };
      // What it starts in the background goes on without it; itself, it starts nothing more once we have ended.
      const child = spawn("/usr/bin/setpriv", ["--pdeathsig", "KILL", ...INTO_ROOT, program, ...args], {
        stdio: ["ignore", ...files.map(({ fd }) => fd)],
        env,
      });
      const rc = await new Promise<number>((resolve, reject) => {
        child.once("error", reject);
        child.once("exit", (code) => resolve(code ?? -1));
      });
      const [stdout = "", stderr = ""] = await Promise.all(paths.map((path) => readFile(path, "utf8")));
      return { rc, stdout, output: `${stdout}${stderr}` };
    } finally {
      await Promise.all(files.map((file) => file.close()));
      await rm(folder, { recursive: true });
    }
  }

  /** False, and nothing runs, when it fails. */
  async #up(): Promise<boolean> {
    const { rc, output } = await this.script("up", [], { SMALL: "1", AUTH: "noauth", DEBUG: "false" });
    if (rc === 0 && output.includes("control plane up")) {
      return true;
    }
    this.#complaint = output;
    await this.script("down", []);
    return false;
  }

  /** Adds to a file beside the services' logs, which one who has started the control plane may read later. */
  async keep(name: string, content: string): Promise<void> {
    await appendFile(join(this.state, "log", name), content);
  }

  async stop(): Promise<void> {
    await this.#end?.execute();
  }
}

/** A service of somebody else on these ports would be taken for the peer's own. */
async function assertPortsFree(): Promise<void> {
  for (const port of PORTS) {
    const taken = await new Promise<boolean>((resolve) => {
      const socket = createConnection(port, "127.0.0.1");
      socket.once("connect", () => {
        socket.destroy();
        resolve(true);
      });
      socket.once("error", () => resolve(false));
    });
    if (taken) {
      throw new Error(`port ${port} is taken, and the real Nova needs it: stop what listens there`);
    }
  }
}
