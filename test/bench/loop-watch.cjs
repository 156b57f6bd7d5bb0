/**
 * Preloaded by `node --require`. Measures how long the program's event loop is blocked, in milliseconds of the main
 * thread's processor time, so that other programs have no influence. On SIGUSR2 it prints the maximum since the previous
 * signal.
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
