const { dirname, join } = require("node:path");
const { compileWhole, keep } = require(join(dirname(process.argv[1]), "lib/load.js"));

compileWhole(process.env.COMPILE_WHOLE.split(","));
process.on("exit", keep);
