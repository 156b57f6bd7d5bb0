/**
 * Preloaded into a program by `node --require`: for how long its event loop is held at a time, in milliseconds of the main thread's
 * own processor time, so that other programs of the machine do not count. SIGUSR2 has it print the longest since the last time.
 */
const { readFileSync } = require("node:fs");

const SCHEDULED = `/proc/self/task/${process.pid}/schedstat`;
const spent = () => Number(readFileSync(SCHEDULED, "utf8").split(" ")[0]) / 1e6;

let before = spent();
let longest = 0;
setInterval(() => {
  const now = spent();
  longest = Math.max(longest, now - before);
  before = now;
}, 1).unref();

process.on("SIGUSR2", () => {
  process.stderr.write(`the loop was held for ${longest.toFixed(1)} ms\n`);
  longest = 0;
});
