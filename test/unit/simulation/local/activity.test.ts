import { describe, expect, it } from "vitest";
import { Activity } from "../../../../src/simulation/local/activity.js";

describe("what is under way", () => {
  it("is quiet when all of it has ended, with what that has begun", async () => {
    const activity = new Activity();
    const order: string[] = [];
    let end: () => void = () => undefined;
    void activity
      .during(() => new Promise<void>((resolve) => (end = resolve)))
      .then(() => activity.soon(() => void order.push("after the first")));
    activity.soon(() => {
      order.push("soon");
      end();
    });
    await activity.quiet();
    expect(order).toEqual(["soon", "after the first"]);
  });

  it("counts what fails or is cancelled as ended", async () => {
    const activity = new Activity();
    const failed = activity.during(() => Promise.reject(new Error("no")));
    const cancel = activity.soon(() => {
      throw new Error("it was cancelled");
    });
    cancel();
    cancel();
    await expect(failed).rejects.toThrow("no");
    await activity.quiet();
  });
});
