import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { appendFile, mkdtemp, open, readFile, rm } from "node:fs/promises";
import { createConnection } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { LastWill } from "../../process/support/last-will.js";
import { PACKAGE_ROOT } from "../../process/support/program.js";

/** Scripts that start and stop a real Nova from Debian's packages. They are beside the project and not part of it. */
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
/** The root of another Debian release whose Nova is used; `/` for this machine's. */
const ROOT = process.env.REAL_NOVA_ROOT ?? "/";
/**
 * Enters the root for one command and its children. The mounts are private and vanish with the last of these processes.
 * The peer and its folders have the same paths inside, and so has a peer in the temporary folder. `$0` is the root,
 * `$1` that folder, `$2` the peer, and the rest is the command.
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
/** MariaDB, RabbitMQ, a substitute for Identity, Placement, the Compute API, Image. The peer's ports are fixed. */
const PORTS = [3306, 5672, 18100, 18101, 18103, 18104];

const ATTEMPTS = 5;
/**
 * `$0` is the peer's folder, `$1` the control plane's. The peer's `down` does not know the services that this project
 * starts.
 */
const STOP = 'STATE=$1; . "$0/lib/common.sh"; stop other-api; exec "$0/down" "$1" --purge';

/** Additional configuration of the peer's services, which oslo.config reads from the environment. */
const CONFIGURATION = {
  // Disables heartbeats. A process of the Compute API sends them only while it handles a request. After two idle
  // minutes the broker would close the connection unnoticed, and the next request would be lost on it.
  OS_OSLO_MESSAGING_RABBIT__HEARTBEAT_TIMEOUT_THRESHOLD: "0",
};

/** Whether the scripts that start a real Nova are beside the project. Its packages must then be installed as well. */
export const hasPeer = existsSync(join(PEER, "up"));

/** The exit code of a script, and its output. */
export interface ScriptOutcome {
  readonly rc: number;
  readonly stdout: string;
  /** Standard output, then standard error, to which libraries print warnings that are not part of a result. */
  readonly output: string;
}

/** The processes of a real Nova, and their folder. */
export class ControlPlane {
  readonly state: string;
  readonly #end: LastWill | null;
  #complaint = "";

  /** @param end stops the processes; null if they belong to others or must continue */
  private constructor(state: string, end: LastWill | null) {
    this.state = state;
    this.#end = end;
  }

  /** Attaches to a control plane that is already running. */
  static at(state: string): ControlPlane {
    return new ControlPlane(state, null);
  }

  /** Starts a new control plane, or attaches to the one that REAL_NOVA_STATE names, which then keeps running. */
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
    // The peer waits fifteen seconds for a broker, which is too short on a busy machine.
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

  /**
   * Runs a function of the peer's shell library, such as `rabbitctl delete_queue compute.oc1`. `$1`... are the
   * arguments.
   */
  shell(command: string, ...args: readonly string[]): Promise<ScriptOutcome> {
    const library = join(PEER, "lib/common.sh");
    return this.run("/bin/bash", ["-c", `. "$0"; ${command}`, library, ...args], { STATE: this.state });
  }

  /**
   * Returns the rows of an SQL statement on the services' databases, a line each. The shell does not interpret the
   * statement.
   */
  async rows(statement: string): Promise<string[]> {
    const { rc, stdout, output } = await this.shell('sql -N -e "$1"', statement);
    if (rc !== 0) {
      throw new Error(`${statement}: ${output}`);
    }
    return stdout.split("\n").filter((line) => line !== "");
  }

  /** Writes the nova.conf of a nova-compute, and returns its path. */
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

  /** Redirects output to files: services that the process starts would keep a pipe open. */
  async run(program: string, args: readonly string[], environment: NodeJS.ProcessEnv): Promise<ScriptOutcome> {
    const folder = await mkdtemp(join(tmpdir(), "real-nova-script-"));
    const paths = ["stdout", "stderr"].map((name) => join(folder, name));
    const files = await Promise.all(paths.map((path) => open(path, "w")));
    try {
      const env = { ...process.env, PYTHONDONTWRITEBYTECODE: "1", ...CONFIGURATION, ...environment };
      // Its background processes continue without it. It is killed when this process ends, and then starts nothing
      // more.
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

  /** Returns false if the start fails; then nothing is running. */
  async #up(): Promise<boolean> {
    const { rc, output } = await this.script("up", [], { SMALL: "1", AUTH: "noauth", DEBUG: "false" });
    if (rc === 0 && output.includes("control plane up")) {
      return true;
    }
    this.#complaint = output;
    await this.script("down", []);
    return false;
  }

  /** Appends to a file beside the services' logs, for later reading by the user who started the control plane. */
  async keep(name: string, content: string): Promise<void> {
    await appendFile(join(this.state, "log", name), content);
  }

  async stop(): Promise<void> {
    await this.#end?.execute();
  }
}

/** Rejects ports in use: another service on them would be taken for the peer's. */
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
