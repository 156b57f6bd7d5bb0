import { capacityOf, type Inventory } from "../model/records.js";

/** Whether an inventory can give an amount now: there is enough left, and its units and steps allow it. */
export function hasRoom(inventory: Inventory | undefined, amount: number): boolean {
  if (inventory === undefined) {
    return false;
  }
  const { amounts, used } = inventory;
  return (
    used + amount <= capacityOf(amounts) &&
    amounts.min_unit <= amount &&
    amounts.max_unit >= amount &&
    amount % amounts.step_size === 0
  );
}
