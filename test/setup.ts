import fc from "fast-check";

// A fixed seed makes runs reproducible: a failure occurs again. FAST_CHECK_SEED=<number> sets another one.
const seed = Number(process.env.FAST_CHECK_SEED ?? 20_220_426);
fc.configureGlobal({ ...fc.readConfigureGlobal(), seed });
