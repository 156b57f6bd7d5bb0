import { execFile } from "node:child_process";
import type { Finding } from "./finding.js";

/** A client that people use against the cluster, and how it says its version. */
interface Client {
  readonly name: string;
  readonly command: readonly [program: string, ...args: string[]];
  /** Where it may be, too. */
  readonly other?: readonly [program: string, ...args: string[]];
  /** The version in what it prints. */
  readonly version: RegExp;
  /** How to come by it. */
  readonly install: string;
  /** What is known of some versions. */
  readonly known?: readonly (readonly [version: RegExp, text: string])[];
}

/** A module of the first Python on the path, or of the system's, whose packages belong to that. */
function pythonModule(name: string): Pick<Client, "command" | "other" | "version"> {
  const script = `import importlib.metadata as m; print("${name}", m.version("${name}"))`;
  return {
    command: ["python3", "-c", script],
    other: ["/usr/bin/python3", "-c", script],
    version: new RegExp(`${name} (\\S+)`),
  };
}

const CLIENTS: readonly Client[] = [
  {
    name: "openstack",
    command: ["openstack", "--version"],
    version: /openstack (\S+)/,
    install: "python3-openstackclient of Debian, python-openstackclient of PyPI",
    known: [[/^6\.0\./, "server evacuate carries it out, and then cannot show it"]],
  },
  {
    name: "openstack resource provider (osc-placement)",
    ...pythonModule("osc-placement"),
    install: "python3-osc-placement of Debian, osc-placement of PyPI",
  },
  {
    name: "nova",
    command: ["nova", "--version"],
    version: /^(\d\S*)/m,
    install: "python3-novaclient of Debian, python-novaclient of PyPI",
  },
  {
    name: "openstacksdk",
    ...pythonModule("openstacksdk"),
    install: "python3-openstacksdk of Debian, openstacksdk of PyPI",
  },
  { name: "terraform", command: ["terraform", "version"], version: /Terraform v(\S+)/, install: "terraform" },
  { name: "tofu", command: ["tofu", "version"], version: /OpenTofu v(\S+)/, install: "opentofu" },
];

/** Milliseconds that a client may take to say its version. */
const CLIENT_TIMEOUT_MS = 20_000;

/** What a command prints; null: it cannot be run, or fails. */
type Printed = (command: readonly string[]) => Promise<string | null>;

export function printedBy([program = "", ...args]: readonly string[]): Promise<string | null> {
  return new Promise((resolve) => {
    execFile(program, args, { timeout: CLIENT_TIMEOUT_MS }, (error, stdout, stderr) => {
      resolve(error === null ? `${stdout}${stderr}` : null);
    });
  });
}

/** None is needed to run a cluster: what is missing is told, and no more. */
export function checkClients(printed: Printed): Promise<readonly Finding[]> {
  return Promise.all(
    CLIENTS.map(async ({ name, command, other, version, install, known = [] }): Promise<Finding> => {
      const text = (await printed(command)) ?? (other === undefined ? null : await printed(other));
      const found = text === null ? undefined : version.exec(text)?.[1];
      if (found === undefined) {
        return { what: name, outcome: "info", found: "not found", advice: install };
      }
      const [, surprise] = known.find(([pattern]) => pattern.test(found)) ?? [];
      return { what: name, outcome: "ok", found, ...(surprise === undefined ? {} : { advice: surprise }) };
    }),
  );
}
