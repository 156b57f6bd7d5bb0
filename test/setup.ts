import fc from "fast-check";

// Runs are the same from the same seed, so that what fails once fails again: FAST_CHECK_SEED=<number> tries another one.
const seed = Number(process.env.FAST_CHECK_SEED ?? 20_220_426);
fc.configureGlobal({ ...fc.readConfigureGlobal(), seed });
