// `npm run bench NAME [-- OPTIONS]`: runs one benchmark; without a name, lists them.

const BENCHMARKS = new Map([
  ["start", "start-up and memory of an agent, and `up`"],
  ["hosts", "many hosts in one process: start, memory, idle, boots, moves, kill"],
  ["cluster", "a cluster's start, reset, idle hour, snapshots"],
  ["moves", "boots, migrations, evacuations and deletes a second"],
  ["reads", "agents' requests while clients read"],
  ["endpoints", "event-loop time of the largest requests that the limits allow"],
  ["placement", "the embedded Placement beside the real one"],
  ["tracker", "one pass of the resource tracker over many nodes"],
  ["audit", "`compute-agent audit` of 1,000 hosts and 10,000 servers"],
  ["ironic", "the ironic driver on the real Ironic and Placement"],
  ["dashboard", "the dashboard of 5,000 hosts in a browser"],
  ["real-nova", "agents and real nova-computes under one real Nova"],
  ["real-nova-soak", "a hundred hosts under a real Nova whose broker is killed"],
]);

const [name = ""] = process.argv.splice(2, 1);
if (BENCHMARKS.has(name)) {
  await import(`./${name}.js`);
} else {
  const list = Array.from(BENCHMARKS, ([each, subject]) => `  ${each.padEnd(16)}${subject}`);
  process.stderr.write(`Usage: npm run bench NAME [-- OPTIONS]\n${list.join("\n")}\n`);
  process.exitCode = 2;
}
