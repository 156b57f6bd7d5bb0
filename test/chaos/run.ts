/**
 * `npm run test:chaos`: users, operators and an adversary act on a cluster of real processes. From time to time
 * everything settles, and the state is checked. All draws come from the printed seed. The operating system's scheduling
 * does not, so a seed reproduces the same kind of failure, but not the same moment.
 */
import { setMaxListeners } from "node:events";
import { Adversary } from "./adversary.js";
import { Dice } from "./dice.js";
import { Operator } from "./operator.js";
import { type ChaosOptions, readOptions, USAGE } from "./options.js";
import { report } from "./report.js";
import { type Settled, Settler } from "./settle.js";
import { User } from "./user.js";
import { World } from "./world.js";

/** Milliseconds between settle points. */
const ROUND = { low: 15_000, high: 28_000 };

/** Users of servers: members of one project, and administrators with access to all. */
const USERS = [
  ["alice", "devstack-demo"],
  ["bob", "devstack-demo"],
  ["carol", "devstack"],
  ["dave", "devstack"],
] as const;

const print = (text: string) => void process.stdout.write(`${text}\n`);

async function main(): Promise<number> {
  const options = readOptions(process.argv.slice(2), process.env);
  const dice = new Dice(options.seed);
  const world = new World(options, dice.of("world"));
  print(`seed ${options.seed}, ${options.minutes} minutes, state in ${world.directory.root}`);
  const end = new AbortController();
  const stop = () => end.abort();
  process.once("SIGINT", stop);
  process.once("SIGTERM", stop);
  let keep = true;
  try {
    await world.start();
    const points = await chaos(world, dice, options, end.signal);
    world.saveLogs();
    const failed = points.some((point) => point.failed.length > 0);
    keep = failed || options.keep;
    print(report(world.journal, points, world.directory.root));
    return failed || end.signal.aborted ? 1 : 0;
  } finally {
    await world.dispose({ keep });
  }
}

async function chaos(world: World, dice: Dice, options: ChaosOptions, end: AbortSignal): Promise<readonly Settled[]> {
  const hosts = world.hosts.map(({ name }) => name);
  const users = USERS.map(
    ([name, cloud]) =>
      new User({
        client: world.client(name, cloud),
        dice: dice.of(name),
        journal: world.journal,
        hosts,
        admin: cloud === "devstack",
      }),
  );
  const operator = new Operator(world, world.client("operator", "devstack"), dice.of("operator"));
  const actors = [...users, operator, new Adversary(world, dice.of("adversary"), options)];
  const settler = new Settler(world, operator, world.client("settle", "devstack"));
  const rounds = dice.of("rounds");
  const points: Settled[] = [];
  const settle = async () => {
    const point = await settler.settle();
    points.push(point);
    print(`settle point ${points.length}: ${point.failed.length} violations, after ${point.seconds.toFixed(1)} s`);
  };
  const deadline = performance.now() + options.minutes * 60_000;
  while (performance.now() < deadline && !end.aborted) {
    const over = new AbortController();
    const until = AbortSignal.any([over.signal, end]);
    setMaxListeners(0, until);
    const running = actors.map((actor) => actor.run(until));
    await rounds.pause(ROUND.low, ROUND.high, until);
    over.abort();
    await Promise.all(running);
    await settle();
  }
  // Leaks are easiest to detect when nothing should remain.
  await settler.deleteAll();
  await settle();
  return points;
}

if (process.argv.includes("--help")) {
  print(USAGE);
} else {
  process.exitCode = await main();
}
