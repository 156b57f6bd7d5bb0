/**
 * `npm run bench moves`: servers booted, migrated (cold and live), evacuated and deleted per second over 3 and over 100
 * hosts. The control plane is a separate process. The agents of all hosts are in this one, on the default fake-libvirt
 * driver without delays. For comparison: a real Nova with its fake driver and three nova-compute on a machine of this
 * size (2 cores), from `boot_50` of its bench.json, which has no figures for moves.
 */
import { loadavg } from "node:os";
import { renderTable } from "../../src/cli/ui/table.js";
import { LocalCloud } from "../process/support/local-cloud.js";
import { BenchHosts } from "./moves-hosts.js";
import { type Figure, MovesBench } from "./moves-run.js";

const SERVERS = 100;
/** Servers per second: 50 booted in 34.73 and 37.75 s, deleted in 14.26 and 16.5 s. */
const NOVA: Readonly<Record<string, number>> = { boot: 50 / 36.24, delete: 50 / 15.38 };

async function figuresOf(count: number): Promise<readonly Figure[]> {
  const cloud = await LocalCloud.start();
  const hosts = new BenchHosts(count);
  try {
    await hosts.start(cloud);
    const bench = new MovesBench(cloud, hosts, SERVERS);
    await bench.run();
    return bench.figures;
  } finally {
    await hosts.dispose();
    await cloud.dispose();
  }
}

const [busy = 0] = loadavg();
const few = await figuresOf(3);
const many = await figuresOf(100);
function ratioOf({ operation, perSecond }: Figure): number | undefined {
  const nova = NOVA[operation];
  return nova === undefined ? undefined : perSecond / nova;
}
const show = (value: number | undefined): string => (value === undefined ? "-" : value.toFixed(1));
process.stdout.write(
  `Servers per second, ${SERVERS} servers; ${busy.toFixed(1)} processes were running before, and took their share:\n${renderTable(
    [
      { title: "operation", value: ({ operation }: Figure) => operation },
      { title: "3 hosts", value: ({ perSecond }) => show(perSecond), align: "right" },
      {
        title: "100 hosts",
        value: ({ operation }) => show(many.find((figure) => figure.operation === operation)?.perSecond),
        align: "right",
      },
      { title: "real Nova, 3 hosts", value: ({ operation }) => show(NOVA[operation]), align: "right" },
      { title: "times as many", value: (figure) => show(ratioOf(figure)), align: "right" },
    ],
    few,
    100,
  )}\n`,
);
