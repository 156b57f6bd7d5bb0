const { dirname, join } = require("node:path");

process.on("exit", () => require(join(dirname(process.argv[1]), "lib/load.js")).keep());
