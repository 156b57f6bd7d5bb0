import type { CompiledNovaConfig } from "../../config/nova-config.js";
import type { Logger } from "../../runtime/runtime.js";

/**
 * Logs what of nova.conf is ignored. The file of a real nova-compute has many options that an agent does not have: those that
 * resemble none of ours are named in one line.
 */
export function logWarnings(
  logger: Pick<Logger, "info" | "warn">,
  { config, warnings }: Pick<CompiledNovaConfig, "config" | "warnings">,
): void {
  const isNovas = config.defaults.transportUrl !== null;
  for (const { message, unknown } of warnings) {
    if (!isNovas || unknown === undefined) {
      logger.warn(message);
    }
  }
  const unknown = isNovas ? [...new Set(warnings.flatMap((warning) => warning.unknown ?? []))] : [];
  if (unknown.length > 0) {
    logger.info(`nova.conf has what this agent has no use for, which is ignored: ${unknown.join(", ")}`);
  }
}
