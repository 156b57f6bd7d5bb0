import { type ConfigRow, showConfig } from "../../config/show-config.js";
import { NodeFiles } from "../../runtime/node/node-files.js";
import { ExitCode } from "../ui/exit-code.js";
import { type Column, renderTable } from "../ui/table.js";
import { createTerminal } from "../ui/terminal.js";
import { loadConfig } from "./load-config.js";
import type { AgentCommandOptions } from "./options.js";

const COLUMNS: readonly Column<ConfigRow>[] = [
  { title: "Section", value: (row) => row.section },
  { title: "Option", value: (row) => row.option },
  { title: "Value", value: (row) => row.value },
  { title: "From", value: (row) => row.origin },
];

export async function printConfig(options: AgentCommandOptions): Promise<number> {
  const terminal = createTerminal();
  const { compiled } = await loadConfig(options, new NodeFiles());
  for (const warning of compiled.warnings) {
    terminal.complain(`warning: ${warning.message}`);
  }
  const rows = showConfig(compiled);
  terminal.print(options.json === true ? JSON.stringify(rows, null, 2) : renderTable(COLUMNS, rows, terminal.columns));
  return ExitCode.ok;
}
