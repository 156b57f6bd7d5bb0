import { type ConfigRow, showConfig } from "../../config/compile-config.js";
import { NodeFiles } from "../../runtime/node/node-files.js";
import { ExitCode } from "../ui/exit-code.js";
import { type Column, renderTable } from "../ui/table.js";
import { createTerminal } from "../ui/terminal.js";
import { DriverGuard } from "./driver-guard.js";
import { loadHosts } from "./load-config.js";
import type { AgentCommandOptions } from "./options.js";

const COLUMNS: readonly Column<ConfigRow>[] = [
  { title: "Section", value: (row) => row.section },
  { title: "Option", value: (row) => row.option },
  { title: "Value", value: (row) => row.value },
  { title: "From", value: (row) => row.origin },
];

export async function printConfig(options: AgentCommandOptions): Promise<number> {
  const terminal = createTerminal();
  const { names, first, of } = await loadHosts(options, new NodeFiles(), new DriverGuard("compute-agent"));
  const { compiled } = first;
  if (names.length > 1) {
    const last = of(names.at(-1) ?? "").compiled;
    const own = compiled.values.filter(({ value }, index) => value !== last.values[index]?.value);
    terminal.complain(
      `These are the values of ${names[0]}, the first of ${names.length} hosts. The others have ${own.map(({ option }) => option).join(", ")} of their own.`,
    );
  }
  for (const warning of compiled.warnings) {
    terminal.complain(`warning: ${warning.message}`);
  }
  const rows = showConfig(compiled);
  terminal.print(options.json === true ? JSON.stringify(rows, null, 2) : renderTable(COLUMNS, rows, terminal.columns));
  return ExitCode.ok;
}
