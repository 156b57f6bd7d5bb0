import { Command } from "commander";

export const virshCommand = (): Command => new Command("virsh");
